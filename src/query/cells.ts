/** Texts for the engine, and what comes back from it. */
import { QueryError } from "./errors.ts";
import type { DuckDBValue } from "./load-duckdb.ts";

export type QueryCell = string | number | bigint | boolean | null;

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export async function* batchesOf(rows: QueryCell[][]): AsyncGenerator<QueryCell[][]> {
  yield rows;
}

export function cellsOf(rows: readonly (readonly DuckDBValue[])[]): QueryCell[][] {
  return rows.map((row) => row.map(cellOf));
}

/** Integers stay exact; times, decimals and nested values are the engine's own text. */
function cellOf(value: DuckDBValue): QueryCell {
  if (value === null || typeof value !== "object") return value ?? null;
  return String(value);
}

export function queryErrorOf(error: unknown): QueryError {
  const message = error instanceof Error ? error.message : String(error);
  // Behind an empty line the engine draws the statement with a mark below it.
  const [head = message] = message.split("\n\n");
  const line = /^LINE (\d+):/m.exec(message)?.[1];
  const first = line === undefined ? head : `${head} (line ${line})`;
  if (/^INTERRUPT/i.test(message)) return new QueryError("interrupted", "the query was broken off", { cause: error });
  if (/^Out of Memory/i.test(message))
    return new QueryError("memory", `the query needs more memory than it may use: ${first}`, { cause: error });
  return new QueryError("refused", first, { cause: error });
}
