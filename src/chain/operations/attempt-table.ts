/** All attempts of a job as rows, from their records alone. */
import {
  type AttemptRecords,
  type Decision,
  type Progress,
  type Proof,
  progressValue,
  type Ref,
  refOf,
  type Verdict,
  type WithdrawReason,
} from "../../core/index.ts";
import { attemptNumbers, attemptPlace, type JobPlace, readAttempt, taskPlace } from "../../journal/index.ts";
import type { Project } from "./project.ts";

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
  readonly ref: Ref | null;
  readonly nodes: readonly string[];
  /** What the settlement found at odds. */
  readonly conflicts: readonly string[];
}

/** Rows by number, ascending, from attempt `from` on (default: all). Throws JournalError where a record cannot be used. */
export async function attemptTable(project: Project, place: JobPlace, from = 1): Promise<readonly AttemptRow[]> {
  const task = taskPlace(place, 0);
  const rows: AttemptRow[] = [];
  for (const number of await attemptNumbers(project.folder, task)) {
    if (number < from) continue;
    const attempt = attemptPlace(task, number);
    rows.push(rowOf(await readAttempt(project.folder, attempt), attempt.folder));
  }
  return rows;
}

function rowOf(attempt: AttemptRecords, folder: string): AttemptRow {
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
    progressBefore: start === null ? null : progressValue(start.progressBefore),
    progressAfter: start === null ? null : (evidence?.progress ?? exited?.progressAfter ?? null),
    exitCode: evidence?.exitCode ?? exited?.exitCode ?? null,
    signal: evidence?.signal ?? exited?.signal ?? null,
    spawnError: exited?.spawnError ?? null,
    cpuUserMs: evidence?.cpuUserMs ?? exited?.cpuUserMs ?? null,
    cpuSystemMs: evidence?.cpuSystemMs ?? exited?.cpuSystemMs ?? null,
    memoryPeakBytes: evidence?.memoryPeakBytes ?? exited?.memoryPeakBytes ?? null,
    memoryPeakIsLowerBound: exited?.memoryPeakIsLowerBound ?? true,
    windowEndAtMs: started?.windowEndAtMs ?? null,
    ref: refOf(attempt),
    nodes: started?.nodes ?? [],
    conflicts: evidence?.conflicts ?? [],
  };
}

/** A withdrawal speaks for itself until it is settled. */
function withdrawnWhy(go: AttemptRecords["go"]): string | null {
  if (go?.what !== "withdrawn") return null;
  return go.note === null ? go.reason : `${go.reason}: ${go.note}`;
}
