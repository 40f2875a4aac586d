/** What a job of ours used, as its user asks for it: ran, used CPU, allocated CPU, waited; each with the attempts that make it. */
import { accountTotals, type SampleSpan } from "../core/index.ts";
import type { OwnAttempt, OwnJob, OwnTask } from "./own-records.ts";
import { taskTimes } from "./sources/journal.ts";

/** What one attempt adds to a sum. */
export interface Share {
  readonly taskId: string;
  readonly attempt: number;
  readonly ms: number;
  /** Where it is read: `settled`, `exited`, `samples`, `accounting`, or what it is computed from. */
  readonly by: string;
}

/** A sum over attempts. `missing`: attempts that ran and tell nothing for it; with any of them the sum is a lower bound. */
export interface Sum {
  readonly ms: number;
  readonly isLowerBound: boolean;
  readonly from: readonly Share[];
  readonly missing: readonly { readonly taskId: string; readonly attempt: number }[];
}

export interface OwnUsage {
  readonly jobs: number;
  readonly tasks: number;
  /** Attempts whose application was allowed to start. */
  readonly attempts: number;
  /** Life of the applications. */
  readonly ran: Sum;
  /** User and system time of the attempts' processes. */
  readonly usedCpu: Sum;
  /** What was kept from others: elapsed time × CPUs of each attempt's allocation. */
  readonly allocatedCpu: Sum;
  /** Σ over tasks of (end or now) − submit − ran. */
  readonly waitedMs: number;
  /** Highest of one attempt; null: no attempt tells. */
  readonly memoryPeakBytes: number | null;
}

/** `spans`: of the same jobs, for attempts that are still under way. */
export function ownUsage(jobs: readonly OwnJob[], spans: readonly SampleSpan[], nowMs: number): OwnUsage {
  const sampled = new Map(spans.map((span) => [`${span.taskId}:${span.attempt}`, span]));
  const ran: Part[] = [];
  const used: Part[] = [];
  const allocated: Part[] = [];
  const peaks: number[] = [];
  let waitedMs = 0;
  let attempts = 0;
  for (const job of jobs)
    for (const task of job.tasks) {
      let taskRanMs = 0;
      for (const attempt of task.attempts) {
        if (attempt.records.go?.what !== "start") continue;
        attempts += 1;
        const of = { taskId: task.place.id, attempt: attempt.records.number };
        const span = sampled.get(`${of.taskId}:${of.attempt}`) ?? null;
        const mine = ranOf(attempt, span, nowMs);
        taskRanMs += mine?.ms ?? 0;
        ran.push({ of, told: mine });
        used.push({ of, told: usedOf(attempt, span) });
        allocated.push({ of, told: allocatedOf(attempt, mine) });
        peaks.push(...peakOf(attempt, span));
      }
      waitedMs += Math.max(0, endOf(task, nowMs) - (job.submittedAtMs ?? nowMs) - taskRanMs);
    }
  return {
    jobs: jobs.length,
    tasks: jobs.reduce((sum, { tasks }) => sum + tasks.length, 0),
    attempts,
    ran: sumOf(ran),
    usedCpu: sumOf(used),
    allocatedCpu: sumOf(allocated),
    waitedMs,
    memoryPeakBytes: peaks.length === 0 ? null : Math.max(...peaks),
  };
}

interface Told {
  readonly ms: number;
  readonly by: string;
  readonly isLowerBound: boolean;
}

interface Part {
  readonly of: { readonly taskId: string; readonly attempt: number };
  readonly told: Told | null;
}

function sumOf(parts: readonly Part[]): Sum {
  return {
    ms: parts.reduce((sum, { told }) => sum + (told?.ms ?? 0), 0),
    isLowerBound: parts.some(({ told }) => told === null || told.isLowerBound),
    from: parts.flatMap(({ of, told }) => (told === null ? [] : [{ ...of, ms: told.ms, by: told.by }])),
    missing: parts.flatMap(({ of, told }) => (told === null ? [of] : [])),
  };
}

function ranOf({ records }: OwnAttempt, span: SampleSpan | null, nowMs: number): Told | null {
  const { exited, settled, go } = records;
  const evidence = settled?.evidence ?? null;
  if (evidence !== null && evidence.ranMs !== null)
    return { ms: evidence.ranMs, by: "settled", isLowerBound: evidence.ranIsLowerBound === true };
  if (exited !== null && exited.ranMs !== null) return { ms: exited.ranMs, by: "exited", isLowerBound: false };
  if (settled === null && go !== null && exited === null)
    return { ms: Math.max(0, nowMs - go.atMs), by: "go until now", isLowerBound: false };
  return span === null ? null : { ms: span.lastAtMs - span.firstAtMs, by: "samples", isLowerBound: true };
}

function usedOf({ records, accounting }: OwnAttempt, span: SampleSpan | null): Told | null {
  const { exited, settled } = records;
  const told = settled?.evidence ?? exited;
  if (told !== null && told.cpuUserMs !== null && told.cpuSystemMs !== null)
    return { ms: told.cpuUserMs + told.cpuSystemMs, by: settled === null ? "exited" : "settled", isLowerBound: false };
  const counted = span?.integral?.counterCpuMs ?? null;
  if (counted !== null) return { ms: counted, by: "samples", isLowerBound: true };
  const accounted = accounting === null ? null : accountTotals(accounting).cpuTotalMs;
  return accounted === null ? null : { ms: accounted, by: "accounting", isLowerBound: true };
}

function allocatedOf({ records, accounting }: OwnAttempt, ran: Told | null): Told | null {
  const accounted = accounting === null ? null : accountTotals(accounting).allocatedCpuMs;
  if (accounted !== null) return { ms: accounted, by: "accounting", isLowerBound: false };
  const cpus = records.started?.allocation.cpus;
  if (ran === null || typeof cpus !== "number") return null;
  return { ms: ran.ms * cpus, by: `ran x ${cpus} CPUs`, isLowerBound: true };
}

function peakOf({ records }: OwnAttempt, span: SampleSpan | null): number[] {
  const told = records.settled?.evidence.memoryPeakBytes ?? records.exited?.memoryPeakBytes ?? span?.memoryPeakBytes;
  return told === null || told === undefined ? [] : [told];
}

/** When nothing of it ran or waited any more; now: it still does. */
function endOf(task: OwnTask, nowMs: number): number {
  const decision = task.decision?.kind;
  if (decision !== "finish" && decision !== "stop") return nowMs;
  return taskTimes(task).finishedAtMs ?? task.settled?.atMs ?? nowMs;
}
