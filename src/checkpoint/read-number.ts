import type { Reading } from "../core/index.ts";
import { parseDecimal } from "./decimal.ts";
import { jsonHint } from "./json-hint.ts";
import { MOST_SEEN, quoteSeen } from "./quote-seen.ts";

/**
 * The whole text is one decimal number. Anything else is invalid, never 0 and never "the digits of it": `iter=12 of 500`
 * must not become 12500, nor an empty file a start from the beginning. (A number that was cut short, `12` of `1234`, cannot
 * be told from a smaller one; an application that writes to a temporary file and renames it never leaves such a thing.)
 */
export function readNumber(text: string): Reading {
  if (text.length === 0) return { kind: "invalid", why: "the file is empty" };
  if (text.trim().length === 0) return { kind: "invalid", why: "the file holds only blanks" };
  const seen = quoteSeen(text.trim(), MOST_SEEN);
  if (text.includes("\0")) return { kind: "invalid", why: `${seen} holds NUL bytes: a torn or a binary file` };
  // Letters and digits that stand in it by chance are no hint at how it is to be read.
  if (NO_TEXT.test(text)) return { kind: "invalid", why: `${seen} is no text: a torn or a binary file` };
  const number = parseDecimal(text);
  if (number.ok) return { kind: "value", value: number.value };
  if (number.why !== "") return { kind: "invalid", why: `${seen} is ${number.why}` };
  return { kind: "invalid", why: `${seen} is not one number${hintFor(text)}` };
}

/** Control characters, and what is no UTF-8. */
const NO_TEXT = /[\u0000-\u0008\u000e-\u001f\u007f\ufffd]/;

/** A pattern that would find a number in this text, where one can be guessed. */
function hintFor(text: string): string {
  const json = jsonHint(text);
  if (json !== null) return `; ${json}`;
  const found = /([A-Za-z_]{1,30}[ \t]*[=:]?[ \t]*)(?:\d+)/.exec(text);
  if (found?.[1] !== undefined) return `; use progress: {pattern: '${found[1].replace(/[ \t]+/g, "\\s+")}(\\d+)'}`;
  if (/\d/.test(text)) return "; use progress: {pattern: '…(\\d+)'} to say which number counts";
  return "; use progress: {pattern: …}, {json: …} or {files: …}";
}
