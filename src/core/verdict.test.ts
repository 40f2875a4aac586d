import { describe, expect, test } from "vitest";
import type { Progress } from "./progress.ts";
import type { Exited, GoStart, Policy } from "./records.ts";
import type { Over, Seen } from "./seen.ts";
import { type Facts, judge } from "./verdict.ts";

const policy: Policy = {
  total: 500,
  savedExitCodes: [99, 124],
  checkpointConfigured: true,
  budgets: {
    failures: 3,
    stalled: 2,
    preemptions: 100,
    infrastructure: 10,
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
const go: GoStart = {
  version: 1,
  nonce: "g",
  atMs: 0,
  what: "start",
  provedBy: 0,
  proofs: [],
  progressBefore: { state: "absent" },
};
const grew: Progress = { state: "above", value: 20 };
const same: Progress = { state: "not-above", value: 10 };
const none: Progress = { state: "not-configured" };

function exited(change: Partial<Exited>): Exited {
  return {
    version: 1,
    nonce: "e",
    atMs: 0,
    by: "body",
    exitCode: 0,
    signal: null,
    spawnError: null,
    windowEnded: false,
    endedBy: "application",
    spawned: true,
    stopNumber: null,
    signalsSent: [],
    signalsReceived: [],
    progressAfter: grew,
    startedAtMs: 0,
    ranMs: 1,
    cpuUserMs: null,
    cpuSystemMs: null,
    memoryPeakBytes: null,
    memoryPeakIsLowerBound: false,
    survivors: [],
    ...change,
  };
}

function over(state: string, change: Partial<Over> = {}): Over {
  return {
    kind: "over",
    state,
    exitCode: 0,
    signal: null,
    cancelledByUid: null,
    final: true,
    proof: "C",
    nodes: null,
    text: state,
    ...change,
  };
}

function verdictOf(facts: Partial<Facts>, change: Partial<Policy> = {}): string {
  const judgement = judge(
    { go, started: null, exited: null, seen: null, progress: grew, stop: null, ...facts },
    { ...policy, ...change },
  );
  if (judgement.kind !== "judged") return judgement.kind;
  return judgement.course === null ? judgement.verdict : `${judgement.verdict} ${judgement.course}`;
}

describe("the application's own testimony", () => {
  const window = { windowEnded: true, endedBy: "window" } as const;
  test.each<[string, Partial<Exited>, Progress, Partial<Policy>, string]>([
    ["exit 0, no total", {}, none, { total: null }, "completed"],
    ["exit 0 after TERM, no total: saved", window, none, { total: null }, "checkpointed"],
    [
      "exit 0 after a TERM from outside is saved, never finished",
      { signalsReceived: [{ signal: "SIGTERM", afterMs: 1, why: "" }] },
      none,
      { total: null },
      "checkpointed",
    ],
    [
      "a closed terminal asks for nothing",
      { signalsReceived: [{ signal: "SIGHUP", afterMs: 1, why: "" }] },
      none,
      { total: null },
      "completed",
    ],
    [
      "a drain between go and spawn is no fault of the application",
      { spawned: false, endedBy: "drain", exitCode: null },
      same,
      {},
      "node-failed",
    ],
    [
      "a cancel between go and spawn",
      { spawned: false, endedBy: "cancel", exitCode: null },
      same,
      {},
      "cancelled stop",
    ],
    ["exit 0, total not reached, progress grew", {}, grew, {}, "checkpointed"],
    ["exit 0, total not reached, progress did not grow", {}, same, {}, "failed"],
    ["exit 0 after TERM without progress", window, same, {}, "stalled"],
    ["exit 99", { exitCode: 99 }, same, {}, "checkpointed"],
    ["exit 124", { exitCode: 124 }, grew, {}, "checkpointed"],
    ["exit 75 is a failure unless set", { exitCode: 75 }, grew, {}, "failed"],
    ["exit 75 by setting", { exitCode: 75 }, grew, { savedExitCodes: [99, 124, 75] }, "checkpointed"],
    ["exit 76: nothing to gain", { exitCode: 76 }, grew, {}, "failed stop"],
    ["exit 1", { exitCode: 1 }, grew, {}, "failed"],
    ["exit 126", { exitCode: 126 }, same, {}, "failed hold"],
    ["exit 127", { exitCode: 127 }, same, {}, "failed hold"],
    ["could not be started", { exitCode: null, spawnError: "no such file" }, same, {}, "failed hold"],
    [
      "killed by us at the window's end, progress grew",
      { ...window, exitCode: null, signal: "SIGKILL" },
      grew,
      {},
      "window-ended",
    ],
    [
      "killed by us at the window's end, no progress",
      { ...window, exitCode: null, signal: "SIGTERM" },
      same,
      {},
      "stalled",
    ],
    [
      "killed by us, an empty checkpoint is no progress",
      { ...window, exitCode: null, signal: "SIGTERM" },
      { state: "invalid", why: "empty" },
      {},
      "stalled",
    ],
    [
      "killed by us, no checkpoint known at all",
      { ...window, exitCode: null, signal: "SIGTERM" },
      none,
      { total: null, checkpointConfigured: false },
      "stalled",
    ],
    ["exit 1 after our TERM is judged by progress", { ...window, exitCode: 1 }, grew, {}, "window-ended"],
    ["exit 137 with a kill for want of memory", { exitCode: 137, oomKills: 1 }, grew, {}, "out-of-memory"],
    ["exit 0 although a worker was killed for it", { oomKills: 1 }, none, { total: null }, "out-of-memory"],
    ["killed for it itself", { exitCode: null, signal: "SIGKILL", oomKills: 1 }, grew, {}, "out-of-memory"],
    ["saved although a worker was killed for it", { exitCode: 99, oomKills: 2 }, grew, {}, "checkpointed"],
    [
      "total reached although a worker was killed for it",
      { oomKills: 1 },
      { state: "above", value: 500 },
      {},
      "completed",
    ],
    ["its window's end, with an earlier kill", { ...window, exitCode: 1, oomKills: 1 }, grew, {}, "window-ended"],
    ["its own crash", { exitCode: null, signal: "SIGSEGV" }, grew, {}, "failed"],
    ["total reached whatever the exit status", { exitCode: 3 }, { state: "above", value: 500 }, {}, "completed"],
    [
      "ended by cancel",
      { endedBy: "cancel", windowEnded: true, exitCode: null, signal: "SIGTERM" },
      grew,
      {},
      "cancelled stop",
    ],
  ])("%s", (_name, change, progress, policyChange, expected) => {
    expect(verdictOf({ exited: exited(change), progress }, policyChange)).toBe(expected);
  });

  test("a total reached with a bad exit status is named as a conflict", () => {
    const judgement = judge(
      {
        go,
        started: null,
        exited: exited({ exitCode: 3 }),
        seen: null,
        progress: { state: "above", value: 500 },
        stop: null,
      },
      policy,
    );
    expect(judgement).toMatchObject({
      verdict: "completed",
      conflicts: ["total reached, yet the application ended with exit 3"],
    });
  });
});

describe("the scheduler's state, where nobody testified", () => {
  test.each<[Over, Progress, string]>([
    [over("TIMEOUT"), grew, "window-ended"],
    [over("TIMEOUT"), same, "stalled"],
    [over("OUT_OF_MEMORY", { signal: 125 }), grew, "out-of-memory"],
    [over("PREEMPTED"), grew, "preempted"],
    [over("NODE_FAIL"), same, "node-failed"],
    [over("BOOT_FAIL"), same, "node-failed"],
    [over("LOST"), same, "node-failed"],
    [over("DEADLINE"), same, "cancelled hold"],
    [over("CANCELLED", { cancelledByUid: 1000 }), same, "cancelled stop"],
    [over("CANCELLED", { cancelledByUid: 0 }), same, "cancelled hold"],
    [over("CANCELLED"), same, "node-failed"],
    [over("REQUEUED"), same, "preempted"],
    [over("COMPLETED"), same, "node-failed"],
    [over("FAILED", { signal: 9 }), grew, "node-failed"],
    [over("SPECIAL_NEW_STATE"), grew, "node-failed"],
  ])("$state is never read as success", (seen, progress, expected) => {
    expect(verdictOf({ seen, progress })).toBe(expected);
  });

  test("no killed, cancelled, lost or unfinished attempt is ever completed while the total is not reached", () => {
    const states = [
      "TIMEOUT",
      "OUT_OF_MEMORY",
      "PREEMPTED",
      "NODE_FAIL",
      "BOOT_FAIL",
      "CANCELLED",
      "DEADLINE",
      "FAILED",
      "COMPLETED",
    ];
    for (const state of states) expect(verdictOf({ seen: over(state), progress: grew })).not.toMatch(/^completed/);
  });
});

describe("not known yet is an answer and no verdict", () => {
  const unreachable: Seen = { kind: "unreachable", error: "timed out" };
  const running: Seen = { kind: "active", phase: "running", reason: null, limitEndAtMs: null };
  test.each<[string, Partial<Facts>, string]>([
    ["nothing asked yet", {}, "ask"],
    ["a failed query is unknown, never ended", { seen: unreachable }, "pending"],
    ["still running", { seen: running }, "pending"],
    ["accounting late: the state is not final", { seen: over("FAILED", { final: false }) }, "pending"],
    ["killed by a signal that nobody here sent", { exited: exited({ exitCode: null, signal: "SIGKILL" }) }, "ask"],
    [
      "only the guardian is left to testify",
      { exited: exited({ by: "guardian", exitCode: null, endedBy: "unknown" }) },
      "ask",
    ],
  ])("%s", (_name, facts, expected) => {
    expect(verdictOf(facts)).toBe(expected);
  });

  test("a signal from outside is explained by the state that the scheduler gives afterwards", () => {
    const testimony = exited({ exitCode: null, signal: "SIGKILL", endedBy: "application" });
    expect(verdictOf({ exited: testimony, seen: over("OUT_OF_MEMORY") })).toBe("out-of-memory");
    expect(verdictOf({ exited: testimony, seen: over("PREEMPTED") })).toBe("preempted");
    expect(verdictOf({ exited: testimony, seen: over("FAILED", { signal: 9 }) })).toBe("failed");
  });
});

describe("an application that was killed at the end of its window", () => {
  const why = (change: Partial<Exited>, marginMs: Policy["marginMs"] = 60_000) => {
    const killed = exited({ exitCode: null, signal: "SIGKILL", windowEnded: true, endedBy: "window", ...change });
    const facts: Facts = {
      go: { ...go, marginMs: 60_000 },
      started: null,
      exited: killed,
      seen: null,
      progress: grew,
      stop: null,
    };
    const judgement = judge(facts, { ...policy, marginMs });
    return judgement.kind === "judged" ? judgement.why : judgement.kind;
  };
  const saving = { ms: 51_000, killed: true };
  const end = "killed by SIGKILL at the end of the window";

  test("needed more than its margin, and that is said with what sizes it", () => {
    expect(why({ saving })).toBe(
      `${end}: it did not end within the margin of 1m (--margin auto sizes it), progress grew`,
    );
    expect(why({ saving }, "auto")).toBe(`${end}: it did not end within the margin of 1m, progress grew`);
  });

  test("by somebody else, tells nothing of the margin", () => {
    expect(why({ saving: { ms: 100, killed: false } })).toBe(`${end}, progress grew`);
    expect(why({})).toBe(`${end}, progress grew`);
  });
});
