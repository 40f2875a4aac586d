/** What a scheduler's account of an attempt adds up to, and where it is at odds with the settlement. Changes nothing. */
import type { Accounting, AccountRow, AttemptRecords, Settled, Verdict } from "./records.ts";
import { formatDuration } from "./time.ts";

/** All runs of an attempt together. Null: not told for at least one of them, or (CPU, memory) for none. */
export interface AccountTotals {
  /** Runs of its job; more than one after a requeue. */
  readonly runs: number;
  /** Of the last run. */
  readonly state: string | null;
  readonly elapsedMs: number | null;
  /** Elapsed time × allocated CPUs, summed over the runs. */
  readonly allocatedCpuMs: number | null;
  readonly cpuTotalMs: number | null;
  readonly cpuUserMs: number | null;
  readonly cpuSystemMs: number | null;
  /** Some run or step has not told its CPU time. */
  readonly cpuIsLowerBound: boolean;
  readonly memoryPeakBytes: number | null;
  readonly memoryPeakIsLowerBound: boolean;
}

export function accountTotals({ rows }: Accounting): AccountTotals {
  const peaks = rows.flatMap(({ memoryPeakBytes }) => memoryPeakBytes ?? []);
  return {
    runs: rows.length,
    state: rows.at(-1)?.state ?? null,
    elapsedMs: sumOfAll(rows.map(({ elapsedMs }) => elapsedMs)),
    allocatedCpuMs: sumOfAll(rows.map(allocatedCpuMs)),
    cpuTotalMs: sumOfKnown(rows.map(({ cpuTotalMs }) => cpuTotalMs)),
    cpuUserMs: sumOfKnown(rows.map(({ cpuUserMs }) => cpuUserMs)),
    cpuSystemMs: sumOfKnown(rows.map(({ cpuSystemMs }) => cpuSystemMs)),
    cpuIsLowerBound: rows.some((row) => row.cpuIsLowerBound || (row.cpuTotalMs === null && hasRun(row))),
    memoryPeakBytes: peaks.length === 0 ? null : Math.max(...peaks),
    memoryPeakIsLowerBound: rows.some((row) => row.memoryPeakIsLowerBound),
  };
}

/**
 * What the account says otherwise than the settlement, one line each, for a person; empty: nothing, or not settled. The account
 * holds the whole job, the attempt's records only what its body saw: differences that this explains are none.
 */
export function accountConflicts(attempt: AttemptRecords, accounting: Accounting): readonly string[] {
  const { settled } = attempt;
  const row = rowOfBody(attempt, accounting);
  if (settled === null || row === null) return [];
  return [stateConflict(settled, row), memoryConflict(settled, row), ...elapsedConflicts(attempt, row)].filter(
    (line) => line !== null,
  );
}

/** The run that the body was in; without a body, or where that run is not on file, the last one. */
function rowOfBody({ started }: AttemptRecords, { rows }: Accounting): AccountRow | null {
  const own = rows.find((row) => row.ref === started?.ref && row.run === started.restartCount);
  return own ?? rows.at(-1) ?? null;
}

function stateConflict({ verdict, evidence }: Settled, { state }: AccountRow): string | null {
  if (state === evidence.state) return null;
  if (evidence.state !== null && !OURS.has(evidence.state))
    return `accounting says ${state}, the attempt was settled as ${evidence.state} (${verdict})`;
  const expected = EXPECTED[verdict];
  if (expected === null || expected.includes(state)) return null;
  return `accounting says ${state}, the attempt was settled as ${verdict}`;
}

/** States that no scheduler has said: our own words for what we saw. */
const OURS: ReadonlySet<string> = new Set(["LOST", "REBOOTED", "REQUEUED"]);

/** The job's state is its runner's, which leaves with 0 when it has testified. Null: any state goes with it. */
const EXPECTED: Readonly<Record<Verdict, readonly string[] | null>> = {
  completed: ["COMPLETED"],
  checkpointed: ["COMPLETED"],
  "window-ended": ["COMPLETED", "TIMEOUT"],
  stalled: ["COMPLETED", "TIMEOUT"],
  preempted: ["PREEMPTED", "REVOKED", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESIZING"],
  "node-failed": null,
  "out-of-memory": ["OUT_OF_MEMORY"],
  failed: ["COMPLETED", "FAILED"],
  cancelled: ["COMPLETED", "CANCELLED", "DEADLINE"],
  "never-ran": null,
};

/** Memory that ran out in a step of srun's leaves no trace in the job's own state. */
function memoryConflict({ verdict }: Settled, { state, steps }: AccountRow): string | null {
  const step = steps.find((one) => one.state === "OUT_OF_MEMORY");
  if (step === undefined || state === "OUT_OF_MEMORY" || verdict === "out-of-memory") return null;
  return `accounting says OUT_OF_MEMORY of step ${step.step}, the attempt was settled as ${verdict}`;
}

/** Accounting counts whole seconds by other clocks. */
const SHORTER_MS = 5_000;
/** Before its body begins a job has its node's start, and after the testimony up to a minute to hand over. */
const LONGER_MS = 120_000;

function elapsedConflicts({ started, exited }: AttemptRecords, row: AccountRow): readonly string[] {
  if (row.elapsedMs === null || exited === null) return [];
  const accountedMs = row.elapsedMs + (row.suspendedMs ?? 0);
  const { ranMs } = exited;
  if (ranMs !== null && accountedMs + SHORTER_MS < ranMs)
    return [`accounting counts ${formatDuration(accountedMs)}, the application alone ran ${formatDuration(ranMs)}`];
  if (started === null) return [];
  const recordedMs = Math.max(0, exited.atMs - started.atMs, ranMs ?? 0);
  if (accountedMs - LONGER_MS <= recordedMs) return [];
  return [`accounting counts ${formatDuration(accountedMs)}, the attempt recorded ${formatDuration(recordedMs)}`];
}

function hasRun({ startAtMs, elapsedMs }: AccountRow): boolean {
  return startAtMs !== null && elapsedMs !== 0;
}

function allocatedCpuMs({ elapsedMs, allocatedCpus }: AccountRow): number | null {
  if (elapsedMs === 0) return 0;
  return elapsedMs === null || allocatedCpus === null ? null : elapsedMs * allocatedCpus;
}

function sumOfAll(values: readonly (number | null)[]): number | null {
  return values.includes(null) ? null : sumOfKnown(values);
}

function sumOfKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}
