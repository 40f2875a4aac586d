import { describe, expect, test } from "vitest";
import type { Timing } from "./job-spec.ts";
import { noteDoubt, type ProofInput, prove, type Watch } from "./proof.ts";
import type { AttemptRecords, Exited, Started } from "./records.ts";
import type { Over, Seen } from "./seen.ts";

const timing: Timing = {
  proofWaitMs: 600_000,
  doubtfulTwiceMs: 60_000,
  nodesBackMs: 60_000,
  heartbeatSilentMs: 300_000,
  fenceMs: 120_000,
  unclearMs: 80_000,
  pollMs: 30_000,
};
const body = { host: "n1", machineId: "m", bootId: "b", pidNamespace: "p", pid: 7, startTicks: 1 };

function started(change: Partial<Started> = {}): Started {
  return {
    version: 1,
    nonce: "s",
    atMs: 0,
    body,
    guardian: null,
    scheduler: "slurm",
    ref: "slurm/c/1",
    restartCount: 0,
    cgroup: null,
    tracking: "cgroup",
    nodes: ["n1"],
    limitEndAtMs: null,
    windowEndAtMs: null,
    allocation: {},
    outputOffsetBytes: { stdout: 0, stderr: 0 },
    ...change,
  };
}

function attempt(change: Partial<AttemptRecords>): AttemptRecords {
  const go = {
    version: 1,
    nonce: "g",
    atMs: 0,
    what: "start",
    provedBy: 0,
    proofs: [],
    progressBefore: { state: "absent" },
  } as const;
  return { number: 3, claim: null, submitted: null, started: started(), go, exited: null, settled: null, ...change };
}

const exited = (survivors: readonly number[]): Exited =>
  ({ by: "body", survivors, progressAfter: { state: "absent" } }) as unknown as Exited;

function over(change: Partial<Over>): Over {
  return {
    kind: "over",
    state: "FAILED",
    exitCode: 1,
    signal: null,
    cancelledByUid: null,
    final: true,
    proof: "C",
    nodes: null,
    text: "FAILED",
    ...change,
  };
}

const lost = (nodes: Over["nodes"]): Over => over({ state: "NODE_FAIL", proof: "D", nodes, text: "NODE_FAIL" });

function answer(change: Partial<ProofInput>): string {
  const input: ProofInput = {
    attempt: attempt({}),
    seen: null,
    watch: null,
    word: null,
    timing,
    nowMonotonicMs: 1_000_000,
    ...change,
  };
  const result = prove(input);
  return result.kind === "proved" ? result.proof.by : result.kind;
}

const twice = { sinceMs: 900_000, lastMs: 990_000, count: 2 };
const watch = (change: Partial<Watch>): Watch => ({
  doubt: twice,
  silentSinceMs: 999_000,
  answeringSinceMs: null,
  ...change,
});

