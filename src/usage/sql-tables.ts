/** Our own jobs as Iris' tables: the columns that we know are filled, the others are there and null. */
import { type AttemptRecords, parentOf, taskStateNumber, type Verdict } from "../core/index.ts";
import type { QueryCell, TableColumn } from "../query/index.ts";
import type { OwnAttempt, OwnJob, OwnTask } from "./own-records.ts";
import { attemptTimes, millicoresOf, taskTimes } from "./sources/journal.ts";
import { sampleLines } from "./sources/sample-lines.ts";

export interface SqlTable {
  readonly name: string;
  readonly columns: readonly TableColumn[];
  rows(): AsyncIterable<readonly QueryCell[]> | Iterable<readonly QueryCell[]>;
}

/** All of them, of all these jobs. */
export function ownTables(jobs: readonly OwnJob[]): readonly SqlTable[] {
  const tasks = jobs.flatMap((job) => job.tasks.map((task) => ({ job, task })));
  const attempts = tasks.flatMap(({ task }) => task.attempts.map((attempt) => ({ task, attempt })));
  return [
    { name: "jobs", columns: JOBS, rows: () => jobs.map(jobRow) },
    { name: "tasks", columns: TASKS, rows: () => tasks.map(({ job, task }) => taskRow(job, task)) },
    {
      name: "task_attempts",
      columns: ATTEMPTS,
      rows: () => attempts.map(({ task, attempt }) => attemptRow(task, attempt)),
    },
    {
      name: "iris.task",
      columns: SAMPLES,
      async *rows() {
        for (const { task, attempt } of attempts) yield* sampleRows(task, attempt);
      },
    },
  ];
}

const text = (name: string): TableColumn => ({ name, type: "VARCHAR" });
const whole = (name: string): TableColumn => ({ name, type: "BIGINT" });

const JOBS = [
  text("job_id"),
  text("user_id"),
  text("parent_job_id"),
  text("root_job_id"),
  whole("depth"),
  whole("state"),
  whole("submitted_at_ms"),
  whole("started_at_ms"),
  whole("finished_at_ms"),
  whole("num_tasks"),
  text("name"),
  whole("res_cpu_millicores"),
  // Never told.
  whole("root_submitted_at_ms"),
  whole("scheduling_deadline_epoch_ms"),
  text("error"),
  whole("exit_code"),
  whole("is_reservation_holder"),
  whole("has_reservation"),
  text("submitting_user"),
  text("backend_id"),
  text("cluster"),
];

function jobRow(job: OwnJob): QueryCell[] {
  const { place, tasks, submittedAtMs } = job;
  const parts = place.id.split("/");
  const times = tasks.map(taskTimes);
  const starts = times.flatMap(({ startedAtMs }) => startedAtMs ?? []);
  const ends = times.map(({ finishedAtMs }) => finishedAtMs);
  return [
    place.id,
    parts[1] ?? null,
    parentOf(place.id),
    parts.slice(0, 3).join("/"),
    place.ancestors.length + 1,
    stateOf(times.map(({ state }) => taskStateNumber(state))),
    submittedAtMs,
    starts.length === 0 ? null : Math.min(...starts),
    ends.length === 0 || ends.includes(null) ? null : Math.max(...ends.map((end) => end ?? 0)),
    tasks.length,
    place.id.toLowerCase(),
    millicoresOf(job),
  ];
}

/** As Iris finds a job's: first that all succeeded, then what is under way, then what failed. */
function stateOf(states: readonly number[]): number {
  if (states.length > 0 && states.every((state) => state === 4)) return 4;
  for (const state of [3, 2, 1, 5, 7, 10]) if (states.includes(state)) return state;
  return states.length === 0 ? 1 : 6;
}

const TASKS = [
  text("task_id"),
  text("job_id"),
  whole("task_index"),
  whole("state"),
  text("error"),
  whole("exit_code"),
  whole("submitted_at_ms"),
  whole("started_at_ms"),
  whole("finished_at_ms"),
  whole("failure_count"),
  whole("preemption_count"),
  whole("current_attempt_id"),
  // Never told.
  whole("max_retries_failure"),
  whole("max_retries_preemption"),
  whole("priority_neg_depth"),
  whole("priority_root_submitted_ms"),
  whole("priority_insertion"),
  whole("priority_band"),
  text("container_id"),
  text("current_worker_id"),
  text("current_worker_address"),
  text("status_message"),
  text("backend_id"),
  text("cluster"),
];

