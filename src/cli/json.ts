/** The one form of all JSON output. Fields may be added within a version; none changes its meaning. */
export const SCHEMA_VERSION = 1;

export function toJson(value: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ schemaVersion: SCHEMA_VERSION, ...value }, null, 2);
}

/** A number where it is exact, else its digits as text. */
export function exactNumber(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}
