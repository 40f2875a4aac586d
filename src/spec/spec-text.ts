/** YAML text against the schema. Loaded lazily: this brings the YAML and the schema library with it. */
import * as v from "valibot";
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
} from "yaml";
import type { Raw } from "./kind.ts";
import { optionTable } from "./option-table.ts";
import { complaint, mismatch } from "./schema-complaint.ts";
import type { Setting } from "./setting.ts";
import type { FileValue, ParsedSpecFile } from "./spec-file.ts";
import { specSchema } from "./spec-schema.ts";

/** `table`: the settings that may stand in it; a job's by default. */
export function readSpecText(
  text: string,
  name: string,
  table: readonly Setting<unknown>[] = optionTable,
): ParsedSpecFile {
  const lines = new LineCounter();
  // The library's own search for repeated keys takes a minute for a map of 30,000.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${name}:${line}:${col}`;
  };
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) {
    return {
      kind: "errors",
      errors: faults
        // What follows at the same place follows from the first.
        .filter(({ pos }, index) => faults.findIndex((other) => other.pos[0] === pos[0]) === index)
        .map(({ pos, code, message }) => `${at(pos[0])}: ${wordsOf(code, message, text.slice(pos[0]))}`),
    };
  }
  const places: Places = { document, start: (node) => at(node?.range?.[0] ?? 0) };
  const repeated = repeatedKeys(document.contents as Node | null);
  if (repeated.length > 0)
    return {
      kind: "errors",
      errors: repeated.map((key) => `${places.start(key)}: the key ${String(key.value)} appears twice`),
    };
  const value = plainValue(document);
  if ("error" in value) return { kind: "errors", errors: [`${at(0)}: ${value.error}`] };
  if (value.plain === null && document.contents === null) return { kind: "spec", file: { name, values: new Map() } };
  if (!isMap(document.contents))
    return {
      kind: "errors",
      errors: [`${places.start(document.contents)}: expected a map of settings, such as "name: sim"`],
    };
  const checked = v.safeParse(specSchema(table), value.plain);
  const values = valuesOf(places, table);
  if (!checked.success) {
    const complaints = checked.issues.map((issue) =>
      complaint(issue, (path, part) => placeOf(places, path, part), table),
    );
    return { kind: "errors", errors: inOrder([...complaints, ...wrongValues(values, checked.issues, table)]) };
  }
  // The schema library takes a list for a record with the keys 0, 1, …
  const lists = table.filter(({ key, kind }) => kind.shape.is === "map" && values.get(key)?.raw.form === "list");
  if (lists.length > 0) {
    const errors = lists.map(({ key }) =>
      mismatch(key.split("."), [], (path, part) => placeOf(places, path, part), table),
    );
    return { kind: "errors", errors };
  }
  return { kind: "spec", file: { name, values } };
}

/** Keys that stand in their map a second time, in the order of the file. */
function repeatedKeys(contents: Node | null): readonly Scalar[] {
  const repeated: Scalar[] = [];
  const pending: (Node | null)[] = [contents];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (isSeq(node)) pending.push(...(node.items as Node[]));
    if (!isMap(node)) continue;
    const known = new Set<string>();
    for (const { key, value } of node.items as readonly Pair<Node, Node | null>[]) {
      if (isScalar(key) && known.has(String(key.value))) repeated.push(key);
      else if (isScalar(key)) known.add(String(key.value));
      pending.push(value);
    }
  }
  return repeated.sort((a, b) => (a.range?.[0] ?? 0) - (b.range?.[0] ?? 0));
}

/** Beside what the schema has found: values of the right type that mean nothing, so that all faults are told at once. */
function wrongValues(
  values: ReadonlyMap<string, FileValue>,
  issues: readonly v.BaseIssue<unknown>[],
  table: readonly Setting<unknown>[],
): readonly string[] {
  const told = new Set(issues.map((issue) => (issue.path ?? []).map(({ key }) => String(key)).join(".")));
  return table.flatMap(({ key, kind }) => {
    const value = values.get(key);
    if (value === undefined || [...told].some((path) => path === key || path.startsWith(`${key}.`))) return [];
    const answer = kind.read(value.raw);
    return answer.ok ? [] : [`${value.at}: ${key}: ${answer.error}`];
  });
}

/** By line and column. */
function inOrder(errors: readonly string[]): readonly string[] {
  const placed = errors.map((error) => {
    const [, line = "0", column = "0"] = /:(\d+):(\d+): /.exec(error) ?? [];
    return { error, line: Number(line), column: Number(column) };
  });
  return placed.sort((a, b) => a.line - b.line || a.column - b.column).map(({ error }) => error);
}

