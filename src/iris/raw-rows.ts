/** Rows of a raw query: each a text that holds a JSON array. */
import { IrisError } from "./errors.ts";

/** Integers beyond 2^53 come as bigint, exact. NaN and infinities, which Python writes and JSON has not, are null: missing. */
export type RawCell = string | number | bigint | boolean | null;

/** By position: two columns may have the same name. */
export interface RawRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly RawCell[])[];
}

/** Throws IrisError `bad-answer`: half a table is none. */
export function decodeRows(columns: readonly string[], texts: readonly string[]): RawRows {
  if (columns.length === 0) throw new IrisError("bad-answer", "the answer has no columns: this is no table");
  return { columns, rows: texts.map((text, at) => decodeRow(text, columns.length, at)) };
}

/** Outside of strings; where it finds nothing in the whole text, plain JSON.parse is exact. */
const SPECIAL = /\d{16}|NaN|Infinity/;

function decodeRow(text: string, width: number, at: number): readonly RawCell[] {
  let row: unknown;
  try {
    row = SPECIAL.test(text) ? parseExact(text) : JSON.parse(text);
  } catch (error) {
    throw new IrisError("bad-answer", `row ${at + 1} of the answer is no JSON: ${text.slice(0, 80)}`, { cause: error });
  }
  if (!Array.isArray(row) || row.length !== width)
    throw new IrisError("bad-answer", `row ${at + 1} of the answer does not have ${width} cells: ${text.slice(0, 80)}`);
  return row;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A private mark that no text of a database holds together with digits alone. */
const BIG = "\u0000big:";

function parseExact(text: string): unknown {
  const safe = text.replace(TOKEN, (token) => {
    if (token.startsWith('"')) return token;
    if (/[a-z]/i.test(token) && !/^-?\d/.test(token)) return "null";
    return /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? JSON.stringify(`${BIG}${token}`) : token;
  });
  return JSON.parse(safe, (_, value) =>
    typeof value === "string" && value.startsWith(BIG) && /^-?\d+$/.test(value.slice(BIG.length))
      ? BigInt(value.slice(BIG.length))
      : value,
  );
}
