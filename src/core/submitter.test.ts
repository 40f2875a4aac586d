import { describe, expect, it, test } from "vitest";
import type { ProcessRef, Ref } from "./records.ts";
import type { Seen } from "./seen.ts";
import {
  type SubmitterRecords,
  type SubmitterSelf,
  type SubmitterView,
  submitterAct,
  submitterBeatMs,
  submitterFreshMs,
  submitterStep,
} from "./submitter.ts";

const TIMING = {
  proofWaitMs: 600_000,
  doubtfulTwiceMs: 60_000,
  nodesBackMs: 60_000,
  heartbeatSilentMs: 300_000,
  fenceMs: 120_000,
  unclearMs: 80_000,
  pollMs: 30_000,
};
const by: ProcessRef = { host: "n1", machineId: "m", bootId: "b", pidNamespace: "p", pid: 7, startTicks: 1 };
const frame = { version: 1, nonce: "n", atMs: 1 };
const refOf = (number: number): Ref => `slurm/c/${100 + number}`;

/** A submitter that came as far as the word says. */
function submitter(number: number, to: "claimed" | "submitted" | "started" | "ended" | "withdrawn"): SubmitterRecords {
  const ref = refOf(number);
  const isSubmitted = to !== "claimed";
  const isStarted = to === "started" || to === "ended";
  return {
    number,
    claim: { ...frame, by, basis: "first" },
    submitted: isSubmitted
      ? { ...frame, scheduler: "slurm", cluster: "c", id: String(100 + number), ref, by: "claimer" }
      : null,
    started: isStarted ? { ...frame, process: by, ref, restartCount: 0, limitEndAtMs: null } : null,
    ended:
      to === "ended"
        ? { ...frame, by, reason: "handed-over" }
        : to === "withdrawn"
          ? { ...frame, by, reason: "withdrawn" }
          : null,
  };
}

const active = (phase: "pending" | "running"): Seen => ({ kind: "active", phase, reason: null, limitEndAtMs: null });
const absent: Seen = { kind: "absent" };
const unreachable: Seen = { kind: "unreachable", error: "no controller" };

function view(submitters: readonly SubmitterRecords[], changes: Partial<SubmitterView> = {}): SubmitterView {
  return {
    submitters,
    me: null,
    seen: new Map(),
    silentMs: new Map(),
    believes: true,
    claimers: new Map(),
    claimWatchedMs: new Map(),
    found: new Map(),
    refused: new Map(),
    timing: TIMING,
    ...changes,
  };
}

const seen = (answers: Readonly<Record<number, Seen>>) => ({
  seen: new Map(Object.entries(answers).map(([number, answer]) => [refOf(Number(number)), answer])),
});