function taskRow(job: OwnJob, task: OwnTask): QueryCell[] {
  const { taskId, jobId, state, startedAtMs, finishedAtMs } = taskTimes(task);
  const newest = task.attempts.findLast(({ records }) => records.go?.what === "start")?.records ?? null;
  const carry = task.settled?.carry ?? null;
  return [
    taskId,
    jobId,
    task.place.index,
    taskStateNumber(state),
    state === "succeeded" ? null : (newest?.settled?.evidence.why ?? null),
    newest?.settled?.evidence.exitCode ?? newest?.exited?.exitCode ?? null,
    job.submittedAtMs,
    startedAtMs,
    finishedAtMs,
    carry?.failures ?? null,
    carry === null ? null : carry.preemptions + carry.infrastructure,
    newest === null ? -1 : newest.number - 1,
  ];
}

const ATTEMPTS = [
  text("task_id"),
  whole("attempt_id"),
  text("worker_id"),
  whole("state"),
  whole("created_at_ms"),
  whole("started_at_ms"),
  whole("finished_at_ms"),
  whole("exit_code"),
  text("error"),
  // Ours.
  text("verdict"),
  text("ref"),
  whole("ran_ms"),
  whole("cpu_ms"),
  whole("memory_peak_bytes"),
  // Never told.
  text("attempt_uid"),
  text("backend_id"),
  text("pod_name"),
  text("pod_uid"),
  text("node_name"),
  text("terminal_reason"),
];

function attemptRow(task: OwnTask, attempt: OwnAttempt): QueryCell[] {
  const { taskId, state, startedAtMs, finishedAtMs } = attemptTimes(task, attempt);
  const { records } = attempt;
  const told = records.settled?.evidence ?? records.exited;
  const verdict: Verdict | null = records.settled?.verdict ?? null;
  return [
    taskId,
    records.number - 1,
    hostOf(records),
    taskStateNumber(state),
    records.claim?.atMs ?? null,
    startedAtMs,
    finishedAtMs,
    told?.exitCode ?? null,
    verdict === null || verdict === "completed" ? null : (records.settled?.evidence.why ?? null),
    verdict,
    records.started?.ref ?? records.submitted?.ref ?? null,
    told?.ranMs ?? null,
    told === null || told.cpuUserMs === null ? null : told.cpuUserMs + (told.cpuSystemMs ?? 0),
    told?.memoryPeakBytes ?? null,
  ];
}

const SAMPLES: readonly TableColumn[] = [
  text("task_id"),
  whole("attempt_id"),
  text("worker_id"),
  { name: "ts", type: "TIMESTAMP" },
  whole("cpu_millicores"),
  whole("memory_mb"),
  whole("disk_mb"),
  whole("memory_peak_mb"),
  // Ours: what the others are made of.
  whole("elapsed_ms"),
  whole("cpu_ms"),
  whole("memory_bytes"),
  // Never told.
  { name: "accelerator_util_pct", type: "DOUBLE" },
  whole("accelerator_mem_bytes"),
];

async function* sampleRows(task: OwnTask, { folder, records }: OwnAttempt): AsyncGenerator<QueryCell[]> {
  const host = hostOf(records);
  const mib = (bytes: number | null): number | null => (bytes === null ? null : Math.round(bytes / 1_048_576));
  for await (const sample of sampleLines(`${folder}/samples.csv`, Number.MAX_SAFE_INTEGER))
    yield [
      task.place.id,
      records.number - 1,
      host,
      sample.atMs,
      sample.cpuMillicores,
      mib(sample.memoryBytes),
      null,
      mib(sample.memoryPeakBytes),
      sample.elapsedMs,
      sample.counterCpuMs,
      sample.memoryBytes,
    ];
}

function hostOf({ started }: AttemptRecords): string | null {
  return started?.body.host ?? null;
}
