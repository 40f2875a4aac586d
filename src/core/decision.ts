/** What follows from a verdict: budgets, back-off and holds (design §5, "Endless loops end"). Pure arithmetic. */
import { withinAllocation } from "./allocation-bound.ts";
import { NO_SAVES, noteSaving, type Saves, type Saving } from "./margin.ts";
import { type Progress, progressValue } from "./progress.ts";
import type { Carry, Decision, Policy, Verdict, WithdrawReason } from "./records.ts";
import type { Course } from "./verdict.ts";

export const EMPTY_CARRY: Carry = {
  attempts: 0,
  ranMs: 0,
  failures: 0,
  stalled: 0,
  preemptions: 0,
  infrastructure: 0,
  neverRan: 0,
  inARow: 0,
  highWater: null,
  cpuUserMs: 0,
  cpuSystemMs: 0,
  recentSaves: NO_SAVES,
};

/**
 * A resume gives the budgets of the application a new start; attempts, wall and the site's faults stay counted. The
 * high-water mark goes too: a person may have put an older checkpoint back, and progress is counted from there.
 */
export function afterResume(carry: Carry): Carry {
  return { ...carry, failures: 0, stalled: 0, neverRan: 0, inARow: 0, highWater: null };
}

export interface Spent {
  readonly verdict: Verdict;
  readonly progress: Progress;
  readonly ranMs: number | null;
  /** It ran at least so long. */
  readonly ranIsLowerBound: boolean;
  readonly cpuUserMs: number | null;
  readonly cpuSystemMs: number | null;
  /** How it took our TERM; null: nothing to learn. */
  readonly saving: Saving | null;
}

/** The carry after an attempt whose application was allowed to start. */
export function spend(before: Carry, spent: Spent): Carry {
  const { verdict, progress } = spent;
  const above = progress.state === "above";
  const one = (...verdicts: readonly Verdict[]): number => (verdicts.includes(verdict) ? 1 : 0);
  const base = above ? { ...before, failures: 0, stalled: 0, inARow: 0 } : { ...before, inARow: before.inARow + 1 };
  return {
    attempts: base.attempts + 1,
    ranMs: base.ranMs + (spent.ranMs ?? 0),
    ...(base.ranIsLowerBound === true || spent.ranIsLowerBound || spent.ranMs === null
      ? { ranIsLowerBound: true as const }
      : {}),
    cpuUserMs: base.cpuUserMs + (spent.cpuUserMs ?? 0),
    cpuSystemMs: base.cpuSystemMs + (spent.cpuSystemMs ?? 0),
    failures: base.failures + one("failed", "out-of-memory"),
    stalled: base.stalled + one("stalled"),
    preemptions: base.preemptions + one("preempted"),
    infrastructure: base.infrastructure + one("node-failed"),
    neverRan: 0,
    inARow: base.inARow,
    highWater: above ? progressValue(progress) : base.highWater,
    recentSaves: savesAfter(before, spent),
  };
}

function savesAfter({ recentSaves = NO_SAVES }: Carry, { saving, progress }: Spent): Saves {
  return saving === null ? recentSaves : noteSaving(recentSaves, saving, progress);
}

export interface DecisionInput {
  readonly verdict: Verdict;
  readonly why: string;
  readonly course: Course;
  /** After this attempt. */
  readonly carry: Carry;
  readonly progress: Progress;
  readonly policy: Policy;
  readonly stop: "drain" | "cancel" | null;
  readonly nowMs: number;
}

/** Decides after an attempt that was allowed to start. */
export function decide(input: DecisionInput): Decision {
  return withinAllocation(decideAlone(input), input.policy, input.carry.recentSaves ?? NO_SAVES, input.nowMs);
}

function decideAlone(input: DecisionInput): Decision {
  const { verdict, carry, policy, stop, course, why, progress } = input;
  const { budgets } = policy;
  const hold = (reason: string, advice: string): Decision => ({ kind: "hold", why: reason, advice });
  if (verdict === "completed") return { kind: "finish" };
  if (stop !== null) return { kind: "stop", why: stop === "cancel" ? "cancelled" : "drained", advice: RESUME };
  if (course === "stop") return { kind: "stop", why, advice: verdict === "cancelled" ? RESUME : null };
  if (course === "hold") return hold(why, `look at the logs, mend the cause, then: ${RESUME}`);
  if (carry.attempts >= budgets.attempts) return hold(`${carry.attempts} attempts: budget spent`, RAISE);
  if (carry.ranMs >= budgets.wallMs) return hold("budget of wall time spent", RAISE);
  const configured = progress.state !== "not-configured";
  if (configured && carry.inARow >= budgets.inARow)
    return hold(`${carry.inARow} attempts in a row without new progress`, LOOK);
  const retry: Decision = { kind: "retry", notBeforeMs: input.nowMs + backoffMs(carry.inARow, policy) };
  switch (verdict) {
    case "checkpointed":
    case "window-ended":
      // Said to be saved again and again, and nothing is where it was to be saved: the next one begins anew like this one.
      return progress.state === "absent" && carry.inARow >= budgets.stalled
        ? hold(`${why} (${carry.inARow} times)`, WHERE)
        : { kind: "continue" };
    case "stalled":
      return carry.stalled >= budgets.stalled
        ? hold(
            `${why} (${carry.stalled} times)`,
            `give it a longer --limit${policy.marginMs === "auto" ? "" : " or --margin"}, or let it save sooner`,
          )
        : retry;
    case "failed":
    case "out-of-memory":
      if (carry.attempts === 1 && progress.state !== "above")
        return hold(
          `${why}: the first attempt failed without any progress`,
          progress.state === "absent" ? LOOK_WHERE : LOOK,
        );
      return carry.failures >= budgets.failures
        ? hold(`${why} (${carry.failures} failures without new progress)`, afterFailures(verdict, carry, progress))
        : retry;
    case "preempted":
      return carry.preemptions >= budgets.preemptions ? hold(`preempted ${carry.preemptions} times`, RAISE) : retry;
    case "node-failed":
      return carry.infrastructure >= budgets.infrastructure
        ? hold(`${why} (${carry.infrastructure} faults of the infrastructure)`, RAISE)
        : retry;
    case "cancelled":
      return { kind: "stop", why, advice: RESUME };
    case "never-ran":
      return { kind: "continue" };
  }
}

