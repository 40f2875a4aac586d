import type { Reading } from "../core/index.ts";
import { comparable, parseDecimal } from "./decimal.ts";
import { MOST_SEEN, quoteSeen } from "./quote-seen.ts";

type Step = string | number;

/**
 * The number at a dotted path of a JSON text. A text that does not parse is invalid (torn, or still being written), and so
 * is a missing key. A string that is by itself one decimal number counts as that number: shell scripts quote everything.
 */
export function readJson(text: string, path: string): Reading {
  if (text.trim().length === 0) return { kind: "invalid", why: "the file is empty" };
  const steps = parseJsonPath(path);
  if ("error" in steps) return { kind: "invalid", why: steps.error };
  let value: unknown;
  try {
    // A byte order mark is no part of the text, and JSON.parse refuses it.
    value = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    // The parser's own message quotes the text unescaped; ours says what a person can act on.
    return {
      kind: "invalid",
      why: `not whole JSON (torn?), it ends with ${quoteSeen(text.trimEnd(), MOST_SEEN, "end")}`,
    };
  }
  for (const [depth, step] of steps.entries()) {
    const next = follow(value, step);
    if (next === undefined)
      return { kind: "invalid", why: `${formatJsonPath(steps.slice(0, depth + 1))} is not in the file` };
    value = next.value;
  }
  return numberOf(value, path);
}

/** Reads `.run.step`, `.steps[3].n`, `.history[-1]` (−1: the last), `["odd key"]`, or `.` for the whole document. */
export function parseJsonPath(path: string): readonly Step[] | { readonly error: string } {
  const steps: Step[] = [];
  if (path === ".") return steps;
  if (!/^[.[]/.test(path)) return { error: `a JSON path begins with a dot: .${path}` };
  const part = /\.([^.[\]"'\s]+)|\.?\[(-?\d{1,9})\]|\.?\[("(?:[^"\\]|\\.)*")\]/y;
  while (part.lastIndex < path.length) {
    const at = part.lastIndex;
    const found = part.exec(path);
    if (found === null)
      return {
        error: `the JSON path is not understood from ${quoteSeen(path.slice(at))}; write it like .run.step or .steps[3].n`,
      };
    if (found[1] !== undefined) steps.push(found[1]);
    else if (found[2] !== undefined) steps.push(Number(found[2]));
    else {
      const key = unquote(found[3] ?? "");
      if (key === null) return { error: `${quoteSeen(found[3] ?? "")} in the JSON path is not a JSON string` };
      steps.push(key);
    }
  }
  return steps;
}

export function formatJsonPath(steps: readonly Step[]): string {
  return steps
    .map((step) => {
      if (typeof step === "number") return `[${step}]`;
      return /^[^.[\]"'\s]+$/.test(step) ? `.${quoteSeen(step).slice(1, -1)}` : `[${quoteSeen(step)}]`;
    })
    .join("");
}

function follow(value: unknown, step: Step): { readonly value: unknown } | undefined {
  if (typeof step === "number") {
    if (!Array.isArray(value)) return undefined;
    const index = step < 0 ? value.length + step : step;
    return index >= 0 && index < value.length ? { value: value[index] } : undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  // Own keys only: `.constructor` is not in the file.
  const own = Object.getOwnPropertyDescriptor(value, step);
  return own === undefined ? undefined : { value: own.value };
}

function numberOf(value: unknown, path: string): Reading {
  const number =
    typeof value === "number" ? comparable(value) : typeof value === "string" ? parseDecimal(value) : undefined;
  if (number?.ok) return { kind: "value", value: number.value };
  const what =
    value === null || typeof value === "boolean"
      ? String(value)
      : typeof value === "string"
        ? quoteSeen(value, MOST_SEEN)
        : Array.isArray(value)
          ? "a list"
          : typeof value === "number"
            ? String(value)
            : "an object";
  return {
    kind: "invalid",
    why: number !== undefined && number.why !== "" ? `${path} is ${number.why}` : `${path} is ${what}, not a number`,
  };
}

function unquote(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : null;
  } catch {
    // Not JSON: the caller says so.
    return null;
  }
}
