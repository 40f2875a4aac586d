/** An Iris controller and its statistics as a source of usage. */
import { IntegralBuilder, type JobTree, jobTree, type SampleSpan, usualHoleMs } from "../../core/index.ts";
import { type IrisClient, IrisError, quoteSql, quoteStats } from "../../iris/index.ts";
import { type SpanOptions, UsageError, type UsageSource } from "../source.ts";
import { type Row, requiredNumber, requiredText, textIn } from "./cells.ts";
import { attemptOf, integralOf, jobOf, spanOf, taskOf } from "./iris-rows.ts";
import {
  attemptsSql,
  columnsSql,
  integralSql,
  jobsSql,
  NOW_SQL,
  PAGE_ROWS,
  rangeOf,
  spansSql,
  type TaskRange,
  tasksSql,
} from "./iris-sql.ts";

/** `name`: for people, such as its URL. */
export function irisSource(client: IrisClient, name: string): UsageSource {
  const raw = async (sql: string): Promise<readonly Row[]> => (await client.rawQuery(sql)).rows;
  return {
    kind: "iris",
    name,
    firstAttempt: 0,

    async nowMs() {
      const [row] = await raw(NOW_SQL);
      return requiredNumber(row, 0, "the controller's time");
    },

    async tree(root) {
      const has = async (table: string, column: string): Promise<boolean> =>
        (await raw(columnsSql(table))).some((row) => textIn(row, 0) === column);
      const columns = {
        holder: await has("jobs", "is_reservation_holder"),
        requested: await has("job_config", "res_cpu_millicores"),
      };
      const rows = await pages(
        (after: string | null) => raw(jobsSql(root, after, columns, quoteSql)),
        (row) => requiredText(row, 0, "a job's id"),
      );
      if (rows.length === 0)
        throw new UsageError("no-such-job", `the controller at ${name} knows no job ${root}`, {
          hint: "jobs are forgotten a week after their end; their samples may be there longer",
        });
      return jobTree(root, rows.map(jobOf));
    },

    async tasks({ root }) {
      const rows = await pages(
        (after: string | null) => raw(tasksSql(root, after, quoteSql)),
        (row) => requiredText(row, 0, "a task's id"),
      );
      return rows.map(taskOf);
    },

    async attempts({ root }) {
      const rows = await pages(
        (after: { taskId: string; attempt: number } | null) => raw(attemptsSql(root, after, quoteSql)),
        (row) => ({
          taskId: requiredText(row, 0, "a task's id"),
          attempt: requiredNumber(row, 1, "an attempt's number"),
        }),
      );
      return rows.map(attemptOf);
    },

    async spans(tree, how) {
      const rows = await byRanges(client, tree, (range) => spansSql(range, how.asOfMs, quoteStats));
      const spans = rows.map(spanOf);
      return how.integral ? withIntegrals(client, tree, how, spans) : spans;
    },

    // Each question is a connection of its own.
    close: async () => {},
  };
}

/** The second question is asked with what the first one has shown to be the usual interval. */
async function withIntegrals(
  client: IrisClient,
  tree: JobTree,
  { asOfMs }: SpanOptions,
  spans: readonly SampleSpan[],
): Promise<readonly SampleSpan[]> {
  const holeMs = usualHoleMs(spans);
  const rows = await byRanges(client, tree, (range) => integralSql(range, asOfMs, holeMs, quoteStats));
  const integrals = new Map(rows.map((row) => [`${textIn(row, 0)}:${textIn(row, 1)}`, integralOf(row, holeMs)]));
  // Of an attempt with one sample there is no row.
  const nothing = new IntegralBuilder(holeMs).integral();
  return spans.map((span) => ({
    ...span,
    integral: integrals.get(`${span.taskId}:${span.attempt}`) ?? nothing,
  }));
}

/** All rows, page by page, each from behind the last key of the one before. */
async function pages<K>(
  ask: (after: K | null) => Promise<readonly Row[]>,
  keyOf: (row: Row) => K,
): Promise<readonly Row[]> {
  const all: Row[] = [];
  let after: K | null = null;
  for (;;) {
    const page: readonly Row[] = await ask(after);
    for (const row of page) all.push(row);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_ROWS) return all;
    after = keyOf(last);
  }
}

/** One question for the whole tree; where that takes too long or gives too much, one for each half of its jobs, and so on. */
async function byRanges(
  client: IrisClient,
  tree: JobTree,
  sqlFor: (range: TaskRange) => string,
): Promise<readonly Row[]> {
  const jobs = tree.jobs.map(({ jobId }) => `${jobId}/`).sort();
  const all: Row[] = [];
  const open: TaskRange[] = [rangeOf(tree.root)];
  for (;;) {
    const range = open.pop();
    if (range === undefined) return all;
    try {
      for (const row of (await client.statsQuery(sqlFor(range))).rows()) all.push(row);
    } catch (error) {
      const halves = isTooMuch(error) ? split(range, jobs) : null;
      if (halves === null) throw error;
      open.push(...halves);
    }
  }
}

function isTooMuch(error: unknown): boolean {
  return error instanceof IrisError && (error.code === "deadline" || error.code === "too-large");
}

/** Null: the range holds one job alone. */
function split({ from, before }: TaskRange, jobs: readonly string[]): readonly TaskRange[] | null {
  const inside = jobs.filter((job) => job > from && job < before);
  const middle = inside[inside.length >> 1];
  return middle === undefined
    ? null
    : [
        { from: middle, before },
        { from, before: middle },
      ];
}