/** Who restarts from one checkpoint again and again and fails each time may be failing because of it. */
function afterFailures(verdict: "failed" | "out-of-memory", carry: Carry, progress: Progress): string {
  if (verdict === "out-of-memory") return MEMORY;
  if (progress.state === "absent") return LOOK_WHERE;
  const fromOne = progress.state === "not-above" && carry.inARow > 1;
  return fromOne ? `${LOOK}; if the checkpoint itself is bad: ${RESUME} --quarantine sets it aside` : LOOK;
}

export interface NeverRanInput {
  readonly reason: WithdrawReason;
  readonly note: string | null;
  /** The decision below it, as overridden by a resume; null: nothing below. */
  readonly below: Decision | null;
  readonly carry: Carry;
  readonly policy: Policy;
  readonly stop: "drain" | "cancel" | null;
  readonly nowMs: number;
}

/** Causes that are neither ours nor the user's: five in a row end the chain's trying. */
const NOT_OURS: ReadonlySet<WithdrawReason> = new Set([
  "job-gone",
  "waited-in-vain",
  "runtime-failed",
  "not-enough-time",
  "submit-unclear",
]);

/** An attempt that never ran repeats the decision below it; only its budget, a stop, or what its body found changes that. */
export function decideNeverRan(input: NeverRanInput): { readonly decision: Decision; readonly carry: Carry } {
  const { reason, note, policy, stop, nowMs } = input;
  const below: Decision = input.below ?? { kind: "continue" };
  const notOurs = NOT_OURS.has(reason);
  const carry: Carry = notOurs ? { ...input.carry, neverRan: input.carry.neverRan + 1 } : input.carry;
  const answer = (decision: Decision) => ({
    decision: withinAllocation(decision, policy, carry.recentSaves ?? NO_SAVES, nowMs),
    carry,
  });
  if (below.kind === "finish") return answer(below);
  if (reason === "total-reached") return answer({ kind: "finish" });
  if (stop !== null) return answer({ kind: "stop", why: stop === "cancel" ? "cancelled" : "drained", advice: RESUME });
  if (below.kind === "stop" || below.kind === "hold") return answer(below);
  if (reason === "cancelled-by-owner")
    return answer({ kind: "stop", why: `${note ?? "its queued job was cancelled"}: by yourself`, advice: RESUME });
  if (reason === "checkpoint-unusable") return answer({ kind: "hold", why: note ?? reason, advice: UNUSABLE });
  if (reason === "no-space" || reason === "other-owner")
    return answer({ kind: "hold", why: note ?? reason, advice: `mend it, then: ${RESUME}` });
  if (!notOurs) return answer(below);
  if (carry.neverRan >= policy.budgets.neverRan)
    return answer({
      kind: "hold",
      why: `${carry.neverRan} attempts in a row never ran (${note ?? reason})`,
      advice: `look at scheduler.log of the last attempt, then: ${RESUME}`,
    });
  const until = nowMs + backoffMs(carry.neverRan, policy);
  return answer({ kind: "retry", notBeforeMs: below.kind === "retry" ? Math.max(until, below.notBeforeMs) : until });
}

/** First wait, doubling with each attempt in a row without progress, up to the longest. */
export function backoffMs(inARow: number, policy: Policy): number {
  const doublings = Math.min(Math.max(inARow - 1, 0), 40);
  return Math.min(policy.backoffMaxMs, policy.backoffFirstMs * 2 ** doublings);
}

const RESUME = "stint resume JOB";
const LOOK = `see stint logs JOB, mend the cause, then: ${RESUME}`;
const WHERE =
  "does the program write it where --checkpoint says (stint status JOB --spec)? For another path: stint submit --again --name JOB … --checkpoint PATH";
const LOOK_WHERE = `${LOOK}; no checkpoint yet: ${WHERE}`;
const UNUSABLE = `mend it or put it back, then: ${RESUME}; to set it aside: ${RESUME} --quarantine; to start on it as it is: ${RESUME} --as-it-is; for another rule of reading it: ${RESUME} --progress RULE`;
const MEMORY = "give it more memory, then: stint resume JOB";
const RAISE = `if it should go on all the same: ${RESUME}`;
