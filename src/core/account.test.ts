import { describe, expect, it } from "vitest";
import { accountConflicts, accountTotals } from "./account.ts";
import type { Accounting, AccountRow, AttemptRecords, Evidence, Exited, Settled, Started, Verdict } from "./records.ts";

const REF = "slurm/c/7";
const ROW: AccountRow = {
  ref: REF,
  run: 0,
  state: "COMPLETED",
  cancelledByUid: null,
  exitCode: 0,
  signal: null,
  submitAtMs: 0,
  eligibleAtMs: 0,
  startAtMs: 1_000,
  endAtMs: 31_000,
  elapsedMs: 30_000,
  suspendedMs: 0,
  allocatedCpus: 4,
  allocated: "cpu=4",
  cpuTotalMs: 3_000,
  cpuUserMs: 2_000,
  cpuSystemMs: 1_000,
  cpuIsLowerBound: false,
  memoryPeakBytes: 5_000_000,
  memoryPeakIsLowerBound: true,
  requestedMemoryBytes: null,
  requestedMemoryPer: null,
  nodes: ["n1"],
  partition: "main",
  account: "lab",
  steps: [],
  raw: null,
};
const account = (...rows: readonly Partial<AccountRow>[]): Accounting => ({
  version: 1,
  scheduler: "slurm",
  gatheredAtMs: 99_000,
  final: true,
  rows: rows.map((row, run) => ({ ...ROW, run, ...row })),
});

describe("the totals of an account", () => {
  it("sum all runs of a requeued job, and take the highest peak", () => {
    expect(
      accountTotals(account({ state: "PREEMPTED", elapsedMs: 6_000, memoryPeakBytes: 9_000_000 }, { cpuTotalMs: 500 })),
    ).toEqual({
      runs: 2,
      state: "COMPLETED",
      elapsedMs: 36_000,
      allocatedCpuMs: 144_000,
      cpuTotalMs: 3_500,
      cpuUserMs: 4_000,
      cpuSystemMs: 2_000,
      cpuIsLowerBound: false,
      memoryPeakBytes: 9_000_000,
      memoryPeakIsLowerBound: true,
    });
  });

  it("never take what was not told for 0", () => {
    const untold = { cpuTotalMs: null, cpuUserMs: null, cpuSystemMs: null, memoryPeakBytes: null };
    expect(accountTotals(account(untold))).toMatchObject({
      cpuTotalMs: null,
      cpuUserMs: null,
      memoryPeakBytes: null,
      cpuIsLowerBound: true,
    });
    expect(accountTotals(account(untold, {}))).toMatchObject({ cpuTotalMs: 3_000, cpuIsLowerBound: true });
    expect(accountTotals(account({ elapsedMs: null }, {}))).toMatchObject({ elapsedMs: null, allocatedCpuMs: null });
    expect(accountTotals(account({ allocatedCpus: null }))).toMatchObject({ elapsedMs: 30_000, allocatedCpuMs: null });
  });

  it("are complete of a job that never got a node: nothing ran", () => {
    const nothing = {
      startAtMs: null,
      elapsedMs: 0,
      allocatedCpus: null,
      cpuTotalMs: null,
      cpuUserMs: null,
      cpuSystemMs: null,
    };
    expect(accountTotals(account(nothing))).toMatchObject({
      elapsedMs: 0,
      allocatedCpuMs: 0,
      cpuTotalMs: null,
      cpuIsLowerBound: false,
    });
  });
});

describe("conflicts of an account with the settlement", () => {
  function attempt(
    verdict: Verdict,
    {
      state = null,
      ranMs = 25_000,
      restartCount = 0,
    }: { state?: string | null; ranMs?: number | null; restartCount?: number } = {},
  ): AttemptRecords {
    return {
      number: 3,
      claim: null,
      submitted: null,
      started: { ref: REF, restartCount, atMs: 1_000 } as Started,
      go: null,
      exited: { ranMs, atMs: 30_000 } as Exited,
      settled: { verdict, evidence: { state } as Evidence } as Settled,
    };
  }

  it.each<[Verdict, string | null, string, boolean]>([
    ["completed", null, "COMPLETED", false],
    ["checkpointed", null, "COMPLETED", false],
    ["checkpointed", null, "TIMEOUT", true],
    ["window-ended", null, "TIMEOUT", false],
    ["window-ended", "TIMEOUT", "TIMEOUT", false],
    ["window-ended", "TIMEOUT", "CANCELLED", true],
    ["failed", null, "COMPLETED", false],
    ["failed", null, "NODE_FAIL", true],
    ["cancelled", null, "CANCELLED", false],
    ["cancelled", "FAILED", "FAILED", false],
    ["preempted", "REQUEUED", "PREEMPTED", false],
    ["preempted", "PREEMPTED", "CANCELLED", true],
    ["node-failed", "LOST", "COMPLETED", false],
    ["node-failed", "NODE_FAIL", "COMPLETED", true],
    ["out-of-memory", "OUT_OF_MEMORY", "OUT_OF_MEMORY", false],
    ["never-ran", null, "CANCELLED", false],
  ])("%s, settled with state %s, accounted as %s: %s", (verdict, state, accounted, conflict) => {
    const found = accountConflicts(attempt(verdict, { state }), account({ state: accounted }));
    expect(found).toHaveLength(conflict ? 1 : 0);
    if (conflict) expect(found[0]).toContain(`accounting says ${accounted}, the attempt was settled as`);
  });

  it("name memory that ran out in a step alone", () => {
    const steps = [{ ...ROW, step: "0", state: "OUT_OF_MEMORY" }];
    expect(accountConflicts(attempt("failed"), account({ steps }))).toEqual([
      "accounting says OUT_OF_MEMORY of step 0, the attempt was settled as failed",
    ]);
    expect(accountConflicts(attempt("out-of-memory"), account({ steps, state: "OUT_OF_MEMORY" }))).toEqual([]);
  });

  it("name a job that was shorter than its application, or longer than its body can have stayed", () => {
    const counted = (elapsedMs: number, suspendedMs = 0) =>
      accountConflicts(attempt("completed"), account({ elapsedMs, suspendedMs }));
    expect(counted(20_000)).toEqual([]);
    expect(counted(19_000)).toEqual(["accounting counts 19s, the application alone ran 25s"]);
    // Slurm's elapsed time stands still while the job is suspended, our clock does not.
    expect(counted(10_000, 15_000)).toEqual([]);
    expect(counted(149_000)).toEqual([]);
    expect(counted(150_000)).toEqual(["accounting counts 2m30s, the attempt recorded 29s"]);
  });

  it("look at the run that the body was in", () => {
    const rows = [
      { state: "PREEMPTED", elapsedMs: 26_000 },
      { state: "COMPLETED", elapsedMs: 1_000 },
    ] as const;
    expect(accountConflicts(attempt("preempted"), account(...rows))).toEqual([]);
    expect(accountConflicts(attempt("preempted", { restartCount: 1 }), account(...rows))).toHaveLength(2);
  });

  it("are none before the settlement, and without rows", () => {
    expect(accountConflicts({ ...attempt("failed"), settled: null }, account({ state: "TIMEOUT" }))).toEqual([]);
    expect(accountConflicts(attempt("failed"), account())).toEqual([]);
  });
});
