/** YAML text against the schema. Loaded lazily: this brings the YAML and the schema library with it. */
import * as v from "valibot";
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument } from "yaml";
import type { Raw } from "./kind.ts";
import { optionTable } from "./option-table.ts";
import { complaint, mismatch } from "./schema-complaint.ts";
import type { FileValue, ParsedSpecFile } from "./spec-file.ts";
import { specSchema } from "./spec-schema.ts";

export function readSpecText(text: string, name: string): ParsedSpecFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${name}:${line}:${col}`;
  };
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) {
    return {
      kind: "errors",
      errors: faults.map(
        (fault) => `${at(fault.pos[0])}: ${wordsOf(fault.code, fault.message, text.slice(fault.pos[0]))}`,
      ),
    };
  }
  const places: Places = { document, start: (node) => at(node?.range?.[0] ?? 0) };
  const value = plainValue(document);
  if ("error" in value) return { kind: "errors", errors: [`${at(0)}: ${value.error}`] };
  if (value.plain === null && document.contents === null) return { kind: "spec", file: { name, values: new Map() } };
  if (!isMap(document.contents))
    return {
      kind: "errors",
      errors: [`${places.start(document.contents)}: expected a map of settings, such as "name: sim"`],
    };
  const checked = v.safeParse(specSchema(), value.plain);
  if (!checked.success) {
    return {
      kind: "errors",
      errors: checked.issues.map((issue) => complaint(issue, (path, part) => placeOf(places, path, part))),
    };
  }
  const values = valuesOf(places);
  // The schema library takes a list for a record with the keys 0, 1, …
  const lists = optionTable.filter(({ key, kind }) => kind.shape.is === "map" && values.get(key)?.raw.form === "list");
  if (lists.length > 0) {
    const errors = lists.map(({ key }) => mismatch(key.split("."), [], (path, part) => placeOf(places, path, part)));
    return { kind: "errors", errors };
  }
  return { kind: "spec", file: { name, values } };
}

interface Places {
  readonly document: Document;
  start(node: Node | null): string;
}

function wordsOf(code: string, message: string, rest: string): string {
  if (code === "DUPLICATE_KEY") return `the key ${/^[^\s:]+/.exec(rest)?.[0] ?? ""} appears twice`;
  if (code === "MULTIPLE_DOCS") return "a second document begins here; a spec file holds one";
  if (code === "TAB_AS_INDENT") return "a tab cannot indent; use blanks";
  return message.replace(/\s+/g, " ");
}

function plainValue(document: Document): { readonly plain: unknown } | { readonly error: string } {
  try {
    return { plain: document.toJS({ maxAliasCount: 100 }) };
  } catch (error) {
    // An alias without its anchor, or one that would blow up the file: only found when the values are built.
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function valuesOf(places: Places): ReadonlyMap<string, FileValue> {
  const values = new Map<string, FileValue>();
  for (const { key } of optionTable) {
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
