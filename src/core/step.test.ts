import { describe, expect, it } from "vitest";
import type { AttemptRecords, Ref } from "./records.ts";
import type { Seen } from "./seen.ts";
import { nextStep, type View } from "./step.ts";

const ref: Ref = "slurm/c/7";
const by = { host: "n1", machineId: "m", bootId: "b", pidNamespace: "p", pid: 7, startTicks: 1 };
const frame = { version: 1, nonce: "n", atMs: 1 };

/** An attempt with a job, which nobody has started. */
const queued: AttemptRecords = {
  number: 1,
  claim: { ...frame, by, specRevision: 1, basis: "first", after: 0, notBeforeMs: null },
  submitted: { ...frame, scheduler: "slurm", cluster: "c", id: "7", ref, by: "claimer" },
  started: null,
  go: null,
  exited: null,
  settled: null,
};

function view(seen: Seen, changes: Partial<View> = {}): View {
  return {
    settled: null,
    open: [queued],
    stops: { lists: [], words: new Map() },
    policy: { ownerUid: 1001 } as View["policy"],
    timing: {} as View["timing"],
    ahead: 1,
    me: null,
    topUp: false,
    claims: true,
    waitsAsWished: false,
    seen: new Map([[ref, seen]]),
    found: new Map(),
    claimers: new Map(),
    refused: new Map(),
    cancelled: new Set(),
    watches: new Map(),
    reading: null,
    sampled: new Map(),
    nowMs: 0,
    nowMonotonicMs: 0,
    ...changes,
  };
}

const pending = (reason: string): Seen => ({ kind: "active", phase: "pending", reason, limitEndAtMs: null });

describe("a queued attempt", () => {
  it("is left as it is while it may start", () => {
    expect(nextStep(view(pending("Dependency")))).toMatchObject({ do: "rest", outcome: { kind: "going", attempt: 1 } });
  });

  it("is taken back when its dependency can never be met", () => {
    const step = nextStep(view(pending("DependencyNeverSatisfied")));
    expect(step).toMatchObject({ do: "withdraw", attempt: 1, reason: "job-gone" });
  });

  it("is left in the queue when its owner wished for that dependency: another one would wait for the same", () => {
    const step = nextStep(view(pending("DependencyNeverSatisfied"), { waitsAsWished: true }));
    expect(step).toMatchObject({ do: "rest", outcome: { kind: "going", attempt: 1 } });
  });

  it("that its owner has cancelled stops the chain also where a body above passes it over", () => {
    const over = { kind: "over", state: "CANCELLED", exitCode: 0, signal: 0, final: true, proof: "C" } as const;
    const seen = (cancelledByUid: number): Seen => ({ ...over, cancelledByUid, nodes: null, text: "CANCELLED" });
    const above = { ...queued, number: 2, started: {} as AttemptRecords["started"] };
    const passing = (uid: number) => nextStep(view(seen(uid), { open: [queued, above], me: 2 }));
    expect(passing(1001)).toMatchObject({ do: "withdraw", attempt: 1, reason: "cancelled-by-owner" });
    expect(passing(0)).toMatchObject({ do: "withdraw", attempt: 1, reason: "not-needed" });
  });
});
