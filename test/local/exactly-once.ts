import { expect } from "vitest";
import type { Step } from "./harness.ts";

/** Every step once, in order, and never two at a time. */
export function expectExactlyOnce(steps: readonly Step[], total: number): void {
  expect(steps.map(({ step }) => step)).toEqual(Array.from({ length: total }, (_, i) => i + 1));
  expectNoOverlap(steps);
}

/**
 * After a KILL the last step may be done again, since it was logged before it was saved; no saved one is lost or repeated, and no
 * two processes ever worked at a time.
 */
export function expectNothingLost(steps: readonly Step[], total: number): void {
  expect([...new Set(steps.map(({ step }) => step))]).toEqual(Array.from({ length: total }, (_, i) => i + 1));
  for (const [i, { step, attempt }] of steps.entries()) {
    const before = steps[i - 1];
    if (before === undefined || step === before.step + 1) continue;
    expect({ step, again: attempt > before.attempt }).toEqual({ step: before.step, again: true });
  }
  expectNoOverlap(steps);
}

function expectNoOverlap(steps: readonly Step[]): void {
  for (const [i, step] of steps.entries()) {
    const before = steps[i - 1];
    if (before === undefined) continue;
    expect(step.from).toBeGreaterThanOrEqual(before.to);
    expect(step.attempt).toBeGreaterThanOrEqual(before.attempt);
  }
}
