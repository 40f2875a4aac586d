/** Saved samples (segments of `iris.task`) and a task table as a source of usage. */
import {
  type AttemptTimes,
  type JobNode,
  jobOfTask,
  jobTree,
  parentOf,
  type SampleSpan,
  type SpanIntegral,
  TASK_STATES,
  type TaskState,
  type TaskTimes,
  taskStateOf,
  usualHoleMs,
} from "../../core/index.ts";
import { Database, QueryError } from "../../query/index.ts";
import { UsageError, type UsageSource } from "../source.ts";
import { numberIn, type Row, requiredNumber, requiredText, textIn } from "./cells.ts";
import { spanOf } from "./iris-rows.ts";
import { columnsOf, sampleFiles, samplesTable, tableOf } from "./parquet-files.ts";
import { integralSql, type SampleTable, sortedIntegralSql, spansSql } from "./parquet-sql.ts";

export interface ParquetFiles {
  /** Files, or folders of `.parquet` files. */
  readonly samples: readonly string[];
  /** Parquet, CSV or JSON with task_id, state, started_at_ms, finished_at_ms. */
  readonly tasks: string;
  /** With task_id, attempt_id, state, started_at_ms, finished_at_ms. */
  readonly attempts?: string;
  /** With job_id, state; default: the jobs that the tasks' ids name. */
  readonly jobs?: string;
  /** Of the engine; default 1 GiB. */
  readonly memoryLimitBytes?: number;
}