describe("a proof that an attempt is over", () => {
  test.each<[string, Partial<ProofInput>, string]>([
    [
      "A: go says withdrawn",
      {
        attempt: attempt({
          go: { version: 1, nonce: "g", atMs: 0, what: "withdrawn", reason: "stopped", note: null, by: body },
        }),
      },
      "A",
    ],
    ["B: exited without survivors, no query", { attempt: attempt({ exited: exited([]) }) }, "B"],
    ["survivors are no B", { attempt: attempt({ exited: exited([99]) }) }, "ask"],
    [
      "several nodes need C even with a testimony",
      { attempt: attempt({ exited: exited([]), started: started({ nodes: ["n1", "n2"] }) }) },
      "ask",
    ],
    [
      "several nodes: C",
      { attempt: attempt({ exited: exited([]), started: started({ nodes: ["n1", "n2"] }) }), seen: over({}) },
      "C",
    ],
    ["C: the controller no longer holds it, processes tracked by cgroup", { seen: over({}) }, "C"],
    [
      "C without cgroup tracking proves nothing",
      { seen: over({}), attempt: attempt({ started: started({ tracking: "other" }) }) },
      "unprovable",
    ],
    [
      "C without cgroup tracking, where the site trusts its scheduler",
      { seen: over({ trustedBy: "/etc/stint.yaml:3" }), attempt: attempt({ started: started({ tracking: "other" }) }) },
      "C",
    ],
    [
      "trust makes no proof of a state that may still change",
      {
        seen: over({ final: false, trustedBy: "/etc/stint.yaml:3" }),
        attempt: attempt({ started: started({ tracking: "other" }) }),
      },
      "wait",
    ],
    ["accounting alone is no proof", { seen: over({ proof: null }) }, "wait"],
    ["a state that may still change is no proof", { seen: over({ final: false }) }, "wait"],
    [
      "COMPLETING is active",
      { seen: { kind: "active", phase: "completing", reason: null, limitEndAtMs: null } },
      "wait",
    ],
    ["a scheduler that can't be reached says nothing", { seen: { kind: "unreachable", error: "timed out" } }, "wait"],
    ["absent once", { seen: { kind: "absent" } }, "wait"],
    ["NODE_FAIL once", { seen: lost("rebooted") }, "wait"],
    ["D: NODE_FAIL twice, nodes booted since", { seen: lost("rebooted"), watch: watch({}) }, "D"],
    [
      "D: twice, nodes answer, but not for long enough",
      { seen: lost("answering"), watch: watch({ answeringSinceMs: 950_000 }) },
      "wait",
    ],
    [
      "D: twice, nodes answer for 2 × KillWait",
      { seen: lost("answering"), watch: watch({ answeringSinceMs: 940_000 }) },
      "D",
    ],
    [
      "D: twice, nodes silent, heartbeat not silent for long enough",
      { seen: lost("silent"), watch: watch({ silentSinceMs: 800_000 }) },
      "wait",
    ],
    [
      "D: twice, nodes silent, heartbeat silent for 300 s",
      { seen: lost("silent"), watch: watch({ silentSinceMs: 700_000 }) },
      "D",
    ],
    [
      "silence without cgroup tracking proves nothing",
      {
        seen: lost("silent"),
        watch: watch({ silentSinceMs: 0 }),
        attempt: attempt({ started: started({ tracking: "other" }) }),
      },
      "unprovable",
    ],
    [
      "silence without cgroup tracking, where the site trusts its scheduler",
      {
        seen: { kind: "absent", trustedBy: "/etc/stint.yaml:3" },
        watch: watch({ silentSinceMs: 0 }),
        attempt: attempt({ started: started({ tracking: "other" }) }),
      },
      "D",
    ],
    [
      "trust takes no time away: silence for too short",
      {
        seen: { kind: "absent", trustedBy: "/etc/stint.yaml:3" },
        watch: watch({ silentSinceMs: 800_000 }),
        attempt: attempt({ started: started({ tracking: "other" }) }),
      },
      "wait",
    ],
    [
      "a reboot proves it under any tracking",
      { seen: lost("rebooted"), watch: watch({}), attempt: attempt({ started: started({ tracking: "other" }) }) },
      "D",
    ],
    ["absent twice and the heartbeat silent", { seen: { kind: "absent" }, watch: watch({ silentSinceMs: 0 }) }, "D"],
    ["E: looked for here, and gone", { seen: over({ state: "LOST", proof: "E" }) }, "E"],
    ["F: a person's word", { word: "ann said so" }, "F"],
  ])("%s", (_name, change, expected) => {
    expect(answer(change)).toBe(expected);
  });
});

describe("doubt", () => {
  const absent: Seen = { kind: "absent" };
  test("grows while doubtful answers follow each other, whoever gave them", () => {
    const first = noteDoubt(null, absent, 100);
    expect(noteDoubt(first, lost("silent"), 200)).toEqual({ sinceMs: 100, lastMs: 200, count: 2 });
  });
  test("is neither fed nor cleared by a scheduler that can't be asked", () => {
    const doubt = { sinceMs: 1, lastMs: 2, count: 2 };
    expect(noteDoubt(doubt, { kind: "unreachable", error: "" }, 9)).toBe(doubt);
  });
  test("is gone with any other answer", () => {
    expect(noteDoubt({ sinceMs: 1, lastMs: 2, count: 2 }, over({}), 9)).toBeNull();
  });
});