interface Places {
  readonly document: Document;
  start(node: Node | null): string;
}

function wordsOf(code: string, message: string, rest: string): string {
  const line = message.replace(/\s+/g, " ");
  const closing = /^Missing closing (\S+)/.exec(line)?.[1];
  if (closing !== undefined) return `a closing ${closing.replace(/^(.)quote$/, "quote $1")} is missing`;
  if (code === "BLOCK_AS_IMPLICIT_KEY" && !/^[^\n]*:\s/.test(rest.slice(0, rest.indexOf("\n") + 1)))
    return "the line below is indented as a part of this value: give both the same indentation";
  return PLAIN_WORDS[code] ?? line;
}

const TOO_DEEP = "lists and maps are nested too deeply here; no setting needs more than three levels";

/** What the YAML library finds, in words that need no knowledge of its grammar. */
const PLAIN_WORDS: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: "a second document begins here; a spec file holds one",
  TAB_AS_INDENT: "a tab cannot indent; use blanks",
  BAD_INDENT: "this is indented otherwise than the lines around it, or a bracket before it is not closed",
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " in one line: put the value into quotes, or the inner key on a line of its own',
  BLOCK_IN_FLOW: "a list or map over several lines cannot stand inside of [ ] or { }",
  BAD_SCALAR_START: "a value cannot begin with this character: put it into quotes",
  BAD_DQ_ESCAPE: "a backslash in \"…\" begins an escape that does not exist: use '…', or write it twice",
  MULTILINE_IMPLICIT_KEY: "a : is missing behind this key",
  MISSING_CHAR: "a : behind a key is missing here, or a comma or bracket of a list or map",
  UNEXPECTED_TOKEN: "this does not belong here: look at quotes and brackets before it",
  KEY_OVER_1024_CHARS: "a key is too long: a : is missing somewhere before",
  RESOURCE_EXHAUSTION: TOO_DEEP,
};

function plainValue(document: Document): { readonly plain: unknown } | { readonly error: string } {
  try {
    return { plain: document.toJS({ maxAliasCount: 100 }) };
  } catch (error) {
    if (error instanceof RangeError) return { error: TOO_DEEP };
    // An alias without its anchor, or one that would blow up the file: only found when the values are built.
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function valuesOf(places: Places, table: readonly Setting<unknown>[]): ReadonlyMap<string, FileValue> {
  const values = new Map<string, FileValue>();
  for (const { key } of table) {
    const pair = pairAt(places.document, key.split("."));
    const node = pair?.value ?? null;
    if (node !== null) values.set(key, { raw: rawOf(places.document, node), at: places.start(node) });
  }
  return values;
}

function placeOf(places: Places, path: readonly (string | number)[], part: "key" | "value"): string {
  const pair = pairAt(
    places.document,
    path.filter((step): step is string => typeof step === "string"),
  );
  return places.start((part === "key" ? pair?.key : (pair?.value ?? pair?.key)) ?? null);
}

interface Found {
  readonly key: Node | null;
  readonly value: Node | null;
}

function pairAt(document: Document, path: readonly string[]): Found | null {
  let found: Found | null = { key: null, value: document.contents as Node | null };
  for (const step of path) {
    const map = followed(document, found?.value ?? null);
    if (!isMap(map)) return found;
    const pair = (map.items as readonly Pair<Node, Node | null>[]).find(
      (item) => isScalar(item.key) && String(item.key.value) === step,
    );
    if (pair === undefined) return null;
    found = { key: pair.key, value: pair.value };
  }
  return found;
}

function followed(document: Document, node: Node | null): Node | null {
  return isAlias(node) ? (node.resolve(document) ?? null) : node;
}

function rawOf(document: Document, node: Node | null): Raw {
  const target = followed(document, node);
  if (isSeq(target)) return { form: "list", items: target.items.map((item) => textOf(document, item as Node)) };
  if (isMap(target)) {
    const pairs = target.items as readonly Pair<Node, Node | null>[];
    return {
      form: "map",
      entries: Object.fromEntries(pairs.map((pair) => [textOf(document, pair.key), textOf(document, pair.value)])),
    };
  }
  return { form: "text", text: textOf(document, target) };
}

/** A number stays as it was written: `0.10` is not `0.1` to an application, and `08` not `8`. */
function textOf(document: Document, node: Node | null): string {
  const target = followed(document, node);
  if (!isScalar(target)) return "";
  return typeof target.value === "string" ? target.value : (target.source ?? String(target.value));
}
