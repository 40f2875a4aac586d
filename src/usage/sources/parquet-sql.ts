/** What Parquet segments of samples are asked. Times are whole microseconds, sums of integers exact. */
import { quoteText } from "../../query/index.ts";
import { rangeOf } from "./iris-sql.ts";

export interface SampleTable {
  /** A table function. */
  readonly from: string;
  /** The time of a sample in microseconds, as an expression. */
  readonly us: string;
  readonly hasMemory: boolean;
}

export function spansSql(table: SampleTable, root: string, asOfMs: number): string {
  const memory = table.hasMemory ? "max(memory_peak_mb)" : "NULL";
  return (
    `SELECT task_id, attempt_id, count(*), min(${table.us}), max(${table.us}), avg(cpu_millicores), ${memory} ` +
    `FROM ${table.from} WHERE ${below(table, root, asOfMs)} GROUP BY task_id, attempt_id`
  );
}

/**
 * Over the intervals between samples. Files that are sorted need no sorting: `lag() OVER ()` sees the row before, and each
 * attempt counts how often its rows began anew and how often time went back. Only with one beginning each and no step back
 * the answer holds.
 */
export function sortedIntegralSql(table: SampleTable, root: string, asOfMs: number, holeMs: number): string {
  // A number for each attempt, cheaper to look back at than its names. Two neighbours with the same one would be found: the
  // second would have no beginning.
  const rows =
    "SELECT task_id, attempt_id, hash(task_id, attempt_id) AS k, cpu_millicores AS c, " +
    `${table.us} AS us FROM ${table.from} WHERE ${below(table, root, asOfMs)}`;
  return integral(
    "SELECT task_id, attempt_id, c, us - p_us AS d, p_k IS NOT DISTINCT FROM k AS same, COALESCE(p_c, c) AS p " +
      "FROM (SELECT task_id, attempt_id, k, c, us, lag(k) OVER () AS p_k, lag(us) OVER () AS p_us, lag(c) OVER () AS p_c " +
      `FROM (${rows}))`,
    holeMs,
  );
}

/** The same for files in any order: each attempt is sorted. */
export function integralSql(table: SampleTable, root: string, asOfMs: number, holeMs: number): string {
  const each = "OVER (PARTITION BY task_id, attempt_id ORDER BY us, c)";
  return integral(
    `SELECT task_id, attempt_id, c, us - lag(us) ${each} AS d, lag(us) ${each} IS NOT NULL AS same, COALESCE(lag(c) ${each}, c) AS p ` +
      `FROM (SELECT task_id, attempt_id, cpu_millicores AS c, ${table.us} AS us FROM ${table.from} WHERE ${below(table, root, asOfMs)})`,
    holeMs,
  );
}

/** task, attempt, then in microseconds of millicores: twice the trapezoids, low, high; holes, their time, the longest; beginnings, steps back. */
function integral(intervals: string, holeMs: number): string {
  const hole = `d > ${Math.round(holeMs * 1000)}`;
  // `least` and `greatest` pass over what is not told: then the bounds would count what the sum leaves out.
  const told = `same AND NOT ${hole} AND c IS NOT NULL`;
  return (
    "SELECT task_id, attempt_id, sum(d * (c + p)) FILTER (same), " +
    `sum(d * least(c, p)) FILTER (${told}), sum(d * greatest(c, p)) FILTER (${told}), ` +
    `count(*) FILTER (same AND ${hole}), sum(d) FILTER (same AND ${hole}), max(d) FILTER (same), ` +
    // Two samples at one instant are in the order of their readings, so that any order of the rows gives the same figures.
    "count(*) FILTER (NOT same), count(*) FILTER (same AND (d < 0 OR (d = 0 AND c < p))) " +
    `FROM (${intervals}) GROUP BY task_id, attempt_id`
  );
}

function below({ us }: SampleTable, root: string, asOfMs: number): string {
  const { from, before } = rangeOf(root);
  return `task_id >= ${quoteText(from)} AND task_id < ${quoteText(before)} AND ${us} < ${(asOfMs + 1) * 1000}`;
}
