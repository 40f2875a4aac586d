/** Both ledgers cut by leaf job or by user. */
import { compareText } from "./compare-text.ts";
import { jobOfTask } from "./leaves.ts";
import { countedJobs, cpuSecOf, type LedgerOptions, spanOfTask, sumMs, type UsageRows, whyNotInA } from "./ledgers.ts";
import { spanMs } from "./sample-span.ts";
import type { TaskState } from "./task-state.ts";
import type { SampleSpan, TaskTimes } from "./usage-rows.ts";

export interface UsageGroup {
  /** A job's id, or a user's name. */
  readonly key: string;
  /** Of the job; of a user null. */
  readonly state: TaskState | null;
  readonly tasks: number;
  /** Ledger B: sampled attempts, Σ (last − first), Σ span × mean. */
  readonly attempts: number;
  readonly samplesWallMs: bigint;
  readonly cpuSec: number;
  /** CPU seconds by sampled second; null: nothing was sampled. */
  readonly meanCores: number | null;
  /** Ledger A. */
  readonly tasksWallMs: bigint;
  readonly memoryPeakBytes: number | null;
}

/** Largest sampled time first. Samples of a task that is on no record count for the job that its id names. */
export function usageGroups(rows: UsageRows, options: LedgerOptions, by: "leaf" | "user"): readonly UsageGroup[] {
  const counted = countedJobs(rows.tree, options);
  const jobs = new Map(rows.tree.jobs.map((job) => [job.jobId, job]));
  const keyOf = (jobId: string): string =>
    by === "leaf" ? jobId : (jobs.get(jobId)?.user ?? jobId.split("/")[1] ?? "");
  const groups = new Map<string, { tasks: TaskTimes[]; spans: SampleSpan[] }>();
  const groupOf = (jobId: string) => {
    const key = keyOf(jobId);
    const group = groups.get(key) ?? { tasks: [], spans: [] };
    groups.set(key, group);
    return group;
  };
  for (const jobId of counted) groupOf(jobId);
  for (const task of rows.tasks) if (counted.has(task.jobId)) groupOf(task.jobId).tasks.push(task);
  for (const span of rows.spans) {
    const jobId = jobOfTask(span.taskId);
    if (counted.has(jobId)) groupOf(jobId).spans.push(span);
  }
  return [...groups]
    .map(([key, { tasks, spans }]) => ({
      ...totals(tasks, spans, options),
      key,
      state: by === "leaf" ? (jobs.get(key)?.state ?? null) : null,
    }))
    .sort((a, b) => compareBig(b.samplesWallMs, a.samplesWallMs) || compareText(a.key, b.key));
}

function totals(tasks: readonly TaskTimes[], spans: readonly SampleSpan[], options: LedgerOptions) {
  const samplesWallMs = sumMs(spans.map(spanMs));
  const cpuSec = cpuSecOf(spans);
  const peaks = spans.flatMap(({ memoryPeakBytes }) => memoryPeakBytes ?? []);
  return {
    tasks: new Set([...tasks, ...spans].map(({ taskId }) => taskId)).size,
    attempts: spans.length,
    samplesWallMs,
    cpuSec,
    meanCores: samplesWallMs > 0n ? (cpuSec * 1000) / Number(samplesWallMs) : null,
    tasksWallMs: sumMs(tasks.filter((task) => whyNotInA(task, options) === null).map(spanOfTask)),
    memoryPeakBytes: peaks.length === 0 ? null : peaks.reduce((most, bytes) => Math.max(most, bytes), 0),
  };
}

function compareBig(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}
