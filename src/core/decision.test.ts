import { describe, expect, test } from "vitest";
import { afterResume, backoffMs, decide, decideNeverRan, EMPTY_CARRY, spend } from "./decision.ts";
import type { Progress } from "./progress.ts";
import type { Carry, Decision, Policy, Verdict, WithdrawReason } from "./records.ts";

const policy: Policy = {
  total: null,
  savedExitCodes: [99, 124],
  checkpointConfigured: true,
  budgets: {
    failures: 3,
    stalled: 2,
    preemptions: 4,
    infrastructure: 5,
    neverRan: 5,
    inARow: 20,
    attempts: 1000,
    wallMs: 1e12,
  },
  backoffFirstMs: 10_000,
  backoffMaxMs: 600_000,
  limitMs: null,
  marginMs: 60_000,
  allocationEndAtMs: null,
  ownerUid: 1000,
};
const same: Progress = { state: "not-above", value: 5 };

/** Attempts until the chain is held, each ending with the same verdict and progress. */
function attemptsUntilHold(verdict: Verdict, progress: (n: number) => Progress, start: Carry = EMPTY_CARRY): number {
  let carry = start;
  for (let n = 1; n <= 2000; n++) {
    const now = progress(n);
    carry = spend(carry, {
      verdict,
      progress: now,
      ranMs: 1000,
      ranIsLowerBound: false,
      cpuUserMs: 1,
      cpuSystemMs: 1,
      saving: null,
    });
    const decision = decide({
      verdict,
      why: verdict,
      course: null,
      carry,
      progress: now,
      policy,
      stop: null,
      nowMs: 0,
    });
    if (decision.kind === "hold") return n;
    if (decision.kind !== "continue" && decision.kind !== "retry") throw new Error(decision.kind);
  }
  return Number.POSITIVE_INFINITY;
}

describe("endless loops end", () => {
  test.each<[Verdict, number]>([
    ["checkpointed", 20],
    ["window-ended", 20],
    ["stalled", 2],
    ["preempted", 4],
    ["node-failed", 5],
    ["failed", 1],
    ["out-of-memory", 1],
  ])("%s without new progress is held after %i attempts", (verdict, attempts) => {
    expect(attemptsUntilHold(verdict, () => same)).toBe(attempts);
  });

  test("failures start anew at each new high-water mark, and only three in a row without one are allowed", () => {
    const begun = { ...EMPTY_CARRY, attempts: 1, highWater: 5 };
    expect(attemptsUntilHold("failed", () => same, begun)).toBe(3);
    expect(attemptsUntilHold("failed", (n) => (n < 10 ? { state: "above", value: n + 5 } : same), begun)).toBe(11);
  });

  test("preemptions are counted over the whole chain, progress or not", () => {
    expect(attemptsUntilHold("preempted", (n) => ({ state: "above", value: n }))).toBe(4);
  });

  test("progress that saws does not count as progress until the old mark is passed", () => {
    const saw = (n: number): Progress => ({ state: n === 1 ? "above" : "not-above", value: n % 2 === 0 ? 3 : 10 });
    expect(attemptsUntilHold("checkpointed", saw)).toBe(21);
  });

  test("where no progress is configured the row does not count, the number of attempts does", () => {
    expect(attemptsUntilHold("checkpointed", () => ({ state: "not-configured" }))).toBe(1000);
  });

  test("saved again and again where no checkpoint is: held after as many as may stall, and told where to look", () => {
    expect(attemptsUntilHold("checkpointed", () => ({ state: "absent" }))).toBe(2);
    expect(attemptsUntilHold("checkpointed", () => same)).toBe(20);
    const carry = { ...EMPTY_CARRY, attempts: 2, inARow: 2 };
    const held = decide({
      ...{ verdict: "checkpointed", why: "exit 99: saved, but the checkpoint is not there", course: null },
      ...{ carry, progress: { state: "absent" }, policy, stop: null, nowMs: 0 },
    });
    expect(held).toMatchObject({ kind: "hold", why: expect.stringContaining("is not there (2 times)") });
    expect(held).toMatchObject({
      advice: expect.stringContaining("stint submit --again --name JOB … --checkpoint PATH"),
    });
  });

  test("the wait doubles from 10 s to 10 min", () => {
    expect([1, 2, 3, 6, 7, 8, 500].map((n) => backoffMs(n, policy) / 1000)).toEqual([10, 20, 40, 320, 600, 600, 600]);
  });

  test("a resume starts the application's budgets anew, not those for attempts and wall", () => {
    const spent: Carry = {
      ...EMPTY_CARRY,
      attempts: 7,
      ranMs: 9,
      failures: 3,
      stalled: 2,
      neverRan: 5,
      inARow: 20,
      infrastructure: 4,
    };
    expect(afterResume(spent)).toMatchObject({
      attempts: 7,
      ranMs: 9,
      failures: 0,
      stalled: 0,
      neverRan: 0,
      inARow: 0,
      infrastructure: 4,
    });
  });
});

