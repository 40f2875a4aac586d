import { describe, expect, test } from "vitest";
import {
  type AttemptRecords,
  type Claim,
  EMPTY_CARRY,
  type JobSpec,
  RECORD_VERSION,
  type Settled,
  type Started,
  type Stop,
  type Stops,
} from "../../core/index.ts";
import { jobPlace, taskPlace } from "../../journal/index.ts";
import { type StatusInput, statusOf } from "./chain-status.ts";
import type { JobOnFile } from "./job-on-file.ts";

const frame = { version: RECORD_VERSION, nonce: "n" };
const spec = {
  command: { kind: "argv", argv: ["./sim", "--fast"] },
  checkpoint: null,
  total: null,
  scheduler: "local",
};

/** A job submitted at 1,000, looked at much later. */
function job(parts: Partial<JobOnFile>): JobOnFile {
  return {
    place: jobPlace("/p/.stint", "/ann/sim"),
    task: taskPlace(jobPlace("/p/.stint", "/ann/sim"), 0),
    spec: spec as unknown as JobSpec,
    jobSpec: spec as unknown as JobSpec,
    revision: 1,
    submittedAtMs: 1_000,
    stops: { lists: [], words: new Map() },
    state: { settled: null, open: [] },
    lastRan: null,
    notStarted: null,
    submitters: [],
    ...parts,
  };
}

function stops(kind: Stop["kind"], atMs: number): Stops {
  return { lists: [{ highest: 1, ruling: { ...frame, atMs, kind, by: "ann@here" } }], words: new Map() };
}

/** An attempt that ran for 2 s and ended at 5,000. */
function settled(decision: Settled["decision"]): NonNullable<JobOnFile["lastRan"]> {
  const evidence = { why: "exit 1", endedAtMs: 5_000, ref: null, progress: { state: "not-configured" } };
  const record = {
    ...frame,
    atMs: 5_100,
    verdict: "failed",
    decision,
    evidence: evidence as Settled["evidence"],
    carry: { ...EMPTY_CARRY, attempts: 1, ranMs: 2_000 },
    stopNumber: 0,
  } as const;
  return { number: 1, record };
}

const look = (what: JobOnFile, input: Partial<StatusInput> = {}) =>
  statusOf(
    what,
    {
      seen: new Map(),
      progress: null,
      firstProgress: null,
      settledStarted: null,
      attendedBy: null,
      submitter: null,
      nowMs: 1_000_000,
      nowMonotonicMs: 1_000_000,
      ...input,
    },
    "sim",
  );

describe("the time that a chain has waited ends with the chain", () => {
  test("drained before anything of it ran", () => {
    expect(look(job({ stops: stops("drain", 4_000) }))).toMatchObject({
      state: "over",
      reason: "drained",
      endedAtMs: 4_000,
      waitedMs: 3_000,
    });
  });

  test("drained while it waited for its next attempt, or while it ran", () => {
    const lastRan = settled({ kind: "stop", why: "drained", advice: "stint resume JOB" });
    const state = { settled: lastRan, open: [] };
    const at = (atMs: number) => look(job({ stops: stops("drain", atMs), state, lastRan }));
    expect(at(9_000)).toMatchObject({ endedAtMs: 9_000, waitedMs: 6_000 });
    expect(at(4_500)).toMatchObject({ endedAtMs: 5_000, waitedMs: 2_000 });
  });

  test("finished", () => {
    const lastRan = settled({ kind: "finish" });
    expect(look(job({ state: { settled: lastRan, open: [] }, lastRan }))).toMatchObject({ waitedMs: 2_000 });
  });
});

describe("a successor that a body on another host has claimed and could not submit", () => {
  const ref = "slurm/c/7";
  const there = { host: "node7", machineId: "m7", bootId: "b7", pidNamespace: "p7", pid: 7, startTicks: 7 };
  const claim = { ...frame, atMs: 1_500, by: there, specRevision: 1, basis: "ahead", after: 1, notBeforeMs: null };
  const nothing = { submitted: null, started: null, go: null, exited: null, settled: null };
  const lastRan = settled({ kind: "continue" });
  const claimed = job({
    spec: { ...spec, scheduler: "slurm", timing: { unclearMs: 80_000 } } as unknown as JobSpec,
    state: { settled: lastRan, open: [{ number: 2, claim: claim as Claim, ...nothing }] },
    lastRan,
  });
  const body = { body: there, guardian: null, ref } as Started;
  const active = { kind: "active", phase: "running", reason: null, limitEndAtMs: null } as const;
  const over = { kind: "absent" } as const;

  test("waits for that body while its job is active", () => {
    const now = look(claimed, { settledStarted: body, seen: new Map([[ref, active]]) });
    expect(now).toMatchObject({ state: "waiting", reason: "attempt 1 is handing over", mover: true });
  });

  test("is stranded when its job is gone", () => {
    const now = look(claimed, { settledStarted: body, seen: new Map([[ref, over]]) });
    expect(now).toMatchObject({
      state: "stranded",
      reason: "attempt 2 was claimed on node7 and never submitted",
      advice: "stint resume sim",
      mover: false,
    });
  });

  test("may be on its way for as long as a submit takes, but nobody is seen who moves it", () => {
    const now = look(claimed, { settledStarted: body, seen: new Map([[ref, over]]), nowMs: 60_000 });
    expect(now).toMatchObject({ state: "waiting", reason: "attempt 2 is being submitted on node7", mover: false });
  });
});

