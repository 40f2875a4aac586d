/** Cells of an answer, as what they should be. Another kind than expected is an answer that cannot be used. */
import { UsageError } from "../source.ts";

export type Cell = string | number | bigint | boolean | null;
export type Row = readonly Cell[];

export function textIn(row: Row | undefined, at: number): string | null {
  const cell = row?.[at] ?? null;
  return cell === null ? null : String(cell);
}

/** A number, also one that came as a big one or as text. Null: not told. */
export function numberIn(row: Row | undefined, at: number): number | null {
  const cell = row?.[at] ?? null;
  if (cell === null || cell === "") return null;
  const number = Number(cell);
  if (!Number.isFinite(number)) throw unusable(`a number, and not ${String(cell)}`);
  return number;
}

export function requiredText(row: Row | undefined, at: number, what: string): string {
  const text = textIn(row, at);
  if (text === null) throw unusable(what);
  return text;
}

export function requiredNumber(row: Row | undefined, at: number, what: string): number {
  const number = numberIn(row, at);
  if (number === null) throw unusable(what);
  return number;
}

/** Whole microseconds since 1970, exact. */
export function requiredUs(row: Row | undefined, at: number, what: string): bigint {
  const cell = row?.[at] ?? null;
  if (typeof cell === "bigint") return cell;
  if (typeof cell === "number" && Number.isSafeInteger(cell)) return BigInt(cell);
  throw unusable(what);
}

/** Of a controller's answer; who reads a file says which one by `what`. */
export class CellError extends UsageError {
  /** What should be there. */
  readonly what: string;

  constructor(what: string) {
    super("bad-answer", `the answer should hold ${what}: this is no Iris controller of a version that is known here`);
    this.what = what;
  }
}

function unusable(what: string): UsageError {
  return new CellError(what);
}
