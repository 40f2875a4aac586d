/** Questions in SQL: over our own jobs in this process, or to a live controller. */
import { Database, type QueryCell } from "../query/index.ts";
import { asUsage, usageErrorOf } from "./failures.ts";
import type { OwnJob } from "./own-records.ts";
import { type IrisAddress, openAddress } from "./sources/open-iris.ts";
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
  address: IrisAddress,
  statement: string,
  to: "auto" | "controller" | "stats" = "auto",
): Promise<SqlAnswer> {
  const client = openAddress(address);
  const isForStats = to === "stats" || (to === "auto" && /"[a-z][\w-]*\.[\w.-]+"/.test(statement));
  if (!isForStats) {
    const { columns, rows } = await asUsage(client.rawQuery(statement));
    return { columns, rows: each(rows), close: async () => {} };
  }
  const answer = await asUsage(client.statsQuery(statement));
  return { columns: answer.columns, rows: each(answer.rows()), close: async () => {} };
}

async function* rowsIn(
  batches: AsyncIterable<readonly (readonly QueryCell[])[]>,
): AsyncGenerator<readonly QueryCell[]> {
  try {
    for await (const batch of batches) yield* batch;
  } catch (error) {
    throw usageErrorOf(error);
  }
}

async function* each(rows: Iterable<readonly QueryCell[]>): AsyncGenerator<readonly QueryCell[]> {
  yield* rows;
}
