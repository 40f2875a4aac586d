import { expect, test } from "vitest";
import type { AttemptRow } from "../chain/index.ts";
import { attemptLines } from "./attempts-view.ts";
import { cpuSpan } from "./words.ts";

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
  ref: null,
  nodes: [],
  conflicts: [],
};

test("an attempt that was taken back is not shown as queued", () => {
  expect(attemptLines([QUEUED])).toEqual(["ATTEMPT  VERDICT", "2        queued"]);
  expect(attemptLines([{ ...QUEUED, withdrawn: "stopped", why: "stopped" }])).toEqual([
    "ATTEMPT  VERDICT    WHY",
    "2        withdrawn  stopped",
  ]);
});

test("CPU time below a second is told in milliseconds", () => {
  expect([null, 0, 12, 999.4, 1_000, 12_400].map(cpuSpan)).toEqual(["", "0s", "12ms", "999ms", "1s", "12s"]);
});
