/** A row of the table of attempts for tests: attempt 2, claimed and queued, with `changes` laid over it. */
import type { AttemptRow } from "../../src/chain/index.ts";

export function attemptRow(changes: Partial<AttemptRow> = {}): AttemptRow {
  return { ...QUEUED, ...changes };
}

const QUEUED: AttemptRow = {
  number: 2,
  folder: "/p",
  verdict: null,
  decision: null,
  why: null,
  proof: null,
  withdrawn: null,
  claimedAtMs: 1,
  submittedAtMs: 2,
  startedAtMs: null,
  endedAtMs: null,
  ranMs: null,
  ranIsLowerBound: false,
  progressBefore: null,
  progressAfter: null,
  exitCode: null,
  signal: null,
  spawnError: null,
  cpuUserMs: null,
  cpuSystemMs: null,
  memoryPeakBytes: null,
  memoryPeakIsLowerBound: true,
  windowEndAtMs: null,
  marginMs: null,
  saving: null,
  ref: null,
  nodes: [],
  conflicts: [],
  accounting: null,
};
