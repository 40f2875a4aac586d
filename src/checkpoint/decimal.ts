/** One decimal number as text: what programs print for a step counter or a simulated time, and nothing else. */

export type Decimal = { readonly ok: true; readonly value: number } | { readonly ok: false; readonly why: string };

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/**
 * Reads text that is, apart from blanks around it, one decimal number. Leading zeros are decimal (`08` is 8); `12.5`,
 * `1e-05` and `-1` are numbers (simulated time; programs that begin at −1). Hexadecimal, `1_000`, `1,000`, `inf` and
 * `nan` are not. A number that a double cannot hold exactly enough to be compared (beyond ±(2^53 − 1)) is refused: two
 * writes run together look like that. `why` is empty where the text is no number at all, so that the caller can quote it.
 */
export function parseDecimal(text: string): Decimal {
  const trimmed = text.trim();
  if (!DECIMAL.test(trimmed)) return { ok: false, why: "" };
  return comparable(Number(trimmed));
}

/** The same limits for a number that is one already (JSON). */
export function comparable(value: number): Decimal {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER)
    return { ok: false, why: `larger than ${Number.MAX_SAFE_INTEGER}, which cannot be compared exactly` };
  // −0 would print as 0 and compare as 0; let it be 0.
  return { ok: true, value: value === 0 ? 0 : value };
}
