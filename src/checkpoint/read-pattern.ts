import { type Context, createContext, Script } from "node:vm";
import type { Reading } from "../core/index.ts";
import { errorCode } from "../host/index.ts";
import { parseDecimal } from "./decimal.ts";
import { MOST_SEEN, quoteSeen } from "./quote-seen.ts";

/** A search that takes longer is broken off: some patterns need more than the age of the universe on an unlucky text. */
export const PATTERN_TIME_MS = 250;

export interface PatternText {
  readonly text: string;
  /** The text is the end of a longer file; its first line may be cut. */
  readonly cut: boolean;
}

/** `searchOn`: nothing was found in this text, and it is worth looking further up in the file. */
export interface PatternReading {
  readonly reading: Reading;
  readonly searchOn: boolean;
}

/**
 * The first group of the last match in the text (`^` and `$` stand at lines). The search is bounded in time, since it runs
 * in the same thread as the runner's timers. No match, or a group that is not one number, is invalid.
 */
export function readPattern(seen: PatternText, pattern: string, timeMs = PATTERN_TIME_MS): PatternReading {
  const problem = checkPattern(pattern);
  if (problem !== null) return settled({ kind: "invalid", why: problem });
  if (seen.text.length === 0) return settled({ kind: "invalid", why: "the file is empty" });
  // A cut first line could show a part of a number as a number.
  const text = seen.cut ? seen.text.slice(seen.text.indexOf("\n") + 1) : seen.text;
  const group = lastGroup(text, pattern, timeMs);
  if (group.kind === "too-hard")
    return settled({ kind: "invalid", why: `the pattern ${quoteSeen(pattern)} ${group.why}; make it simpler` });
  if (group.kind === "none") {
    const why = `no match of ${quoteSeen(pattern)}; the file ends with ${quoteSeen(text.trimEnd(), MOST_SEEN, "end")}`;
    return { reading: { kind: "invalid", why }, searchOn: seen.cut };
  }
  const number = parseDecimal(group.text);
  if (number.ok) return settled({ kind: "value", value: number.value });
  const why = `the group of ${quoteSeen(pattern)} found ${quoteSeen(group.text, MOST_SEEN)}, which is ${number.why || "not one number"}`;
  return settled({ kind: "invalid", why });
}

/** Null when the pattern compiles and has a group; else one line that says what to do. */
export function checkPattern(pattern: string): string | null {
  try {
    // With an empty alternative the expression matches the empty text at once and shows how many groups it has.
    const groups = (new RegExp(`${pattern}|`, "m").exec("")?.length ?? 1) - 1;
    new RegExp(pattern, "gm");
    return groups > 0 ? null : `the pattern ${quoteSeen(pattern)} has no group; put the number into one: 'step (\\d+)'`;
  } catch (error) {
    return `the pattern ${quoteSeen(pattern)} is not a regular expression: ${reasonOf(error)}`;
  }
}

type Found =
  | { readonly kind: "found"; readonly text: string }
  | { readonly kind: "none" }
  | { readonly kind: "too-hard"; readonly why: string };

const SEARCH = new Script(`
{
  const expression = new RegExp(pattern, "gm");
  var last = null;
  for (let found = expression.exec(text); found !== null; found = expression.exec(text)) {
    last = found[1] ?? "";
    if (found[0] === "") expression.lastIndex++;
  }
  last;
}`);

/** Made at the first search and kept: a new one for each would cost time and memory. */
let sandbox: Context | undefined;

/** node:vm is used for its time-out only: the code is ours, and pattern and text are plain strings in it. */
function lastGroup(text: string, pattern: string, timeMs: number): Found {
  sandbox ??= createContext({});
  const context = sandbox;
  try {
    Object.assign(context, { text, pattern });
    const last: unknown = SEARCH.runInContext(context, { timeout: timeMs });
    return typeof last === "string" ? { kind: "found", text: last } : { kind: "none" };
  } catch (error) {
    if (errorCode(error) === "ERR_SCRIPT_EXECUTION_TIMEOUT") return { kind: "too-hard", why: `took over ${timeMs} ms` };
    // The engine's own limits: its stack for backtracking is finite.
    return { kind: "too-hard", why: `failed on this text (${reasonOf(error)})` };
  } finally {
    context.text = "";
  }
}

function settled(reading: Reading): PatternReading {
  return { reading, searchOn: false };
}

function reasonOf(error: unknown): string {
  // Not instanceof: an error from the search belongs to another realm.
  const message =
    typeof error === "object" && error !== null && "message" in error ? String(error.message) : `${error}`;
  // V8 repeats the whole pattern in front of the reason, with our empty alternative at its end.
  return message.split(": ").at(-1) ?? message;
}
