import { expect, test } from "vitest";
import { jobSpec } from "../../test/support/job-spec.ts";
import { type AttemptSpec, isLastWindow, successorLeadMs } from "./window.ts";

const END_AT_MS = 1_000_000;
const bound = (changes: Partial<AttemptSpec>): AttemptSpec => ({
  ...jobSpec({ allocationEndAtMs: END_AT_MS }),
  marginMs: 1_000,
  ...changes,
});

test.each([
  [5_000, 1_000],
  [40_000, 4_000],
  [3_600_000, 10_000],
])("a successor of a window of %i ms is made ready %i ms before its end", (windowMs, leadMs) => {
  expect(successorLeadMs(windowMs)).toBe(leadMs);
});

test.each<[string, Partial<AttemptSpec>, number | null, boolean]>([
  // Without a limit an attempt takes all that is left: TERM comes 5 s and the margin before the end.
  ["without a limit of its own", {}, END_AT_MS - 6_000, true],
  ["with a limit, where a tenth of a window does not fit behind it", { limitMs: 11_000 }, END_AT_MS - 6_500, true],
  ["with a limit, where it does", { limitMs: 11_000 }, END_AT_MS - 7_100, false],
  ["in no allocation", { allocationEndAtMs: null }, END_AT_MS - 6_000, false],
  ["without any window", {}, null, false],
  ["of a job that is Slurm's own", { scheduler: "slurm" }, END_AT_MS - 6_000, false],
])("the last window of an allocation is known: %s", (_, changes, termAtMs, expected) => {
  // The monotonic clock counts from another moment.
  const clock = { nowMs: () => END_AT_MS - 60_000, monotonicMs: () => 500 };
  const term = termAtMs === null ? null : termAtMs - clock.nowMs() + clock.monotonicMs();
  expect(isLastWindow(bound(changes), term, clock)).toBe(expected);
});
