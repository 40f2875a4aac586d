/**
 * Which tasks of a job may begin, where no more than K may be at work at a time. A rule on records alone, the same for everybody
 * who looks: nobody has to agree with anybody, and no process waits on behalf of a task.
 */
import type { AttemptRecords, Claim, Settled } from "./records.ts";
import { refOf } from "./step.ts";
import { isResumed, type Stops, stopInForce } from "./stops.ts";

/**
 * - `over`: finished, stopped or held, or never begun and its job stopped.
 * - `begun`: it has its slot, also between two attempts and while nobody can prove that its last one is over.
 * - `idle`: it needs a slot: it has never begun, a person has resumed it after it was over, or its last attempt never ran and
 *   nothing of it is left.
 */
export type TaskPhase = "over" | "begun" | "idle";

export interface TaskRecords {
  readonly settled: { readonly record: Settled } | null;
  /** All attempts above it. */
  readonly open: readonly AttemptRecords[];
}

/** Withdrawn, or a folder without a claim: nothing that could move or run. */
export function isNothing(attempt: AttemptRecords): boolean {
  return attempt.go?.what === "withdrawn" || (attempt.claim === null && attempt.started === null);
}

/**
 * It has begun, no job of it is known, and nobody is seen at work on its claim: whoever moves others of its job goes on with it. A
 * claimer on another host cannot be seen, so that its claim counts too: `advance` waits for as long as a submit takes, looks for a job
 * with the script, and only then takes the claim back.
 */
export function isLeft(
  phase: TaskPhase,
  { open }: Pick<TaskRecords, "open">,
  isAtIt: (claim: Claim, attempt: AttemptRecords) => boolean,
): boolean {
  if (phase !== "begun") return false;
  return open.every(
    (attempt) =>
      isNothing(attempt) || (refOf(attempt) === null && (attempt.claim === null || !isAtIt(attempt.claim, attempt))),
  );
}

export function taskPhase({ settled, open }: TaskRecords, stops: Stops): TaskPhase {
  if (!open.every(isNothing)) return "begun";
  const stopped = stopInForce(stops) !== null;
  if (settled === null) return stopped ? "over" : "idle";
  if (isResumed(settled.record, stops)) return "idle";
  const { verdict, decision } = settled.record;
  if (decision.kind !== "continue" && decision.kind !== "retry") return "over";
  if (stopped) return "over";
  return verdict === "never-ran" ? "idle" : "begun";
}

/**
 * Positions, in the order of the tasks, of the idle ones that may begin now. One may where fewer than K are in its way: those
 * before it that are not over, whether begun or not, and those behind it that have begun (which only happens when it was over and
 * is resumed). So however many look at once, and however old what they saw is, no more than K are ever at work: of those that
 * begin, the last in order has counted all others. The first of those that are not over is never kept waiting for another one
 * that has not begun.
 */
export function mayBegin(phases: readonly TaskPhase[], parallel: number | null): readonly number[] {
  const allowed: number[] = [];
  let begunBehind = phases.filter((phase) => phase === "begun").length;
  let before = 0;
  for (const [position, phase] of phases.entries()) {
    if (phase === "over") continue;
    if (phase === "begun") begunBehind -= 1;
    else if (parallel === null || before + begunBehind < parallel) allowed.push(position);
    before += 1;
  }
  return allowed;
}
