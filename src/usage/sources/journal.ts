/** A job of ours, from its folder alone. */
import {
  type AttemptTimes,
  IntegralBuilder,
  jobTree,
  parentOf,
  type SampleSpan,
  SpanBuilder,
  type TaskTimes,
  usualHoleMs,
} from "../../core/index.ts";
import type { OwnAttempt, OwnJob, OwnTask } from "../own-records.ts";
import type { AsOf, SpanOptions, UsageSource } from "../source.ts";
import { attemptState, taskState } from "../verdict-states.ts";
import { sampleLines } from "./sample-lines.ts";

/** `jobs`: the root and all below it (readOwnJobs). `nowMs`: when they were read. */
export function journalSource(jobs: readonly OwnJob[], nowMs: number, name: string): UsageSource {
  const tasks = jobs.flatMap((job) => job.tasks);
  return {
    kind: "journal",
    name,
    firstAttempt: 1,
    nowMs: async () => nowMs,
    tree: async (root) =>
      jobTree(
        root,
        jobs.map((job) => ({
          jobId: job.place.id,
          parentJobId: parentOf(job.place.id),
          state: stateOfJob(job),
          user: job.place.id.split("/")[1] ?? null,
          isReservationHolder: false,
          requestedCpuMillicores: millicoresOf(job),
        })),
      ),
    tasks: async () => tasks.map(taskTimes),
    attempts: async () => tasks.flatMap((task) => task.attempts.map((attempt) => attemptTimes(task, attempt))),
    spans: (_tree, how) => spansOf(tasks, how),
    close: async () => {},
  };
}

/** From the start of its first allocation to the end of its last attempt that ran, once nothing of it will run any more. */
export function taskTimes(task: OwnTask): TaskTimes {
  const ran = task.attempts.filter(({ records }) => records.started !== null);
  const decision = task.decision?.kind;
  const last = ran.at(-1);
  const open = task.attempts.flatMap(({ records }) => (records.settled === null ? records : []));
  return {
    taskId: task.place.id,
    jobId: task.place.job.id,
    state: taskState(task.decision, last?.records.settled?.verdict ?? null, open),
    startedAtMs: ran[0]?.records.started?.atMs ?? null,
    finishedAtMs: (decision === "finish" || decision === "stop") && last !== undefined ? endOf(last) : null,
  };
}

export function attemptTimes(task: OwnTask, attempt: OwnAttempt): AttemptTimes {
  const { records } = attempt;
  return {
    taskId: task.place.id,
    attempt: records.number,
    state: attemptState(records),
    startedAtMs: records.started?.atMs ?? null,
    finishedAtMs: records.started === null ? null : endOf(attempt),
  };
}

/** By its body or guardian; where neither could testify, by the scheduler. Null: not on record. */
function endOf({ records, accounting }: OwnAttempt): number | null {
  const { exited, go } = records;
  if (exited !== null) return exited.atMs;
  return go?.what === "withdrawn" ? go.atMs : (accounting?.rows.at(-1)?.endAtMs ?? null);
}

function stateOfJob({ tasks }: OwnJob) {
  const states = tasks.map((task) => taskTimes(task).state);
  return (["running", "pending", "failed", "killed"] as const).find((state) => states.includes(state)) ?? "succeeded";
}

/** CPUs of an attempt of the job × 1000, as its newest allocation says; null: not told. */
export function millicoresOf({ tasks }: OwnJob): number | null {
  for (const { attempts } of tasks)
    for (const { records } of attempts.toReversed()) {
      const cpus = records.started?.allocation.cpus;
      if (typeof cpus === "number") return cpus * 1000;
    }
  return null;
}

async function spansOf(tasks: readonly OwnTask[], { asOfMs, integral }: SpanOptions): Promise<readonly SampleSpan[]> {
  const spans: { readonly span: SampleSpan; readonly path: string }[] = [];
  for (const task of tasks)
    for (const { folder, records } of task.attempts) {
      const path = `${folder}/samples.csv`;
      const builder = new SpanBuilder();
      for await (const line of sampleLines(path, asOfMs)) builder.add(line);
      const figures = builder.figures();
      if (figures === null) continue;
      const of = records.started?.nodes.length ?? 0;
      const hosts = of === 0 ? null : { sampled: 1, of };
      spans.push({ path, span: { ...figures, taskId: task.place.id, attempt: records.number, integral: null, hosts } });
    }
  if (!integral) return spans.map(({ span }) => span);
  // The second reading is made with what the first one has shown to be the usual interval.
  const holeMs = usualHoleMs(spans.map(({ span }) => span));
  return Promise.all(
    spans.map(async ({ span, path }) => ({ ...span, integral: await integralIn(path, asOfMs, holeMs) })),
  );
}

async function integralIn(path: string, asOfMs: AsOf["asOfMs"], holeMs: number) {
  const builder = new IntegralBuilder(holeMs);
  for await (const line of sampleLines(path, asOfMs)) builder.add(line);
  return builder.integral();
}
