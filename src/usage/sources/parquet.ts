/** Saved samples (segments of `iris.task`) and a task table as a source of usage. */
import {
  type AttemptTimes,
  type JobNode,
  jobOfTask,
  jobTree,
  parentOf,
  TASK_STATES,
  type TaskState,
  type TaskTimes,
  taskStateOf,
} from "../../core/index.ts";
import { Database } from "../../query/index.ts";
import { asUsage, ofFiles } from "../failures.ts";
import { UsageError, type UsageSource } from "../source.ts";
import { CellError, numberIn, type Row, requiredNumber, requiredText, textIn } from "./cells.ts";
import { spanOf } from "./iris-rows.ts";
import { rangeOf } from "./iris-sql.ts";
import {
  columnsOf,
  parquetColumns,
  readablePaths,
  requireColumns,
  sampleFiles,
  samplesTable,
  tableOf,
} from "./parquet-files.ts";
import { withIntegrals } from "./parquet-integral.ts";
import { type SampleTable, spansSql } from "./parquet-sql.ts";

export interface ParquetFiles {
  /** Files, or folders of `.parquet` files. */
  readonly samples: readonly string[];
  /** Parquet, CSV or JSON with task_id, state, started_at_ms, finished_at_ms. */
  readonly tasks: string;
  /** With task_id, attempt_id, state, started_at_ms, finished_at_ms. */
  readonly attempts?: string;
  /** With job_id, state, and where it has them res_cpu_millicores, is_reservation_holder; default: the jobs that the tasks' ids name. */
  readonly jobs?: string;
  /** Of the engine; default 1 GiB. */
  readonly memoryLimitBytes?: number;
}

/** Throws UsageError, as the source does. */
export async function parquetSource(files: ParquetFiles): Promise<UsageSource> {
  const paths = sampleFiles(files.samples);
  const { memoryLimitBytes } = files;
  const database = await asked(Database.open(memoryLimitBytes === undefined ? {} : { memoryLimitBytes }));
  try {
    const samples = await sampleTable(database, paths);
    const tasks = await table(database, files.tasks, TASK_COLUMNS, taskOf);
    const attempts =
      files.attempts === undefined ? [] : await table(database, files.attempts, ATTEMPT_COLUMNS, attemptOf);
    const jobs = files.jobs === undefined ? jobsOf(tasks) : await table(database, files.jobs, JOB_COLUMNS, jobOf);
    await asked(database.lock(readablePaths(paths)));
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
        const rows = await asked(database.rows(spansSql(samples, rangeOf(root), asOfMs)));
        const spans = inFile(paths.length === 1 ? (paths[0] ?? "") : "the samples", () => rows.map(spanOf));
        return integral ? asked(withIntegrals(database, samples, root, asOfMs, spans)) : spans;
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

interface Columns {
  readonly needed: readonly string[];
  readonly optional: readonly string[];
}

const TASK_COLUMNS: Columns = { needed: ["task_id", "state", "started_at_ms", "finished_at_ms"], optional: [] };
const ATTEMPT_COLUMNS: Columns = {
  needed: ["task_id", "attempt_id", "state", "started_at_ms", "finished_at_ms"],
  optional: [],
};
const JOB_COLUMNS: Columns = {
  needed: ["job_id", "state"],
  optional: ["is_reservation_holder", "res_cpu_millicores"],
};
const SAMPLE_COLUMNS = ["task_id", "attempt_id", "ts", "cpu_millicores"];

/** All files must tell what is needed, and the time in one way: the engine would take the first file's word for all. */
async function sampleTable(database: Database, paths: readonly string[]): Promise<SampleTable> {
  const all = await asked(parquetColumns(database, paths));
  for (const [at, columns] of all.entries()) requireColumns(paths[at] ?? "", columns, SAMPLE_COLUMNS);
  const kinds = all.map((columns, at) => timeKind(paths[at] ?? "", columns.get("ts") ?? ""));
  const other = kinds.findIndex((kind) => kind !== kinds[0]);
  if (other >= 0)
    throw new UsageError("file", `${paths[other]}: ts is ${kinds[other]}, and in ${paths[0]} it is ${kinds[0]}`);
  const withPeak = all.filter((columns) => columns.has("memory_peak_mb")).length;
  return {
    from: samplesTable(paths, withPeak > 0 && withPeak < paths.length),
    us: kinds[0] === "a time" ? "epoch_us(ts)" : "(ts * 1000)",
    hasMemory: withPeak > 0,
  };
}

function timeKind(path: string, type: string): "a time" | "a number" {
  if (/^TIMESTAMP/.test(type)) return "a time";
  if (/INT$|^INTEGER$/.test(type)) return "a number";
  throw new UsageError("file", `${path}: ts is ${type}, and should be a time or whole ms since 1970`);
}

async function table<T>(
  database: Database,
  path: string,
  { needed, optional }: Columns,
  read: (row: Row) => T,
): Promise<readonly T[]> {
  const from = tableOf(path);
  const columns = await asked(columnsOf(database, from, path, needed));
  const selected = [...needed, ...optional.map((name) => (columns.has(name) ? name : "NULL"))];
  const rows = await asked(database.rows(`SELECT ${selected.join(", ")} FROM ${from}`));
  return inFile(path, () => rows.map(read));
}

function inFile<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof CellError)
      throw new UsageError("file", `${path}: a row should hold ${error.what}`, { cause: error });
    throw error;
  }
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
  const [holder, requestedCpuMillicores] = [textIn(row, 2), numberIn(row, 3)];
  const node = jobNode(requiredText(row, 0, "a job's id"), stateIn(row, 1), requestedCpuMillicores);
  return holder === null ? node : { ...node, isReservationHolder: /^(1|true)$/i.test(holder) };
}

function jobNode(jobId: string, state: TaskState, requestedCpuMillicores: number | null): JobNode {
  return {
    jobId,
    parentJobId: parentOf(jobId),
    state,
    user: jobId.split("/")[1] ?? null,
    isReservationHolder: jobId.endsWith("/:reservation:"),
    requestedCpuMillicores,
  };
}

/** The tasks' jobs, and all above them. */
function jobsOf(tasks: readonly TaskTimes[]): readonly JobNode[] {
  const states = new Map<string, TaskState>();
  for (const { jobId, state } of tasks) if (state !== "succeeded" || !states.has(jobId)) states.set(jobId, state);
  for (const id of [...states.keys()])
    for (let parent = parentOf(id); parent !== null; parent = parentOf(parent))
      if (!states.has(parent)) states.set(parent, "unspecified");
  return [...states].map(([jobId, state]) => jobNode(jobId, state, null));
}

function timesIn(row: Row, at: number): { startedAtMs: number | null; finishedAtMs: number | null } {
  return { startedAtMs: numberIn(row, at), finishedAtMs: numberIn(row, at + 1) };
}

/** Iris' number, or its name with or without what stands before it on the wire. A misspelt one would be left out of ledger A. */
function stateIn(row: Row, at: number): TaskState {
  const text = textIn(row, at) ?? "";
  if (text === "") return "unspecified";
  if (/^\d+$/.test(text)) return taskStateOf(Number(text));
  const name = text.toLowerCase().replace(/^(task|job)_state_/, "");
  const known = TASK_STATES.find((state) => state === name);
  if (known === undefined) throw new CellError(`a state of Iris' (its number or name), and not ${text}`);
  return known;
}

function asked<T>(answer: Promise<T>): Promise<T> {
  return asUsage(answer, ofFiles);
}
