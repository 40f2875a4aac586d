/** Ledger A (tasks) and ledger B (samples) of a job tree, and all that lies between them (design §6). */
import { compareText } from "./compare-text.ts";
import { type JobTree, jobOfTask } from "./leaves.ts";
import { spanMs, usualIntervalMs } from "./sample-span.ts";
import { isTerminal } from "./task-state.ts";
import { taskTimeline } from "./task-timeline.ts";
import type { AttemptTimes, SampleSpan, TaskTimes } from "./usage-rows.ts";
import { type CauseRecord, type Explanation, explanationOf, type TaskCause } from "./usage-terms.ts";

export interface LedgerOptions {
  /** Ledger A: tasks of every state with a start and an end, not only those that succeeded. */
  readonly includeFailed: boolean;
  /** Tasks of inner jobs, too. */
  readonly innerJobs: boolean;
  /** The number that the source gives to a task's first attempt. */
  readonly firstAttempt: number;
}

export interface UsageRows {
  readonly tree: JobTree;
  readonly tasks: readonly TaskTimes[];
  readonly attempts: readonly AttemptTimes[];
  readonly spans: readonly SampleSpan[];
}

/** Time that is left out on purpose: a person should know that it is there. */
export interface LeftOut {
  readonly tasks: number;
  readonly attempts: number;
  /** Σ (finished − started) of the tasks, and Σ sampled spans. */
  readonly tasksMs: bigint;
  readonly samplesMs: bigint;
}

export interface Ledgers {
  readonly tasks: {
    /** Tasks that count. */
    readonly tasks: number;
    readonly wallMs: bigint;
    /** Σ (finished − started) over the attempts of those tasks, each with both and an end after its start: without gaps. */
    readonly attempts: number;
    readonly attemptsWallMs: bigint;
  };
  readonly samples: {
    /** Tasks and attempts with at least one sample. */
    readonly tasks: number;
    readonly attempts: number;
    readonly samples: number;
    /** Σ (last − first), rounded to whole ms, half away from zero. */
    readonly wallMs: bigint;
    /** Σ span × mean, in seconds of CPU, as the seed computes it; attempts whose samples tell no CPU are not in it. */
    readonly cpuSec: number;
    readonly attemptsWithoutCpu: number;
    readonly oneSample: number;
    /** Attempts with a start that have no sample, of the tasks that count in A or are under way. */
    readonly noSamples: number;
  };
  readonly explanation: Explanation;
  readonly slack: SamplingSlack;
  /** Attempts whose samples lie outside of their record. */
  readonly clockOffsets: { readonly attempts: number; readonly largestMs: number };
  readonly leftOut: { readonly innerJobs: LeftOut; readonly holders: LeftOut; readonly unknownJobs: LeftOut };
}

export interface SamplingSlack {
  /** Mean interval between two samples; null: no attempt has two. */
  readonly intervalMs: number | null;
  /** The seed's estimate: one interval for each sampled attempt. */
  readonly estimateMs: number | null;
  /** What sampling really misses of the tasks in A: lead-in, tail, and attempts with one sample or none. */
  readonly trueMs: bigint;
}