describe("what is to be done so that a submitter lives or is queued", () => {
  test.each<readonly [string, SubmitterView, unknown]>([
    ["there is none yet", view([]), { do: "claim", number: 1 }],
    [
      "its heartbeat moves",
      view([submitter(1, "started")], { silentMs: new Map([[1, 29_000]]) }),
      { do: "rest", number: 1 },
    ],
    [
      "its heartbeat moves, and that is not enough",
      view([submitter(1, "started")], { silentMs: new Map([[1, 0]]), believes: false }),
      { do: "ask", refs: [refOf(1)] },
    ],
    ["its heartbeat is not watched", view([submitter(1, "started")]), { do: "ask", refs: [refOf(1)] }],
    [
      "its heartbeat stands",
      view([submitter(1, "started")], { silentMs: new Map([[1, 30_000]]) }),
      { do: "ask", refs: [refOf(1)] },
    ],
    [
      "it is silent and its job runs",
      view([submitter(1, "started")], { silentMs: new Map([[1, 60_000]]), ...seen({ 1: active("running") }) }),
      { do: "rest", number: 1 },
    ],
    [
      "it is silent for long",
      view([submitter(1, "started")], { silentMs: new Map([[1, 300_000]]), ...seen({ 1: active("running") }) }),
      { do: "claim", number: 2 },
    ],
    ["it is queued", view([submitter(1, "submitted")], seen({ 1: active("pending") })), { do: "rest", number: 1 }],
    ["its job is gone", view([submitter(1, "started")], seen({ 1: absent })), { do: "claim", number: 2 }],
    ["it has ended", view([submitter(1, "ended")]), { do: "claim", number: 2 }],
    ["it was withdrawn", view([submitter(1, "withdrawn")]), { do: "claim", number: 2 }],
    [
      "the scheduler is away",
      view([submitter(1, "started")], seen({ 1: unreachable })),
      { do: "wait", number: 1, lookAgainMs: 30_000 },
    ],
    [
      "the one before lives, its successor is gone",
      view([submitter(1, "started"), submitter(2, "submitted")], seen({ 1: active("running"), 2: absent })),
      { do: "rest", number: 1 },
    ],
    [
      "one question for all",
      view([submitter(1, "started"), submitter(2, "submitted")]),
      { do: "ask", refs: [refOf(1), refOf(2)] },
    ],
    [
      "it asks for its successor",
      view([submitter(3, "started")], { me: 3, silentMs: new Map([[3, 0]]) }),
      { do: "claim", number: 4 },
    ],
    [
      "its successor is queued",
      view([submitter(3, "started"), submitter(4, "submitted")], { me: 3, ...seen({ 4: active("pending") }) }),
      { do: "rest", number: 4 },
    ],
    ["claimed by us", view([submitter(1, "claimed")], { claimers: new Map([[1, "me"]]) }), { do: "submit", number: 1 }],
    [
      "refused a moment ago",
      view([submitter(1, "claimed")], {
        claimers: new Map([[1, "me"]]),
        refused: new Map([[1, { error: "limit", lookAgainMs: 500 }]]),
      }),
      { do: "wait", why: "limit", lookAgainMs: 500 },
    ],
    [
      "claimed by a process here",
      view([submitter(1, "claimed")], { claimers: new Map([[1, "alive"]]) }),
      { do: "wait", number: 1 },
    ],
    [
      "claimed elsewhere",
      view([submitter(1, "claimed")], { claimers: new Map([[1, "elsewhere"]]) }),
      { do: "wait", number: 1 },
    ],
    [
      "claimed elsewhere, long ago",
      view([submitter(1, "claimed")], { claimWatchedMs: new Map([[1, 80_000]]) }),
      { do: "find", number: 1 },
    ],
    [
      "its claimer died",
      view([submitter(1, "claimed")], { claimers: new Map([[1, "gone"]]) }),
      { do: "find", number: 1 },
    ],
    [
      "its claimer died, and there is no job",
      view([submitter(1, "claimed")], { claimers: new Map([[1, "gone"]]), found: new Map([[1, "none"]]) }),
      { do: "claim", number: 2 },
    ],
    [
      "no clear answer, and no job yet",
      view([submitter(1, "claimed")], { claimers: new Map([[1, "unclear"]]), found: new Map([[1, "none"]]) }),
      { do: "wait", number: 1 },
    ],
    [
      "no clear answer, and no job for long",
      view([submitter(1, "claimed")], {
        claimers: new Map([[1, "unclear"]]),
        found: new Map([[1, "none"]]),
        claimWatchedMs: new Map([[1, 80_000]]),
      }),
      { do: "claim", number: 2 },
    ],
    [
      "a claim of nobody above a living one",
      view([submitter(1, "started"), submitter(2, "claimed")], {
        claimers: new Map([[2, "gone"]]),
        found: new Map([[2, "none"]]),
        silentMs: new Map([[1, 0]]),
      }),
      { do: "rest", number: 1 },
    ],
  ])("%s", (_, given, step) => {
    expect(submitterStep(given)).toMatchObject(step as object);
  });

  it("beats at least three times in the time after which it is asked for", () => {
    for (const pollMs of [300, 1_000, 30_000, 600_000])
      expect(submitterFreshMs({ pollMs }) / submitterBeatMs({ pollMs })).toBeGreaterThanOrEqual(3);
    expect(submitterFreshMs({ pollMs: 30_000 })).toBe(30_000);
  });
});

describe("what a living submitter does next", () => {
  const self = (changes: Partial<SubmitterSelf> = {}): SubmitterSelf => ({
    me: 2,
    submitters: [submitter(2, "started")],
    chainOver: false,
    asked: false,
    limitLeftMs: 100_000,
    marginMs: 60_000,
    ...changes,
  });
  const withLater = (to: Parameters<typeof submitter>[1]) => [submitter(2, "started"), submitter(3, to)];
  test.each<readonly [string, SubmitterSelf, unknown]>([
    ["in the middle of its time", self(), { do: "move" }],
    ["without a limit", self({ limitLeftMs: null }), { do: "move" }],
    ["at its margin", self({ limitLeftMs: 60_000 }), { do: "hand-over" }],
    [
      "its successor is claimed and not queued",
      self({ limitLeftMs: 1, submitters: withLater("claimed") }),
      { do: "hand-over" },
    ],
    [
      "its successor is queued",
      self({ limitLeftMs: 1, submitters: withLater("submitted") }),
      { do: "leave", reason: "handed-over" },
    ],
    ["a later one is queued before its time", self({ submitters: withLater("submitted") }), { do: "move" }],
    ["a later one has started", self({ submitters: withLater("started") }), { do: "leave", reason: "superseded" }],
    ["a later one has even ended", self({ submitters: withLater("ended") }), { do: "leave", reason: "superseded" }],
    ["its successor was withdrawn", self({ limitLeftMs: 1, submitters: withLater("withdrawn") }), { do: "hand-over" }],
    ["the chain is over", self({ chainOver: true }), { do: "leave", reason: "chain-over" }],
    ["somebody asks it to end", self({ asked: true }), { do: "leave", reason: "asked" }],
    [
      "it was withdrawn before it started",
      self({ submitters: [submitter(2, "withdrawn")] }),
      { do: "leave", reason: "withdrawn" },
    ],
  ])("%s", (_, given, act) => {
    expect(submitterAct(given)).toEqual(act);
  });
});
