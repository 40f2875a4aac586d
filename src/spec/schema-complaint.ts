/** What the schema found, in one line for a person: where, which setting, what is expected, what is there. */
import type { BaseIssue } from "valibot";
import type { Shape } from "./kind.ts";
import { nearest } from "./nearest.ts";
import type { Setting } from "./setting.ts";

type Table = readonly Setting<unknown>[];

export function complaint(
  issue: BaseIssue<unknown>,
  place: (path: readonly (string | number)[], part: "key" | "value") => string,
  table: Table,
): string {
  const path = (issue.path ?? []).map((item) => (typeof item.key === "number" ? item.key : String(item.key)));
  const last = issue.path?.at(-1);
  const holder = last !== undefined && "input" in last ? last.input : null;
  // The schema takes a list for a map with the keys 0, 1, …
  if (Array.isArray(holder) && issue.expected === "never") return mismatch(path.slice(0, -1), holder, place, table);
  if (issue.type === "strict_object" && issue.expected === "never") {
    return `${place(path, "key")}: ${unknownKey(path.map(String), table)}`;
  }
  return mismatch(path, issue.input, place, table);
}

/** One line: the value at `path` has the wrong type. */
export function mismatch(
  path: readonly (string | number)[],
  found: unknown,
  place: (path: readonly (string | number)[], part: "key" | "value") => string,
  table: Table,
): string {
  if (path.join(".") === "checkpoint" && typeof found === "string")
    return `${place(path, "value")}: checkpoint: write it as a map: checkpoint: {path: ${found}}`;
  const item = Array.isArray(found) ? found.findIndex((one) => !isWord(one)) : -1;
  if (Array.isArray(found) && item >= 0 && takesWords(path.map(String), table))
    return `${place(path, "value")}: ${path.join(".")}: item ${item + 1} must be text (put it in quotes), found ${describe(found[item])}`;
  return `${place(path, "value")}: ${path.join(".")}: expected ${expectedAt(path.map(String), table)}, found ${describe(found)}`;
}

/** Numbers are kept as they are written. */
function isWord(found: unknown): boolean {
  return typeof found === "string" || typeof found === "number";
}

function takesWords(path: readonly string[], table: Table): boolean {
  const shape = table.find(({ key }) => key === path.join("."))?.kind.shape;
  return shape?.is === "any-of" && shape.shapes.some((one) => one.is === "list");
}

function unknownKey(path: readonly string[], table: Table): string {
  const key = path.at(-1) ?? "";
  const section = path.slice(0, -1);
  const siblings = keysOf(section, table);
  const near = nearest(key, siblings);
  const full = near === null ? elsewhere(key, table) : [...section, near].join(".");
  const meant = full === null ? `known here: ${siblings.join(", ")}` : `did you mean ${full}?`;
  return `unknown key ${path.join(".")}; ${meant}`;
}

/** A setting of that name in another section, or of that spelling as a flag. */
function elsewhere(key: string, table: Table): string | null {
  const found = table.find((setting) => setting.key.endsWith(`.${key}`) || setting.flags.includes(`--${key}`));
  if (found !== undefined) return found.key;
  const near = nearest(
    key,
    table.flatMap((setting) => setting.flags.filter((flag) => flag.startsWith("--")).map((flag) => flag.slice(2))),
  );
  return near === null ? null : (table.find((setting) => setting.flags.includes(`--${near}`))?.key ?? null);
}

/** The keys that may stand in a section (none: at the top), each once. */
function keysOf(section: readonly string[], table: Table): readonly string[] {
  const prefix = section.length === 0 ? "" : `${section.join(".")}.`;
  const below = table
    .filter(({ key }) => key.startsWith(prefix))
    .map(({ key }) => key.slice(prefix.length).split(".")[0] ?? "");
  return [...new Set(below)];
}

function expectedAt(path: readonly string[], table: Table): string {
  for (let length = path.length; length > 0; length--) {
    const setting = table.find(({ key }) => key === path.slice(0, length).join("."));
    if (setting === undefined) continue;
    return path.length > length ? wordsOf(setting.kind.shape) : setting.kind.expected;
  }
  return `a map of ${keysOf(path, table).join(", ")}`;
}

/** What a member of a list or map must be. */
function wordsOf(shape: Shape): string {
  if (shape.is === "map") return "text or a number (put it in quotes)";
  return shape.is === "list" && shape.of.is === "number" ? "a whole number" : "text";
}

function describe(found: unknown): string {
  if (found === null || found === undefined) return "nothing (leave the key out for the default)";
  if (Array.isArray(found)) return "a list";
  if (typeof found === "object") return "a map";
  if (typeof found === "string") return `the text ${JSON.stringify(found)}`;
  return typeof found === "number" ? `the number ${found}` : String(found);
}
