/**
 * The statements sent to an Iris controller (SQLite) and to its statistics (DuckDB or DataFusion), in what both of each era
 * understand: no LIKE (`_`, `%` and case would mean something), no leading WITH, ranges of keys instead, pages by the last key.
 */

/** Makes a literal of a text, in the words that the receiver lets through. */
export type Quote = (text: string) => string;

/** Rows of a page: about 10 MB of answer. */
export const PAGE_ROWS = 50_000;

/** Now by the controller's own clock, epoch ms. */
export const NOW_SQL = "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)";

/** Columns of a table, where one version has more than another. The banned word is PRAGMA alone. */
export function columnsSql(table: string): string {
  return `SELECT name FROM pragma_table_info('${table}')`;
}

export interface JobColumns {
  readonly holder: boolean;
  readonly requested: boolean;
}

/** job, parent, state, user, holder, requested millicores. */
export function jobsSql(root: string, after: string | null, columns: JobColumns, quote: Quote): string {
  const holder = columns.holder ? "j.is_reservation_holder" : "NULL";
  const requested = columns.requested
    ? "(SELECT c.res_cpu_millicores FROM job_config c WHERE c.job_id = j.job_id)"
    : "NULL";
  return (
    `SELECT j.job_id, j.parent_job_id, j.state, j.user_id, ${holder}, ${requested} FROM jobs j ` +
    `WHERE (j.job_id = ${quote(root)} OR ${below("j.job_id", root, quote)})` +
    `${after === null ? "" : ` AND j.job_id > ${quote(after)}`} ORDER BY j.job_id LIMIT ${PAGE_ROWS}`
  );
}

/** task, job, state, start, end. */
export function tasksSql(root: string, after: string | null, quote: Quote): string {
  return (
    "SELECT task_id, job_id, state, started_at_ms, finished_at_ms FROM tasks " +
    `WHERE ${below("task_id", root, quote)}${after === null ? "" : ` AND task_id > ${quote(after)}`} ` +
    `ORDER BY task_id LIMIT ${PAGE_ROWS}`
  );
}

export interface AttemptKey {
  readonly taskId: string;
  readonly attempt: number;
}

/** task, attempt, state, start, end. */
export function attemptsSql(root: string, after: AttemptKey | null, quote: Quote): string {
  const next =
    after === null
      ? ""
      : ` AND (task_id > ${quote(after.taskId)} OR (task_id = ${quote(after.taskId)} AND attempt_id > ${after.attempt}))`;
  return (
    "SELECT task_id, attempt_id, state, started_at_ms, finished_at_ms FROM task_attempts " +
    `WHERE ${below("task_id", root, quote)}${next} ORDER BY task_id, attempt_id LIMIT ${PAGE_ROWS}`
  );
}

/** Half-open range of task ids. */
export interface TaskRange {
  readonly from: string;
  readonly before: string;
}

/** All tasks at or below a job: `/` is followed by `0` among the characters. */
export function rangeOf(root: string): TaskRange {
  return { from: `${root}/`, before: `${root}0` };
}

/** task, attempt, samples, first, last, mean millicores, peak MiB. */
export function spansSql(range: TaskRange, asOfMs: number, quote: Quote): string {
  return (
    "SELECT task_id, attempt_id, count(*) AS samples, min(ts) AS first_ts, max(ts) AS last_ts, " +
    "CAST(avg(cpu_millicores) AS DOUBLE) AS mean_millicores, max(memory_peak_mb) AS memory_peak_mb " +
    `FROM "iris.task" WHERE ${samplesOf(range, asOfMs, quote)} GROUP BY task_id, attempt_id`
  );
}

/**
 * task, attempt, and over the intervals between samples: millicore seconds by the trapezoid rule, by the smaller and by the
 * larger reading (holes left out), holes, their seconds, the longest one. EXTRACT of each time by itself: over a difference
 * one engine loses the fraction.
 */
export function integralSql(range: TaskRange, asOfMs: number, holeMs: number, quote: Quote): string {
  const each = "OVER (PARTITION BY task_id, attempt_id ORDER BY ts)";
  const hole = `d > ${(holeMs / 1000).toFixed(6)}`;
  return (
    "WITH s AS (SELECT task_id, attempt_id, CAST(cpu_millicores AS DOUBLE) AS c, " +
    `CAST(COALESCE(lag(cpu_millicores) ${each}, cpu_millicores) AS DOUBLE) AS p, ` +
    `EXTRACT(EPOCH FROM ts) - EXTRACT(EPOCH FROM lag(ts) ${each}) AS d ` +
    `FROM "iris.task" WHERE ${samplesOf(range, asOfMs, quote)}) ` +
    "SELECT task_id, attempt_id, " +
    "sum(d * (c + p) / 2.0) AS weighted, " +
    `sum(CASE WHEN c IS NULL OR ${hole} THEN 0.0 WHEN c < p THEN d * c ELSE d * p END) AS low, ` +
    `sum(CASE WHEN c IS NULL OR ${hole} THEN 0.0 WHEN c < p THEN d * p ELSE d * c END) AS high, ` +
    `CAST(sum(CASE WHEN ${hole} THEN 1 ELSE 0 END) AS BIGINT) AS holes, ` +
    `sum(CASE WHEN ${hole} THEN d ELSE 0.0 END) AS hole_sec, max(d) AS longest_sec ` +
    "FROM s WHERE d IS NOT NULL GROUP BY task_id, attempt_id"
  );
}

function samplesOf({ from, before }: TaskRange, asOfMs: number, quote: Quote): string {
  return `task_id >= ${quote(from)} AND task_id < ${quote(before)} AND ts <= TIMESTAMP '${timestamp(asOfMs)}'`;
}

/** UTC without a zone, as the column holds it. */
function timestamp(atMs: number): string {
  return new Date(atMs).toISOString().replace("T", " ").replace("Z", "");
}

function below(column: string, root: string, quote: Quote): string {
  const { from, before } = rangeOf(root);
  return `${column} >= ${quote(from)} AND ${column} < ${quote(before)}`;
}