export function ledgersOf(rows: UsageRows, options: LedgerOptions): Ledgers {
  const counted = countedJobs(rows.tree, options);
  const tasks = rows.tasks.filter(({ jobId }) => counted.has(jobId));
  const spans = rows.spans.filter(({ taskId }) => counted.has(jobOfTask(taskId)));
  const known = new Map(tasks.map((task) => [task.taskId, task]));
  const spansOf = groupBy(spans, ({ taskId }) => taskId);
  const attemptsOf = groupBy(
    rows.attempts.filter(({ taskId }) => known.has(taskId)),
    ({ taskId }) => taskId,
  );
  const inA = tasks.filter((task) => whyNotInA(task, options) === null);

  const records: CauseRecord[] = [];
  const offsets: number[] = [];
  for (const task of tasks) {
    const mine = { attempts: attemptsOf.get(task.taskId) ?? [], spans: spansOf.get(task.taskId) ?? [] };
    const cause = whyNotInA(task, options);
    if (cause !== null) records.push(...onlySampled(mine.spans, cause));
    else {
      const timeline = taskTimeline(withTimes(task), evidenceOf(mine.attempts, mine.spans), options.firstAttempt);
      records.push(...timeline.parts.map((part) => ({ ...part, taskId: task.taskId })));
      offsets.push(...timeline.offsets.map(({ offsetMs }) => offsetMs));
    }
  }
  records.push(
    ...onlySampled(
      spans.filter(({ taskId }) => !known.has(taskId)),
      "without-task",
    ),
  );

  const tasksMs = sumMs(inA.map((task) => spanOfTask(task)));
  const exactUs = spans.reduce((sum, span) => sum + BigInt(spanMs(span)) * 1000n + BigInt(span.remainderUs), 0n);
  const samplesMs = roundedMs(exactUs);
  records.push(...fractions(spans));
  const explanation = explanationOf(tasksMs, samplesMs, records);
  const ended = inA.flatMap(({ taskId }) => attemptsOf.get(taskId) ?? []).flatMap(attemptSpan);
  return {
    tasks: { tasks: inA.length, wallMs: tasksMs, attempts: ended.length, attemptsWallMs: sumMs(ended) },
    samples: {
      tasks: spansOf.size,
      attempts: spans.length,
      samples: spans.reduce((sum, { samples }) => sum + samples, 0),
      wallMs: samplesMs,
      cpuSec: cpuSecOf(spans),
      attemptsWithoutCpu: spans.filter(({ meanCpuMillicores }) => meanCpuMillicores === null).length,
      oneSample: spans.filter(({ samples }) => samples === 1).length,
      noSamples: unsampled(attemptsOf, spansOf),
    },
    explanation,
    slack: slackOf(spans, explanation),
    clockOffsets: { attempts: offsets.length, largestMs: offsets.reduce((most, ms) => Math.max(most, ms), 0) },
    leftOut: leftOutOf(rows, counted),
  };
}

/** Ids of the jobs whose tasks count. */
export function countedJobs(
  { leaves, inner }: JobTree,
  { innerJobs }: Pick<LedgerOptions, "innerJobs">,
): ReadonlySet<string> {
  return new Set(innerJobs ? [...leaves, ...inner] : leaves);
}

/** Null: it counts in ledger A. */
export function whyNotInA(task: TaskTimes, { includeFailed }: Pick<LedgerOptions, "includeFailed">): TaskCause | null {
  const { state, startedAtMs, finishedAtMs } = task;
  if (startedAtMs === null) return "without-start";
  if (finishedAtMs === null) return isTerminal(state) ? "without-end" : "in-flight";
  if (finishedAtMs <= startedAtMs) return "not-positive";
  return includeFailed || state === "succeeded" ? null : "filtered-state";
}

/** Seconds of CPU: Σ span × mean millicores, in the order of task and attempt, so that the order of the rows changes no digit. */
export function cpuSecOf(spans: readonly SampleSpan[]): number {
  const inOrder = [...spans].sort((a, b) => compareText(a.taskId, b.taskId) || a.attempt - b.attempt);
  return inOrder.reduce((sum, span) => sum + (spanSec(span) * (span.meanCpuMillicores ?? 0)) / 1000, 0);
}

/** Exact seconds from the first to the last sample. */
function spanSec(span: SampleSpan): number {
  return (spanMs(span) * 1000 + span.remainderUs) / 1_000_000;
}

function withTimes({ startedAtMs, finishedAtMs }: TaskTimes): { startedAtMs: number; finishedAtMs: number } {
  return { startedAtMs: startedAtMs ?? 0, finishedAtMs: finishedAtMs ?? 0 };
}

/** Of one that counts in ledger A. */
export function spanOfTask(task: TaskTimes): number {
  const { startedAtMs, finishedAtMs } = withTimes(task);
  return finishedAtMs - startedAtMs;
}

