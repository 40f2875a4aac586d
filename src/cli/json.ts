/** The one form of all JSON output. Fields may be added within a version; none changes its meaning. */
export const SCHEMA_VERSION = 1;

export function toJson(value: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ schemaVersion: SCHEMA_VERSION, ...value }, null, 2);
}
