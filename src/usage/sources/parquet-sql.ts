/** What Parquet segments of samples are asked. Times are whole microseconds, sums of integers exact. */
import { quoteText } from "../../query/index.ts";
import type { TaskRange } from "./iris-sql.ts";

export interface SampleTable {
  /** A table function. */
  readonly from: string;
  /** The time of a sample in microseconds, as an expression. */
  readonly us: string;
  readonly hasMemory: boolean;
}

/** task, attempt, samples, first, last, mean millicores, peak MiB. */
export function spansSql(table: SampleTable, range: TaskRange, asOfMs: number): string {
  const memory = table.hasMemory ? "max(memory_peak_mb)" : "NULL";
  return (
    `SELECT task_id, attempt_id, count(*), min(${table.us}), max(${table.us}), avg(cpu_millicores), ${memory} ` +
    `FROM ${table.from} WHERE ${within(table, range, asOfMs)} GROUP BY task_id, attempt_id`
  );
}

/**
 * Over the intervals between samples, for files that are sorted: `lag() OVER ()` sees the row before, and nothing is sorted. The
 * answer holds where every attempt has as many intervals as samples less one, and none goes back: only then do its rows stand
 * together and in order. That window runs on one thread, so each range has one of its own; of sorted files each reads its part.
 */
export function sortedIntegralSql(
  table: SampleTable,
  ranges: readonly TaskRange[],
  asOfMs: number,
  holeMs: number,
): string {
  return ranges
    .map((range) => {
      // A number for each attempt, cheaper to look back at than its names. Two neighbours with the same one would be found: the
      // second would have an interval too many.
      const rows =
        "SELECT task_id, attempt_id, hash(task_id, attempt_id) AS k, cpu_millicores AS c, " +
        `${table.us} AS us FROM ${table.from} WHERE ${within(table, range, asOfMs)}`;
      return integral(
        "SELECT task_id, attempt_id, c, CASE WHEN p_k = k THEN us - p_us END AS d, COALESCE(p_c, c) AS p " +
          "FROM (SELECT task_id, attempt_id, k, c, us, lag(k) OVER () AS p_k, lag(us) OVER () AS p_us, lag(c) OVER () AS p_c " +
          `FROM (${rows}))`,
        holeMs,
      );
    })
    .join(" UNION ALL ");
}

/** The same for files in any order: each attempt is sorted. */
export function integralSql(table: SampleTable, range: TaskRange, asOfMs: number, holeMs: number): string {
  const each = "OVER (PARTITION BY task_id, attempt_id ORDER BY us, c)";
  return integral(
    `SELECT task_id, attempt_id, c, us - lag(us) ${each} AS d, COALESCE(lag(c) ${each}, c) AS p ` +
      `FROM (SELECT task_id, attempt_id, cpu_millicores AS c, ${table.us} AS us FROM ${table.from} WHERE ${within(table, range, asOfMs)})`,
    holeMs,
  );
}

/**
 * task, attempt, then in microseconds of millicores: twice the trapezoids, twice low, twice high; holes, their time, the
 * longest; intervals, the least. Of the readings c and p at an interval's ends the smaller is (c + p − |c − p|) / 2, the larger
 * (c + p + |c − p|) / 2: two sums instead of three, which cost more than the scan. `d` is null for an attempt's first row, `c`
 * where it is not told: then none of the sums has the interval.
 */
function integral(intervals: string, holeMs: number): string {
  const hole = `d > ${Math.round(holeMs * 1000)}`;
  return (
    "SELECT task_id, attempt_id, ends, ends - apart - COALESCE(hole_ends - hole_apart, 0), " +
    "ends + apart - COALESCE(hole_ends + hole_apart, 0), holes, hole_us, longest, n, least FROM (" +
    "SELECT task_id, attempt_id, sum(d * (c + p)) AS ends, sum(d * abs(c - p)) AS apart, " +
    `count(*) FILTER (${hole}) AS holes, sum(d) FILTER (${hole}) AS hole_us, ` +
    `sum(d * (c + p)) FILTER (${hole}) AS hole_ends, sum(d * abs(c - p)) FILTER (${hole}) AS hole_apart, ` +
    // Two samples at one instant are in the order of their readings, so that any order of the rows gives the same figures.
    "max(d) AS longest, count(d) AS n, min(CASE WHEN d = 0 AND c < p THEN -1 ELSE d END) AS least " +
    `FROM (${intervals}) GROUP BY task_id, attempt_id)`
  );
}

function within({ us }: SampleTable, { from, before }: TaskRange, asOfMs: number): string {
  return `task_id >= ${quoteText(from)} AND task_id < ${quoteText(before)} AND ${us} < ${(asOfMs + 1) * 1000}`;
}
