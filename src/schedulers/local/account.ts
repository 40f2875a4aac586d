/** The account of a local attempt: its shepherd's last word, `local.json`. */
import { constants } from "node:os";
import type { AccountRow, Ref } from "../../core/index.ts";
import { aliveHere, type Folder, sameMachine, thisMachine } from "../../host/index.ts";
import type { AccountAnswer } from "../scheduler.ts";
import type { LocalAttempt } from "./local-scheduler.ts";
import { type LocalRecord, readLocalRecord } from "./record.ts";

interface Where {
  readonly folder: Folder;
  attemptOf(ref: Ref): Promise<Pick<LocalAttempt, "folder"> | null>;
}

/** Every ref is in the answer. One after the other: who asks in the background must not take all of the thread pool. */
export async function accountAttempts(where: Where, refs: readonly Ref[]): Promise<ReadonlyMap<Ref, AccountAnswer>> {
  const answers = new Map<Ref, AccountAnswer>();
  for (const ref of refs) {
    try {
      answers.set(ref, await accountOf(where, ref));
    } catch (error) {
      answers.set(ref, { kind: "unreachable", error: error instanceof Error ? error.message : String(error) });
    }
  }
  return answers;
}

async function accountOf({ folder, attemptOf }: Where, ref: Ref): Promise<AccountAnswer> {
  const attempt = await attemptOf(ref);
  if (attempt === null) return { kind: "none", why: "no attempt of this job has that shepherd" };
  const record = await readLocalRecord(folder, attempt.folder);
  if (record === null) return { kind: "none", why: "its shepherd has written nothing" };
  // Two shepherds may carry one attempt, and one of them alone writes.
  if (record.ref !== ref) return { kind: "none", why: "its shepherd left the attempt to another one" };
  if (record.phase === "over") return { kind: "final", rows: [rowOf(record)] };
  if (!sameMachine(record.shepherd, thisMachine()))
    return { kind: "pending", why: `its shepherd on host ${record.shepherd.host} has not said its last word` };
  if (aliveHere(record.shepherd) === "alive") return { kind: "pending", why: "its shepherd is still at it" };
  // It may have said its last word between our two looks.
  const last = await readLocalRecord(folder, attempt.folder);
  if (last?.phase === "over" && last.ref === ref) return { kind: "final", rows: [rowOf(last)] };
  return { kind: "none", why: "its shepherd died without a last word" };
}

function rowOf(record: LocalRecord): AccountRow {
  const { cpuUserMs, cpuSystemMs } = record;
  return {
    ref: record.ref,
    run: 0,
    state: record.state ?? "FAILED",
    cancelledByUid: null,
    exitCode: record.exitCode,
    signal: record.signal === null ? null : (constants.signals[record.signal as NodeJS.Signals] ?? null),
    submitAtMs: record.submittedAtMs,
    eligibleAtMs: null,
    startAtMs: record.startedAtMs,
    endAtMs: record.endedAtMs,
    elapsedMs: record.elapsedMs,
    suspendedMs: null,
    // Nothing is set apart for a local attempt.
    allocatedCpus: null,
    allocated: null,
    cpuTotalMs: cpuUserMs === null || cpuSystemMs === null ? null : cpuUserMs + cpuSystemMs,
    cpuUserMs,
    cpuSystemMs,
    cpuIsLowerBound: false,
    memoryPeakBytes: record.memoryPeakBytes,
    memoryPeakIsLowerBound: record.memoryPeakIsLowerBound,
    requestedMemoryBytes: null,
    requestedMemoryPer: null,
    nodes: [record.shepherd.host],
    partition: null,
    account: null,
    steps: [],
    raw: null,
  };
}