describe("stops and holds", () => {
  const decision = (verdict: Verdict, change: Partial<Parameters<typeof decide>[0]>): Decision =>
    decide({
      verdict,
      why: "why",
      course: null,
      carry: { ...EMPTY_CARRY, attempts: 2 },
      progress: same,
      policy,
      stop: null,
      nowMs: 0,
      ...change,
    });
  test("a drain stops after whatever verdict, but finished work is finished", () => {
    expect(decision("checkpointed", { stop: "drain" })).toMatchObject({ kind: "stop", why: "drained" });
    expect(decision("failed", { stop: "cancel" })).toMatchObject({ kind: "stop", why: "cancelled" });
    expect(decision("completed", { stop: "cancel" })).toEqual({ kind: "finish" });
  });
  test("exit 76 stops, exit 127 is held at once", () => {
    expect(decision("failed", { course: "stop" })).toMatchObject({ kind: "stop" });
    expect(decision("failed", { course: "hold" })).toMatchObject({ kind: "hold" });
  });
  test("failures that all began at one checkpoint are held with the word that sets it aside, others without it", () => {
    const carry = { ...EMPTY_CARRY, attempts: 9, failures: 3, inARow: 3, highWater: 5 };
    const adviceOf = (verdict: Verdict, changes: Partial<Parameters<typeof decide>[0]>): string => {
      const held = decision(verdict, { carry, progress: same, ...changes });
      return held.kind === "hold" ? held.advice : held.kind;
    };
    expect(adviceOf("failed", {})).toContain("stint resume JOB --quarantine sets it aside");
    expect(adviceOf("failed", { progress: { state: "absent" } })).not.toContain("quarantine");
    expect(adviceOf("failed", { carry: { ...carry, inARow: 1 } })).not.toContain("quarantine");
    expect(adviceOf("out-of-memory", {})).toBe("give it more memory, then: stint resume JOB");
  });
  test("a failure of the first attempt without progress is held at once", () => {
    expect(decision("failed", { carry: { ...EMPTY_CARRY, attempts: 1, failures: 1 } })).toMatchObject({ kind: "hold" });
  });
});

describe("an attempt that never ran", () => {
  const never = (reason: WithdrawReason, below: Decision | null, carry = EMPTY_CARRY): Decision =>
    decideNeverRan({ reason, note: null, below, carry, policy, stop: null, nowMs: 0 }).decision;
  test("repeats the decision below it", () => {
    expect(never("not-needed", { kind: "finish" })).toEqual({ kind: "finish" });
    expect(never("not-needed", null)).toEqual({ kind: "continue" });
    expect(never("orphaned-claim", { kind: "retry", notBeforeMs: 7 })).toEqual({ kind: "retry", notBeforeMs: 7 });
    expect(never("job-gone", { kind: "hold", why: "w", advice: "a" })).toEqual({ kind: "hold", why: "w", advice: "a" });
  });
  test("five in a row for a cause not ours are held; our own withdrawals never are", () => {
    let carry: Carry = EMPTY_CARRY;
    const kinds = [1, 2, 3, 4, 5].map(() => {
      const answer = decideNeverRan({
        reason: "job-gone",
        note: null,
        below: null,
        carry,
        policy,
        stop: null,
        nowMs: 0,
      });
      carry = answer.carry;
      return answer.decision.kind;
    });
    expect(kinds).toEqual(["retry", "retry", "retry", "retry", "hold"]);
    expect(
      decideNeverRan({
        reason: "orphaned-claim",
        note: null,
        below: null,
        carry: EMPTY_CARRY,
        policy,
        stop: null,
        nowMs: 0,
      }).carry.neverRan,
    ).toBe(0);
  });
  test("finishes when the total was reached before it started, and holds when the checkpoint can't be used", () => {
    expect(never("total-reached", { kind: "continue" })).toEqual({ kind: "finish" });
    expect(never("checkpoint-unusable", { kind: "continue" })).toMatchObject({ kind: "hold" });
    expect(never("cancelled-by-owner", { kind: "continue" })).toMatchObject({ kind: "stop" });
  });
});
