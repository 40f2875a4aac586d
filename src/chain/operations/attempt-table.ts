/** All attempts of a job as rows, from their records alone. */
import {
  type Accounting,
  type AccountTotals,
  type AttemptRecords,
  accountConflicts,
  accountTotals,
  type Decision,
  type Progress,
  type Proof,
  progressValue,
  type Ref,
  refOf,
  type Saving,
  type Verdict,
  type WithdrawReason,
  windowEndOf,
} from "../../core/index.ts";
import { attemptNumbers, attemptPlace, type JobPlace, readAccounting, readAttempt } from "../../journal/index.ts";
import { taskOrFirst } from "./job-on-file.ts";
import type { Project } from "./project.ts";

/** What the scheduler itself has counted for the whole job of the attempt, the runner included. */
export interface AttemptAccount extends AccountTotals {
  readonly gatheredAtMs: number;
  /** Where it is at odds with the settlement; that stands all the same. */
  readonly conflicts: readonly string[];
}

export interface AttemptRow {
  readonly number: number;
  readonly folder: string;
  /** Null: not settled yet. */
  readonly verdict: Verdict | null;
  readonly decision: Decision["kind"] | null;
  readonly why: string | null;
  readonly proof: Proof | null;
  /** Why it never ran; null: it did, or may yet. */
  readonly withdrawn: WithdrawReason | null;
  readonly claimedAtMs: number | null;
  readonly submittedAtMs: number | null;
  /** When its application was allowed to start. */
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  /** Life of the application on the host's monotonic clock; null: not known (yet). */
  readonly ranMs: number | null;
  /** It ran at least so long: that is its last sample, and nobody could testify when it ended. */
  readonly ranIsLowerBound: boolean;
  readonly progressBefore: number | null;
  readonly progressAfter: Progress | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Why its application could not be started at all, in the system's words; null: it could. */
  readonly spawnError: string | null;
  readonly cpuUserMs: number | null;
  readonly cpuSystemMs: number | null;
  readonly memoryPeakBytes: number | null;
  /** A sampled peak is a lower bound. */
  readonly memoryPeakIsLowerBound: boolean;
  readonly windowEndAtMs: number | null;
  /** The margin in force; null: it was not let through its gate. */
  readonly marginMs: number | null;
  /** How long it took to end after our TERM, or was given before KILL (`killed`); null: no TERM asked it to. */
  readonly saving: Saving | null;
  readonly ref: Ref | null;
  readonly nodes: readonly string[];
  /** What the settlement found at odds. */
  readonly conflicts: readonly string[];
  /** Null: not on file (yet). */
  readonly accounting: AttemptAccount | null;
}

/**
 * Rows by number, ascending, from attempt `from` on (default: all), of the task with that index (null: the job's only or first).
 * Throws JournalError where a record cannot be used.
 */
export async function attemptTable(
  project: Project,
  place: JobPlace,
  from = 1,
  index: number | null = null,
): Promise<readonly AttemptRow[]> {
  const task = await taskOrFirst(project.folder, place, index);
  const rows: AttemptRow[] = [];
  for (const number of await attemptNumbers(project.folder, task)) {
    if (number < from) continue;
    const attempt = attemptPlace(task, number);
    const accounting = await readAccounting(project.folder, attempt);
    rows.push(rowOf(await readAttempt(project.folder, attempt), attempt.folder, accounting));
  }
  return rows;
}

function rowOf(attempt: AttemptRecords, folder: string, accounting: Accounting | null): AttemptRow {
  const { claim, submitted, started, go, exited, settled } = attempt;
  const start = go?.what === "start" ? go : null;
  const evidence = settled?.evidence ?? null;
  return {
    number: attempt.number,
    folder,
    verdict: settled?.verdict ?? null,
    decision: settled?.decision.kind ?? null,
    why: evidence?.why ?? withdrawnWhy(go),
    proof: evidence?.proof ?? null,
    withdrawn: go?.what === "withdrawn" ? go.reason : null,
    claimedAtMs: claim?.atMs ?? null,
    submittedAtMs: submitted?.atMs ?? null,
    startedAtMs: start === null ? null : (exited?.startedAtMs ?? start.atMs),
    endedAtMs: start === null ? null : (evidence?.endedAtMs ?? exited?.atMs ?? null),
    ranMs: start === null ? null : (evidence?.ranMs ?? exited?.ranMs ?? null),
    ranIsLowerBound: evidence?.ranIsLowerBound === true,
    progressBefore: start === null ? null : progressValue(start.progressBefore),
    progressAfter: start === null ? null : (evidence?.progress ?? exited?.progressAfter ?? null),
    exitCode: evidence?.exitCode ?? exited?.exitCode ?? null,
    signal: evidence?.signal ?? exited?.signal ?? null,
    spawnError: exited?.spawnError ?? null,
    cpuUserMs: evidence?.cpuUserMs ?? exited?.cpuUserMs ?? null,
    cpuSystemMs: evidence?.cpuSystemMs ?? exited?.cpuSystemMs ?? null,
    memoryPeakBytes: evidence?.memoryPeakBytes ?? exited?.memoryPeakBytes ?? null,
    memoryPeakIsLowerBound: exited?.memoryPeakIsLowerBound ?? true,
    windowEndAtMs: windowEndOf(attempt),
    marginMs: start?.marginMs ?? null,
    saving: exited?.saving ?? null,
    ref: refOf(attempt),
    nodes: started?.nodes ?? [],
    conflicts: evidence?.conflicts ?? [],
    accounting: accounting === null ? null : accountOf(attempt, accounting),
  };
}

function accountOf(attempt: AttemptRecords, accounting: Accounting): AttemptAccount {
  const { gatheredAtMs } = accounting;
  return { gatheredAtMs, ...accountTotals(accounting), conflicts: accountConflicts(attempt, accounting) };
}

/** A withdrawal speaks for itself until it is settled. */
function withdrawnWhy(go: AttemptRecords["go"]): string | null {
  if (go?.what !== "withdrawn") return null;
  return go.note === null ? go.reason : `${go.reason}: ${go.note}`;
}
