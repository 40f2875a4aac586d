/** What the schema found, in one line for a person: where, which setting, what is expected, what is there. */
import type { BaseIssue } from "valibot";
import type { Shape } from "./kind.ts";
import { nearest } from "./nearest.ts";
import { optionTable } from "./option-table.ts";

export function complaint(
  issue: BaseIssue<unknown>,
  place: (path: readonly (string | number)[], part: "key" | "value") => string,
): string {
  const path = (issue.path ?? []).map((item) => (typeof item.key === "number" ? item.key : String(item.key)));
  const last = issue.path?.at(-1);
  const holder = last !== undefined && "input" in last ? last.input : null;
  // The schema takes a list for a map with the keys 0, 1, …
  if (Array.isArray(holder) && issue.expected === "never") return mismatch(path.slice(0, -1), holder, place);
  if (issue.type === "strict_object" && issue.expected === "never") {
    return `${place(path, "key")}: ${unknownKey(path.map(String))}`;
  }
  return mismatch(path, issue.input, place);
}

/** One line: the value at `path` has the wrong type. */
export function mismatch(
  path: readonly (string | number)[],
  found: unknown,
  place: (path: readonly (string | number)[], part: "key" | "value") => string,
): string {
  if (path.join(".") === "checkpoint" && typeof found === "string")
    return `${place(path, "value")}: checkpoint: write it as a map: checkpoint: {path: ${found}}`;
  return `${place(path, "value")}: ${path.join(".")}: expected ${expectedAt(path.map(String))}, found ${describe(found)}`;
}

function unknownKey(path: readonly string[]): string {
  const key = path.at(-1) ?? "";
  const section = path.slice(0, -1);
  const siblings = keysOf(section);
  const near = nearest(key, siblings);
  const full = near === null ? elsewhere(key) : [...section, near].join(".");
  const meant = full === null ? `known here: ${siblings.join(", ")}` : `did you mean ${full}?`;
  return `unknown key ${path.join(".")}; ${meant}`;
}

/** A setting of that name in another section, or of that spelling as a flag. */
function elsewhere(key: string): string | null {
  const found = optionTable.find((setting) => setting.key.endsWith(`.${key}`) || setting.flags.includes(`--${key}`));
  if (found !== undefined) return found.key;
  const near = nearest(
    key,
    optionTable.flatMap((setting) =>
      setting.flags.filter((flag) => flag.startsWith("--")).map((flag) => flag.slice(2)),
    ),
  );
  return near === null ? null : (optionTable.find((setting) => setting.flags.includes(`--${near}`))?.key ?? null);
}

/** The keys that may stand in a section (none: at the top), each once. */
function keysOf(section: readonly string[]): readonly string[] {
  const prefix = section.length === 0 ? "" : `${section.join(".")}.`;
  const below = optionTable
    .filter(({ key }) => key.startsWith(prefix))
    .map(({ key }) => key.slice(prefix.length).split(".")[0] ?? "");
  return [...new Set(below)];
}

function expectedAt(path: readonly string[]): string {
  for (const length of [2, 1]) {
    const setting = optionTable.find(({ key }) => key === path.slice(0, length).join(".") && path.length >= length);
    if (setting === undefined) continue;
    return path.length > length ? wordsOf(setting.kind.shape) : setting.kind.expected;
  }
  return `a map of ${keysOf(path).join(", ")}`;
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
