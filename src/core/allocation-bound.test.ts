import { describe, expect, test } from "vitest";
import { type AllocationBound, isWorthStarting, limitWithin, withinAllocation } from "./allocation-bound.ts";
import { NO_SAVES } from "./margin.ts";
import type { Decision } from "./records.ts";

const END = Date.UTC(2026, 2, 1, 14, 5, 9);
const HOUR = 3_600_000;

describe("the limit of a local attempt inside an allocation", () => {
  test.each<[string, number | null, number | null, number, number | null]>([
    ["is its own, in no allocation", HOUR, null, END, HOUR],
    ["is its own, long before the end", HOUR, END, END - 2 * HOUR, HOUR],
    ["is what is left but for 5 s, near the end", HOUR, END, END - HOUR, HOUR - 5_000],
    ["is what is left, without one of its own", null, END, END - HOUR, HOUR - 5_000],
    ["is nothing behind the end", HOUR, END, END + 1, 0],
    ["is none, in no allocation and without one of its own", null, null, END, null],
  ])("%s", (_, limitMs, endAtMs, nowMs, expected) => {
    expect(limitWithin(limitMs, endAtMs, nowMs)).toBe(expected);
  });
});

describe("a decision to go on", () => {
  const bound: AllocationBound = { limitMs: HOUR, marginMs: 60_000, allocationEndAtMs: END };
  const goOn: Decision = { kind: "continue" };
  const drained: Decision = {
    kind: "stop",
    why: "drained: the allocation ends at 2026-03-01 14:05:09 UTC",
    advice: "in another allocation: stint resume JOB",
  };
  // Margin, a tenth of the window of 59 min, and 5 s.
  const leastMs = 60_000 + 354_000 + 5_000;

  test.each<[string, Decision, Partial<AllocationBound>, number, Decision]>([
    ["stands while a useful attempt fits", goOn, {}, END - leastMs, goOn],
    ["is a drain where less is left", goOn, {}, END - leastMs + 1, drained],
    ["is a drain behind the end", goOn, {}, END + HOUR, drained],
    ["stands in no allocation", goOn, { allocationEndAtMs: null }, END + HOUR, goOn],
    ["without a limit needs the margin and a tenth of it", goOn, { limitMs: null }, END - 71_000, goOn],
    ["without a limit is a drain where less is left", goOn, { limitMs: null }, END - 70_999, drained],
    ["with a margin sized by itself needs that margin", goOn, { marginMs: "auto" }, END - leastMs + 1, drained],
  ])("%s", (_, decision, change, nowMs, expected) => {
    expect(withinAllocation(decision, { ...bound, ...change }, NO_SAVES, nowMs)).toEqual(expected);
  });

  test("counts the back-off", () => {
    const retry = (notBeforeMs: number): Decision => ({ kind: "retry", notBeforeMs });
    const at = (notBeforeMs: number) => withinAllocation(retry(notBeforeMs), bound, NO_SAVES, END - HOUR);
    expect(at(END - leastMs)).toEqual(retry(END - leastMs));
    expect(at(END - leastMs + 1)).toEqual(drained);
  });

  test.each<Decision>([
    { kind: "finish" },
    { kind: "hold", why: "w", advice: "a" },
    { kind: "stop", why: "w", advice: null },
  ])("is the only one that is changed: %j", (decision) => {
    expect(withinAllocation(decision, bound, NO_SAVES, END)).toBe(decision);
  });

  test("is asked the same before anything is made", () => {
    expect(isWorthStarting(bound, NO_SAVES, END - leastMs)).toBe(true);
    expect(isWorthStarting(bound, NO_SAVES, END - leastMs + 1)).toBe(false);
  });
});