/** Throws UsageError, as the source does. */
export async function parquetSource(files: ParquetFiles): Promise<UsageSource> {
  const paths = sampleFiles(files.samples);
  const { memoryLimitBytes } = files;
  const database = await asUsage(Database.open(memoryLimitBytes === undefined ? {} : { memoryLimitBytes }));
  try {
    const samples = await sampleTable(database, paths);
    const tasks = (await tableRows(database, files.tasks, TASK_COLUMNS)).map(taskOf);
    const attempts =
      files.attempts === undefined ? [] : (await tableRows(database, files.attempts, ATTEMPT_COLUMNS)).map(attemptOf);
    const jobs =
      files.jobs === undefined ? jobsOf(tasks) : (await tableRows(database, files.jobs, JOB_COLUMNS)).map(jobOf);
    await asUsage(database.lock(paths));
    return {
      kind: "parquet",
      name: paths.length === 1 ? (paths[0] ?? "") : `${paths.length} Parquet files`,
      firstAttempt: 0,
      nowMs: async () => Date.now(),
      async tree(root) {
        const tree = jobTree(root, jobs);
        if (tree.jobs.length === 0)
          throw new UsageError("no-such-job", `${files.jobs ?? files.tasks} names no job ${root}`);
        return tree;
      },
      tasks: async ({ root }) => tasks.filter(({ taskId }) => taskId.startsWith(`${root}/`)),
      attempts: async ({ root }) => attempts.filter(({ taskId }) => taskId.startsWith(`${root}/`)),
      async spans({ root }, { asOfMs, integral }) {
        const spans = (await asUsage(database.rows(spansSql(samples, root, asOfMs)))).map(spanOf);
        return integral ? asUsage(withIntegrals(database, samples, root, asOfMs, spans)) : spans;
      },
      async close() {
        database.close();
      },
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

const TASK_COLUMNS = ["task_id", "state", "started_at_ms", "finished_at_ms"];
const ATTEMPT_COLUMNS = ["task_id", "attempt_id", "state", "started_at_ms", "finished_at_ms"];
const JOB_COLUMNS = ["job_id", "state"];

async function sampleTable(database: Database, paths: readonly string[]): Promise<SampleTable> {
  const from = samplesTable(paths);
  const columns = await asUsage(
    columnsOf(database, from, paths[0] ?? "", ["task_id", "attempt_id", "ts", "cpu_millicores"]),
  );
  const type = columns.get("ts") ?? "";
  const us = /^TIMESTAMP/.test(type) ? "epoch_us(ts)" : /INT$/.test(type) ? "(ts * 1000)" : null;
  if (us === null) throw new UsageError("file", `${paths[0]}: ts is ${type}, and should be a time or ms since 1970`);
  return { from, us, hasMemory: columns.has("memory_peak_mb") };
}

async function tableRows(database: Database, path: string, columns: readonly string[]): Promise<readonly Row[]> {
  const table = tableOf(path);
  await asUsage(columnsOf(database, table, path, columns));
  return asUsage(database.rows(`SELECT ${columns.join(", ")} FROM ${table}`));
}

function taskOf(row: Row): TaskTimes {
  const taskId = requiredText(row, 0, "a task's id");
  return { taskId, jobId: jobOfTask(taskId), state: stateIn(row, 1), ...timesIn(row, 2) };
}

function attemptOf(row: Row): AttemptTimes {
  return {
    taskId: requiredText(row, 0, "a task's id"),
    attempt: requiredNumber(row, 1, "an attempt's number"),
    state: stateIn(row, 2),
    ...timesIn(row, 3),
  };
}

function jobOf(row: Row): JobNode {
  return jobNode(requiredText(row, 0, "a job's id"), stateIn(row, 1));
}

function jobNode(jobId: string, state: TaskState): JobNode {
  return {
    jobId,
    parentJobId: parentOf(jobId),
    state,
    user: jobId.split("/")[1] ?? null,
    isReservationHolder: jobId.endsWith("/:reservation:"),
    requestedCpuMillicores: null,
  };
}

/** The tasks' jobs, and all above them. */
function jobsOf(tasks: readonly TaskTimes[]): readonly JobNode[] {
  const states = new Map<string, TaskState>();
  for (const { jobId, state } of tasks) if (state !== "succeeded" || !states.has(jobId)) states.set(jobId, state);
  for (const id of [...states.keys()])
    for (let parent = parentOf(id); parent !== null; parent = parentOf(parent))
      if (!states.has(parent)) states.set(parent, "unspecified");
  return [...states].map(([jobId, state]) => jobNode(jobId, state));
}

function timesIn(row: Row, at: number): { startedAtMs: number | null; finishedAtMs: number | null } {
  return { startedAtMs: numberIn(row, at), finishedAtMs: numberIn(row, at + 1) };
}

/** Iris' number, or its name with or without what stands before it on the wire. */
function stateIn(row: Row, at: number): TaskState {
  const text = textIn(row, at) ?? "";
  if (/^\d+$/.test(text)) return taskStateOf(Number(text));
  const name = text.toLowerCase().replace(/^(task|job)_state_/, "");
  return TASK_STATES.find((state) => state === name) ?? "unspecified";
}

/** Sorted files are the usual case and three times as fast; whether they are sorted the same pass shows. */
async function withIntegrals(
  database: Database,
  samples: SampleTable,
  root: string,
  asOfMs: number,
  spans: readonly SampleSpan[],
): Promise<readonly SampleSpan[]> {
  const holeMs = usualHoleMs(spans);
  const quick = await database.rows(sortedIntegralSql(samples, root, asOfMs, holeMs));
  const isSorted = quick.every((row) => Number(row[8]) === 1 && Number(row[9]) === 0);
  const rows = isSorted ? quick : await database.rows(integralSql(samples, root, asOfMs, holeMs));
  const integrals = new Map(rows.map((row) => [`${row[0]}:${row[1]}`, integralOf(row, holeMs)]));
  return spans.map((span) => ({ ...span, integral: integrals.get(`${span.taskId}:${span.attempt}`) ?? null }));
}

/** Microseconds of millicores are 10^-6 ms of CPU. */
function integralOf(row: Row, holeMs: number): SpanIntegral {
  return {
    weightedCpuMs: (numberIn(row, 2) ?? 0) / 2e6,
    lowCpuMs: (numberIn(row, 3) ?? 0) / 1e6,
    highCpuMs: (numberIn(row, 4) ?? 0) / 1e6,
    counterCpuMs: null,
    holes: numberIn(row, 5) ?? 0,
    holesMs: Math.round((numberIn(row, 6) ?? 0) / 1000),
    longestIntervalMs: Math.round((numberIn(row, 7) ?? 0) / 1000),
    holeMs,
  };
}

async function asUsage<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    const { message, hint } = error;
    const code = error.code === "missing-package" ? "missing-package" : "file";
    throw new UsageError(code, message, { ...(hint === null ? {} : { hint }), cause: error });
  }
}