describe("an attempt in the queue", () => {
  const ref = "slurm/c/9";
  const records = { started: null, go: null, exited: null, settled: null };
  const claim = { ...frame, notBeforeMs: null, by: {} } as unknown as Claim;
  const submitted = { ...frame, ref, cluster: "c", id: "9", atMs: 1_000 } as unknown as AttemptRecords["submitted"];
  const queued = job({
    spec: { ...spec, scheduler: "slurm" } as unknown as JobSpec,
    state: { settled: null, open: [{ number: 1, claim, submitted, ...records }] },
  });
  const place = { id: "9", partition: "short", timeLimit: "10:00", account: "lab", qos: "normal" };
  const waits = (reason: string | null, expectedStartAtMs: number | null = null, what = queued) =>
    look(what, {
      seen: new Map([
        [
          ref,
          {
            kind: "active",
            phase: "pending",
            reason,
            limitEndAtMs: null,
            queue: { ...place, sinceMs: 400_000, expectedStartAtMs },
          },
        ],
      ]),
    });

  test("says that it will never start, and what to do", () => {
    expect(waits("PartitionTimeLimit")).toMatchObject({
      state: "waiting",
      mover: true,
      reason:
        "attempt 1 is queued and will never start (PartitionTimeLimit): its limit of 10:00 is above what partition short allows",
      advice:
        "a shorter --limit, or another --partition (scontrol show partition short); a setting is changed by: stint resume sim OPTIONS",
      queue: { attempt: 1, id: "9", code: "PartitionTimeLimit", chance: "will-never-start", waitedMs: 600_000 },
    });
  });

  test("has no mover in a dependency that can never be met: whoever moves the chain queues another one", () => {
    expect(waits("DependencyNeverSatisfied")).toMatchObject({
      state: "stranded",
      reason: "attempt 1 is queued for a dependency that can never be met, and nobody will queue another one",
      advice: "stint resume sim",
      queue: { code: "DependencyNeverSatisfied", chance: "will-never-start" },
    });
  });

  test("will never start where its owner wished for that dependency: another one would wait for the same", () => {
    const untilFirstRun = { beginAtMs: null, dependency: "afterok:7", hold: false };
    const wished = { ...queued, spec: { ...queued.spec, untilFirstRun } };
    expect(waits("DependencyNeverSatisfied", null, wished)).toMatchObject({
      state: "waiting",
      reason: expect.stringContaining("attempt 1 is queued and will never start (DependencyNeverSatisfied)"),
      advice: "stint cancel sim, then stint submit --again with another --dependency",
    });
    // Once an attempt has begun it counts no more.
    const lastRan = settled({ kind: "continue" });
    const later = { ...wished, state: { ...wished.state, settled: lastRan }, lastRan };
    expect(waits("DependencyNeverSatisfied", null, later)).toMatchObject({ state: "stranded" });
  });

  test("has no advice where only time is needed, and knows when it will start", () => {
    expect(waits("Priority", 1_500_000)).toMatchObject({
      reason: "attempt 1 is queued (Priority): jobs of higher priority are before it in partition short",
      advice: null,
      queue: { chance: "will-start", expectedStartAtMs: 1_500_000 },
    });
    expect(waits("Priority", 900_000).queue?.expectedStartAtMs).toBe(null);
    expect(waits(null).reason).toBe("attempt 1 is queued: the scheduler has not looked at it yet");
  });

  test("that was queued before its predecessor failed waits for the back-off too, until it is over", () => {
    const pending = { kind: "active", phase: "pending", reason: null, limitEndAtMs: null } as const;
    const lastRan = settled({ kind: "retry", notBeforeMs: 1_060_000 });
    const behind = { ...queued.state.open[0], number: 2 } as AttemptRecords;
    const lookAt = (nowMs: number) =>
      look(job({ state: { settled: lastRan, open: [behind] }, lastRan }), { seen: new Map([[ref, pending]]), nowMs });
    expect(lookAt(1_000_500).reason).toBe("attempt 2 begins in 60 s (back-off)");
    expect(lookAt(1_060_000).reason).toContain("attempt 2 is queued");
  });

  test("shows an unknown reason as it is", () => {
    expect(waits("NewReason, on n1")).toMatchObject({
      reason: "attempt 1 is queued (NewReason, on n1)",
      advice: null,
      queue: { chance: "unknown" },
    });
  });
});

describe("advice", () => {
  const lastRan = settled({ kind: "hold", why: "exit 127", advice: "mend the cause, then: stint resume JOB" });
  const held = { state: { settled: lastRan, open: [] }, lastRan };

  test("names the job as a person types it", () => {
    expect(look(job(held))).toMatchObject({ state: "held", advice: "mend the cause, then: stint resume sim" });
  });

  test("names a command that cannot be started, and how to give another", () => {
    const { advice } = look(job({ ...held, notStarted: "exit 127" }));
    expect(advice).toContain("(./sim --fast): stint resume sim;");
    expect(advice).toContain("stint submit --again --name sim … -- COMMAND");
  });
});