function attemptSpan({ startedAtMs, finishedAtMs }: AttemptTimes): number[] {
  return startedAtMs === null || finishedAtMs === null || finishedAtMs <= startedAtMs
    ? []
    : [finishedAtMs - startedAtMs];
}

export function sumMs(values: readonly number[]): bigint {
  return values.reduce((sum, ms) => sum + BigInt(ms), 0n);
}

function onlySampled(spans: readonly SampleSpan[], cause: TaskCause): CauseRecord[] {
  return spans.map((span) => ({ cause, taskId: span.taskId, attempt: span.attempt, ms: 0 - spanMs(span) }));
}

/** Records and samples of one task, joined by the attempt's number. */
function evidenceOf(attempts: readonly AttemptTimes[], spans: readonly SampleSpan[]) {
  const records = new Map(attempts.map((record) => [record.attempt, record]));
  const sampled = new Map(spans.map((span) => [span.attempt, span]));
  return [...new Set([...records.keys(), ...sampled.keys()])].map((attempt) => ({
    attempt,
    record: records.get(attempt) ?? null,
    span: sampled.get(attempt) ?? null,
  }));
}

/** Microseconds to whole milliseconds, half away from zero as SQL's `round`. */
function roundedMs(us: bigint): bigint {
  return us < 0n ? -roundedMs(-us) : (us + 500n) / 1000n;
}

/** What rounding B once to whole ms makes beyond the spans in whole ms: Σ of the remainders, rounded as B is. */
function fractions(spans: readonly SampleSpan[]): CauseRecord[] {
  const remainderUs = spans.reduce((sum, each) => sum + each.remainderUs, 0);
  const ms = Math.floor((remainderUs + 500) / 1000);
  return ms === 0 ? [] : [{ cause: "fractions", taskId: "", attempt: null, ms: -ms }];
}

function unsampled(
  attemptsOf: ReadonlyMap<string, readonly AttemptTimes[]>,
  spansOf: ReadonlyMap<string, readonly SampleSpan[]>,
): number {
  let count = 0;
  for (const [taskId, attempts] of attemptsOf) {
    const sampled = new Set((spansOf.get(taskId) ?? []).map(({ attempt }) => attempt));
    count += attempts.filter(({ startedAtMs, attempt }) => startedAtMs !== null && !sampled.has(attempt)).length;
  }
  return count;
}

function slackOf(spans: readonly SampleSpan[], { causes }: Explanation): SamplingSlack {
  const intervalMs = usualIntervalMs(spans);
  const missed = causes.filter(({ id }) => ["lead-in", "tail", "one-sample", "no-samples"].includes(id));
  return {
    intervalMs,
    estimateMs: intervalMs === null ? null : intervalMs * spans.length,
    trueMs: missed.reduce((sum, { ms }) => sum + ms, 0n),
  };
}

function leftOutOf({ tree, tasks, spans }: UsageRows, counted: ReadonlySet<string>): Ledgers["leftOut"] {
  const inner = new Set(tree.inner.filter((jobId) => !counted.has(jobId)));
  const holders = new Set(tree.holders);
  const sumOf = (concerned: (jobId: string) => boolean): LeftOut => {
    const mine = tasks.filter(({ jobId }) => concerned(jobId));
    const sampled = spans.filter(({ taskId }) => concerned(jobOfTask(taskId)));
    return {
      tasks: new Set([...mine, ...sampled].map(({ taskId }) => taskId)).size,
      attempts: sampled.length,
      tasksMs: sumMs(mine.map((task) => (whyNotInA(task, { includeFailed: true }) === null ? spanOfTask(task) : 0))),
      samplesMs: sumMs(sampled.map(spanMs)),
    };
  };
  return {
    innerJobs: sumOf((jobId) => inner.has(jobId)),
    holders: sumOf((jobId) => holders.has(jobId)),
    unknownJobs: sumOf((jobId) => !counted.has(jobId) && !inner.has(jobId) && !holders.has(jobId)),
  };
}

function groupBy<T>(rows: readonly T[], keyOf: (row: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row]);
    else group.push(row);
  }
  return groups;
}
