/** What the badly behaved applications of these tests have in common: steps in a log of their own, and what it must show. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { AttemptRecords, Budgets } from "../../src/core/index.ts";
import { expectExactlyOnce, expectNothingLost } from "../local/exactly-once.ts";
import { type Project, SPEC, type Step } from "../local/harness.ts";

/**
 * For bash: `step` works for 50 ms, notes itself in log.txt (attempt, boot, pid, start, end, number) and saves. `$n` is the
 * last step; it begins where the checkpoint says.
 */
export const STEPS = `
read -r boot </proc/sys/kernel/random/boot_id
n=0; [ -e state.txt ] && read -r n <state.txt
n=$((10#$n))
save() { echo "$n" >state.tmp && mv state.tmp state.txt; }
step() {
  local from=$EPOCHREALTIME
  sleep 0.05
  n=$((n + 1))
  printf '%s %s %s %s %s %s\\n' "$STINT_ATTEMPT" "$boot" "$$" "$from" "$EPOCHREALTIME" "$n" >>log.txt
  save
}
`;

/** A process that writes a line every 20 ms and that nothing but KILL ends: attempt, pid, time. */
export const WRITER = `
trap '' TERM HUP INT
while :; do echo "$1 $$ $EPOCHREALTIME" >>writers.txt; sleep 0.02; done
`;

export interface LoggedStep extends Step {
  readonly boot: string;
}

export function loggedSteps(folder: string): LoggedStep[] {
  return linesOf(folder, "log.txt").map((line) => {
    const [attempt = "", boot = "", pid, from, to, step] = line.split(" ");
    return { attempt: Number(attempt), boot, pid: Number(pid), from: Number(from), to: Number(to), step: Number(step) };
  });
}

export interface Written {
  readonly attempt: number;
  readonly pid: number;
  readonly at: number;
}

export function written(folder: string): Written[] {
  return linesOf(folder, "writers.txt").map((line) => {
    const [attempt, pid, at] = line.split(" ").map(Number);
    return { attempt: attempt ?? 0, pid: pid ?? 0, at: at ?? 0 };
  });
}

/** No saved step lost, no two processes at a time, all on one boot, so that their times can be compared. */
export function expectChain(folder: string, total: number, how: "once" | "nothing-lost" = "nothing-lost"): void {
  const steps = loggedSteps(folder);
  expect(new Set(steps.map(({ boot }) => boot)).size).toBe(1);
  if (how === "once") expectExactlyOnce(steps, total);
  else expectNothingLost(steps, total);
}

export function lines(text: string): string[] {
  return text.trimEnd().split("\n");
}

function linesOf(folder: string, name: string): string[] {
  const path = join(folder, name);
  return existsSync(path) ? lines(readFileSync(path, "utf8")) : [];
}

/** On a busy machine a window may pass before the application has come to anything: that must not end these chains. */
export const PATIENT: Budgets = { ...SPEC.budgets, stalled: 20, neverRan: 50, inARow: 100 };

/** Attempts whose application was started. */
export async function attemptsThatRan(project: Project): Promise<AttemptRecords[]> {
  return (await project.attempts()).filter((attempt) => attempt.go?.what === "start");
}
