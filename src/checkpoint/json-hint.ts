/** For a checkpoint that is JSON and is read by another rule: the rule that would read it. */
import { formatJsonPath } from "./read-json.ts";

/** What to write instead, naming a number in it where there is one; null: the text is no JSON object or list. */
export function jsonHint(text: string): string | null {
  const begin = text.trimStart().replace(/^\ufeff/, "")[0];
  if (begin !== "{" && begin !== "[") return null;
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    // Torn, or only looks like it.
    return null;
  }
  return `it is JSON: ${jsonRuleWords(countIn(value))}`;
}

/** The JSON rule as a flag and in YAML. */
export function jsonRuleWords(path: string | null): string {
  const shown = path ?? ".step";
  const words = `--progress json:${shown} (YAML: progress: {json: ${shown}})`;
  return path === null ? `say which number counts, such as ${words}` : words;
}

const USUAL = /^(global_?)?(steps?|iter(ation)?s?|epochs?|counts?|done|progress|i|n)$/i;

/** Path of a number that may be the count of the work done: one of a usual name first, else the first. */
function countIn(value: unknown): string | null {
  const found = numbersIn(value, [], 3).filter((steps) => /^[.\w-]+$/.test(formatJsonPath(steps)));
  const best = found.find((steps) => USUAL.test(steps.at(-1) ?? "")) ?? found[0];
  return best === undefined ? null : formatJsonPath(best);
}

/** Numbers of the outer level come first. */
function numbersIn(value: unknown, above: readonly string[], depth: number): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null || Array.isArray(value) || depth === 0) return [];
  const entries = Object.entries(value).slice(0, 100);
  const here = entries.filter(([, one]) => typeof one === "number").map(([key]) => [...above, key]);
  return [...here, ...entries.flatMap(([key, one]) => numbersIn(one, [...above, key], depth - 1))];
}
