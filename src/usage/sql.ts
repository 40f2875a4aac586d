/** Questions in SQL: over our own jobs in this process, or to a live controller. */
import { IrisError, openIris, tokenFrom } from "../iris/index.ts";
import { Database, type QueryCell, QueryError } from "../query/index.ts";
import type { OwnJob } from "./own-records.ts";
import { UsageError } from "./source.ts";
import { type IrisAddress, usageErrorOf } from "./sources/open-iris.ts";
import { ownTables } from "./sql-tables.ts";

export interface SqlAnswer {
  readonly columns: readonly string[];
  readonly rows: AsyncIterable<readonly QueryCell[]>;
  close(): Promise<void>;
}

/** What an answer may take: a slip such as a join without a condition should end in a line, and not with a full machine. */
const MAX_ROWS = 1_000_000;
const SPILL_LIMIT_BYTES = 4 * 1_073_741_824;

/**
 * Over `jobs`, `tasks`, `task_attempts`, `"iris.task"`. One SELECT; no statement reaches a file. At most `maxRows` rows (default
 * 1,000,000), else `refused-sql`. Throws UsageError.
 */
export async function sqlOverJobs(
  jobs: readonly OwnJob[],
  statement: string,
  { signal, maxRows = MAX_ROWS }: { readonly signal?: AbortSignal; readonly maxRows?: number } = {},
): Promise<SqlAnswer> {
  const database = await asUsage(Database.open({ spillLimitBytes: SPILL_LIMIT_BYTES }));
  try {
    for (const { name, columns, rows } of ownTables(jobs)) await asUsage(database.fill(name, columns, rows()));
    await asUsage(database.lock());
    const { columns, batches } = await asUsage(
      database.select(statement, { maxRows, ...(signal === undefined ? {} : { signal }) }),
    );
    return {
      columns,
      rows: rowsIn(batches()),
      async close() {
        database.close();
      },
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * To a live controller: what names a namespace of the statistics, such as "iris.task", goes there, everything else to its own
 * database. Throws UsageError.
 */
export async function sqlToController(
  { environment = {}, ...address }: IrisAddress,
  statement: string,
  to: "auto" | "controller" | "stats" = "auto",
): Promise<SqlAnswer> {
  try {
    const client = openIris({ ...address, token: tokenFrom(environment) });
    const isForStats = to === "stats" || (to === "auto" && /"[a-z][\w-]*\.[\w.-]+"/.test(statement));
    if (!isForStats) {
      const { columns, rows } = await client.rawQuery(statement);
      return { columns, rows: each(rows), close: async () => {} };
    }
    const answer = await client.statsQuery(statement);
    return { columns: answer.columns, rows: each(answer.rows()), close: async () => {} };
  } catch (error) {
    throw error instanceof IrisError ? usageErrorOf(error) : error;
  }
}

async function* rowsIn(
  batches: AsyncIterable<readonly (readonly QueryCell[])[]>,
): AsyncGenerator<readonly QueryCell[]> {
  try {
    for await (const batch of batches) yield* batch;
  } catch (error) {
    throw usageOf(error);
  }
}

async function* each(rows: Iterable<readonly QueryCell[]>): AsyncGenerator<readonly QueryCell[]> {
  yield* rows;
}

async function asUsage<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw usageOf(error);
  }
}

function usageOf(error: unknown): unknown {
  if (!(error instanceof QueryError)) return error;
  const { message, hint } = error;
  const code =
    error.code === "missing-package" ? "missing-package" : error.code === "not-a-select" ? "usage" : "refused-sql";
  return new UsageError(code, message, { ...(hint === null ? {} : { hint }), cause: error });
}
