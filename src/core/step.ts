/**
 * The chain's state machine as one pure function (protocol §3): given what is on file and what has been seen, what is the
 * next single thing to do? `advance` does it, reads again, and asks again, until the answer is to rest. Everybody calls
 * the same function; each step either creates a record once or changes nothing.
 */
import { afterResume, decide, decideNeverRan, EMPTY_CARRY, spend } from "./decision.ts";
import type { Timing } from "./job-spec.ts";
import { measuredSaving } from "./margin.ts";
import { type Progress, progressOf, progressValue, type Reading } from "./progress.ts";
import { apartForSure, prove, type Watch } from "./proof.ts";
import type {
  AttemptRecords,
  Basis,
  Carry,
  Decision,
  Evidence,
  Policy,
  Proof,
  Ref,
  Settled,
  Verdict,
  WithdrawReason,
} from "./records.ts";
import { neverStarts, type Seen } from "./seen.ts";
import { isResumed, type Stops, standingDecision, stopInForce, stopNumber } from "./stops.ts";
import { judge } from "./verdict.ts";

/** What is known of the process that made a claim and has not submitted it; `unclear`: we did, and got no clear answer. */
export type Claimer = "me" | "unclear" | "alive" | "gone" | "elsewhere";

export interface View {
  /** The highest settled attempt; null: none. */
  readonly settled: { readonly number: number; readonly record: Settled } | null;
  /** All attempts above it, ascending. */
  readonly open: readonly AttemptRecords[];
  readonly stops: Stops;
  readonly policy: Policy;
  readonly timing: Timing;
  /** Successors wanted while an attempt runs. */
  readonly ahead: number;
  /** The attempt whose body is asking; null: a driver asks. */
  readonly me: number | null;
  /** Only keep successors queued above `me`, which is running. */
  readonly topUp: boolean;
  /** Whether the caller may claim the next attempt. In mode submitter a body may not: it settles, and the submitter claims. */
  readonly claims: boolean;
  /** What is queued waits for a dependency of the user's own. */
  readonly waitsAsWished: boolean;
  /** Answers of this round, by ref; a missing one has not been asked for. */
  readonly seen: ReadonlyMap<Ref, Seen>;
  /** Answers of this round on scripts of claims without a job, by attempt. */
  readonly found: ReadonlyMap<number, "none" | "unreachable" | "adopted">;
  readonly claimers: ReadonlyMap<number, Claimer>;
  /** Attempts whose submit was refused or unclear in this call: look again later. */
  readonly refused: ReadonlyMap<number, { readonly error: string; readonly lookAgainMs: number }>;
  /** Refs that a cancel of this round has been sent to. */
  readonly cancelled: ReadonlySet<Ref>;
  readonly watches: ReadonlyMap<number, Watch>;
  /** The checkpoint as read in this round; null: not read. */
  readonly reading: Reading | null;
  /** Elapsed ms of the last sample, by attempt, as read in this round; null: it has none. */
  readonly sampled: ReadonlyMap<number, number | null>;
  readonly nowMs: number;
  readonly nowMonotonicMs: number;
}

/** A settlement without its record's frame (version, nonce, time). */
export type Settlement = Pick<Settled, "verdict" | "decision" | "evidence" | "carry" | "stopNumber">;

/** Other tasks of the job that may begin and were not begun; while any is left here, nobody else need be there to begin it. */
export interface OthersLeft {
  readonly count: number;
  /** What the scheduler said, or that the time for it was over. */
  readonly why: string;
  /** Infinite: the time that was given is over. */
  readonly lookAgainMs: number;
}

export type Outcome =
  | {
      readonly kind: "over";
      readonly verdict: Verdict;
      readonly decision: Decision;
      readonly attempt: number;
      readonly others?: OthersLeft;
    }
  | {
      readonly kind: "held";
      readonly why: string;
      readonly advice: string;
      readonly attempt: number;
      readonly others?: OthersLeft;
    }
  | {
      readonly kind: "waiting";
      readonly why: string;
      readonly attempt: number;
      readonly lookAgainMs: number;
      /** It has not begun, and other tasks of its job are in its way: whoever ends one of them begins it. */
      readonly forSlot?: true;
    }
  /** A living attempt is queued or running: it moves the chain. */
  | { readonly kind: "going"; readonly attempt: number };

export type Step =
  | { readonly do: "ask"; readonly refs: readonly Ref[] }
  | { readonly do: "find"; readonly attempt: number }
  | { readonly do: "read-checkpoint" }
  | { readonly do: "read-samples"; readonly attempt: number }
  | { readonly do: "withdraw"; readonly attempt: number; readonly reason: WithdrawReason; readonly note: string | null }
  | { readonly do: "cancel"; readonly refs: readonly Ref[] }
  | { readonly do: "settle"; readonly attempt: number; readonly settlement: Settlement }
  | {
      readonly do: "claim";
      readonly attempt: number;
      readonly basis: Basis;
      readonly after: number;
      readonly notBeforeMs: number | null;
    }
  | { readonly do: "submit"; readonly attempt: number }
  | { readonly do: "rest"; readonly outcome: Outcome };

export function nextStep(view: View): Step {
  const decision = standingDecision(view.settled?.record ?? null, view.stops);
  const stop = stopInForce(view.stops);
  const ending = decision !== null && decision.kind !== "continue" && decision.kind !== "retry";
  const survey: Survey = { waits: null, living: [], running: null };
  // Keeping successors queued is the running body's own affair: it asks nobody about what lies below.
  const concerned = view.open.filter((a) => !view.topUp || view.me === null || a.number >= view.me);
  if (ending || stop !== null) {
    // Records first: when all are on file, one cancel does for all.
    const next = concerned.find((a) => a.go === null && (a.claim !== null || a.started !== null));
    if (next !== undefined)
      return { do: "withdraw", attempt: next.number, reason: stop === null ? "not-needed" : "stopped", note: null };
  }
  for (const attempt of concerned) {
    const step = visit(attempt, view, survey);
    if (step !== null) return step;
  }
  return conclude(view, decision, stop, survey);
}

interface Survey {
  /** The first attempt that must wait: nothing above it is settled before it. */
  waits: Outcome | null;
  readonly living: number[];
  running: number | null;
}

/** Settlements are made in order of number: behind one that waits or lives, nothing is settled. */
function mustWait(survey: Survey): boolean {
  return survey.waits !== null || survey.living.length > 0;
}

/** One open attempt, from below: the step that it needs, or null when it is to be left as it is. */
function visit(attempt: AttemptRecords, view: View, survey: Survey): Step | null {
  if (attempt.go?.what === "start") return visitStarted(attempt, view, survey);
  if (attempt.go?.what === "withdrawn") return visitWithdrawn(attempt, view, survey);
  if (attempt.claim === null && attempt.started === null) return null; // folder made, no claim: anybody claims that number
  return visitQueued(attempt, view, survey);
}

function visitStarted(attempt: AttemptRecords, view: View, survey: Survey): Step | null {
  survey.running = attempt.number;
  if (view.topUp && attempt.number === view.me) return null;
  const ref = refOf(attempt);
  const seen = ref === null ? null : (view.seen.get(ref) ?? null);
  const answer = prove({
    attempt,
    seen,
    watch: view.watches.get(attempt.number) ?? null,
    word: view.stops.words.get(attempt.number) ?? null,
    timing: view.timing,
    nowMonotonicMs: view.nowMonotonicMs,
  });
  switch (answer.kind) {
    case "ask":
      return ref === null ? wait(survey, attempt.number, "no scheduler id on file", null, view) : ask(view);
    case "wait":
      return wait(survey, attempt.number, answer.why, answer.lookAgainMs, view);
    case "unprovable":
      if (survey.waits === null) survey.waits = unproved(attempt.number, answer.why);
      return null;
    case "proved":
      return settleStarted(attempt, answer.proof, seen, view, survey);
  }
}

function settleStarted(
  attempt: AttemptRecords,
  proof: Proof,
  seen: Seen | null,
  view: View,
  survey: Survey,
): Step | null {
  if (mustWait(survey) || attempt.go?.what !== "start") return null;
  const before = carryBelow(view);
  const { exited, started } = attempt;
  if (exited === null && view.reading === null) return { do: "read-checkpoint" };
  if (exited === null && !view.sampled.has(attempt.number)) return { do: "read-samples", attempt: attempt.number };
  const reading = exited === null ? view.reading : readingOf(exited.progressAfter);
  // A checkpoint that was there before the first attempt is no progress of that attempt.
  const mark = before.highWater ?? progressValue(attempt.go.progressBefore);
  const progress = progressOf(reading ?? { kind: "absent" }, mark);
  const stop = stopInForce(view.stops);
  const byWord = proof.by === "F" && (seen === null || seen.kind !== "over");
  const judgement = judge({ go: attempt.go, started, exited, seen, progress, stop }, view.policy);
  if (!byWord) {
    const ref = refOf(attempt);
    if (judgement.kind === "ask" && ref !== null && !view.seen.has(ref)) return ask(view);
    if (judgement.kind === "pending") return wait(survey, attempt.number, judgement.why, null, view);
  }
  const judged =
    judgement.kind === "judged"
      ? judgement
      : ({
          kind: "judged",
          verdict: "node-failed",
          why: "over, with no word on how",
          course: null,
          conflicts: [],
        } as const);
  const over = seen?.kind === "over" ? seen : null;
  const spent = {
    verdict: judged.verdict,
    progress,
    // Without a testimony the samples are all that is known of its time.
    ranMs: exited === null ? (view.sampled.get(attempt.number) ?? null) : exited.ranMs,
    ranIsLowerBound: exited === null,
    cpuUserMs: exited?.cpuUserMs ?? null,
    cpuSystemMs: exited?.cpuSystemMs ?? null,
    saving: measuredSaving(attempt, seen),
  };
  const carry = spend({ ...before, highWater: mark }, spent);
  const evidence: Evidence = {
    proof,
    why: judged.why,
    state: over?.state ?? null,
    exitCode: exited?.exitCode ?? over?.exitCode ?? null,
    signal: exited?.signal ?? null,
    progress,
    conflicts: judged.conflicts,
    startedAtMs: exited?.startedAtMs ?? started?.atMs ?? null,
    endedAtMs: exited?.atMs ?? null,
    ranMs: spent.ranMs,
    ...(exited === null && spent.ranMs !== null ? { ranIsLowerBound: true as const } : {}),
    cpuUserMs: spent.cpuUserMs,
    cpuSystemMs: spent.cpuSystemMs,
    memoryPeakBytes: exited?.memoryPeakBytes ?? null,
    ref: refOf(attempt),
    allocation: started?.allocation ?? {},
  };
  const decision = decide({
    verdict: judged.verdict,
    why: judged.why,
    course: judged.course,
    carry,
    progress,
    policy: view.policy,
    stop,
    nowMs: view.nowMs,
  });
  // A resume that came after the stop which was acted upon is newer than this settlement, though it is on file before it.
  const acted = exited?.stopNumber ?? stopNumber(view.stops);
  const settlement = { verdict: judged.verdict, decision, evidence, carry, stopNumber: acted };
  return { do: "settle", attempt: attempt.number, settlement };
}

function visitWithdrawn(attempt: AttemptRecords, view: View, survey: Survey): Step | null {
  // Whoever only keeps successors queued has not looked at what lies below, and settles nothing.
  if (attempt.go?.what !== "withdrawn" || view.topUp) return null;
  const ref = refOf(attempt);
  const settle = (text: string): Step | null => {
    if (mustWait(survey) || attempt.go?.what !== "withdrawn") return null;
    const { reason, note } = attempt.go;
    const { decision, carry } = decideNeverRan({
      reason,
      note,
      below: standingDecision(view.settled?.record ?? null, view.stops),
      carry: carryBelow(view),
      policy: view.policy,
      stop: stopInForce(view.stops),
      nowMs: view.nowMs,
    });
    const evidence = neverRanEvidence(attempt, `${reason}${note === null ? "" : `: ${note}`}`, text);
    return {
      do: "settle",
      attempt: attempt.number,
      settlement: { verdict: "never-ran", decision, evidence, carry, stopNumber: stopNumber(view.stops) },
    };
  };
  // A body that has withdrawn itself needs no scheduler to know that its job is about to be gone.
  if (attempt.number === view.me) return settle("go says withdrawn; its body leaves");
  if (ref === null) return settle("go says withdrawn; no job known");
  const seen = seenOf(attempt, view);
  if (seen === undefined) return ask(view);
  if (seen.kind === "over" || seen.kind === "absent") return settle("go says withdrawn; its job is gone");
  if (seen.kind === "unreachable") return wait(survey, attempt.number, `withdrawn; ${seen.error}`, null, view);
  const toCancel = withdrawnRefs(view);
  if (toCancel.length > 0) return { do: "cancel", refs: toCancel };
  return wait(survey, attempt.number, "withdrawn, its job is about to leave", 200, view);
}

function visitQueued(a: AttemptRecords, view: View, survey: Survey): Step | null {
  const withdraw = (reason: WithdrawReason, note: string | null): Step => ({
    do: "withdraw",
    attempt: a.number,
    reason,
    note,
  });
  if (a.number === view.me) {
    survey.living.push(a.number);
    return null;
  }
  // A body that waits for its turn doesn't wait for queued ones below it: they are passed over.
  if (view.me !== null && a.number < view.me && a.started === null) {
    // Unless its owner has taken it back: that was meant for the chain.
    const below = seenOf(a, view);
    if (below === undefined && refOf(a) !== null) return ask(view);
    if (below !== undefined && isCancelledByOwner(below, view)) return withdraw("cancelled-by-owner", textOf(below));
    return withdraw("not-needed", "passed over");
  }
  const ref = refOf(a);
  if (ref === null) return visitClaimed(a, view, survey, withdraw);
  // The body knows that its own successors are queued; asking the scheduler about them would be a call for nothing.
  const seen = seenOf(a, view);
  if (view.me !== null && a.number > view.me && seen === undefined) {
    survey.living.push(a.number);
    return null;
  }
  if (seen === undefined) return ask(view);
  switch (seen.kind) {
    case "active":
      // Another job in its place is no help where it would wait for the same: then a person is told.
      if (neverStarts(seen) && !view.waitsAsWished)
        return withdraw("job-gone", "its dependency can never be satisfied");
      survey.living.push(a.number);
      return null;
    case "unreachable":
      survey.living.push(a.number);
      return null;
    case "over":
      if (!seen.final) return wait(survey, a.number, `state ${seen.state} is not final yet`, null, view);
      return withdraw(isCancelledByOwner(seen, view) ? "cancelled-by-owner" : "job-gone", seen.text);
    case "absent": {
      const doubt = view.watches.get(a.number)?.doubt ?? null;
      const stands = doubt === null ? 0 : doubt.lastMs - doubt.sinceMs;
      const apartMs = apartForSure(view.timing);
      if (doubt !== null && doubt.count >= 2 && stands >= apartMs)
        return withdraw("job-gone", "unknown to the scheduler");
      const left = Math.max(1, apartMs - stands);
      return wait(survey, a.number, "its job is unknown to the scheduler: looking twice", left, view);
    }
  }
}

/** Every cancel of ours is on file before it is done: this one was the owner's own. */
function isCancelledByOwner(seen: Seen, { policy }: View): boolean {
  return seen.kind === "over" && seen.final && seen.state === "CANCELLED" && seen.cancelledByUid === policy.ownerUid;
}

function textOf(seen: Seen): string {
  return seen.kind === "over" ? seen.text : seen.kind;
}

/** A claim without a job: its claimer submits it, or it is adopted by its script, or withdrawn. */
function visitClaimed(
  a: AttemptRecords,
  view: View,
  survey: Survey,
  withdraw: (reason: WithdrawReason, note: string | null) => Step,
): Step | null {
  const claimer = view.claimers.get(a.number) ?? "elsewhere";
  const refused = view.refused.get(a.number);
  if (claimer === "me") {
    if (refused === undefined) return { do: "submit", attempt: a.number };
    return wait(survey, a.number, refused.error, refused.lookAgainMs, view);
  }
  if (claimer === "alive")
    return wait(survey, a.number, "is being submitted by another process", view.timing.pollMs, view);
  const watched = view.watches.get(a.number)?.silentSinceMs ?? null;
  const watchedMs = watched === null ? 0 : view.nowMonotonicMs - watched;
  if (claimer === "elsewhere" && watchedMs < view.timing.unclearMs)
    return wait(survey, a.number, "was claimed on another machine", view.timing.unclearMs - watchedMs, view);
  const found = view.found.get(a.number);
  if (found === undefined) return { do: "find", attempt: a.number };
  if (found === "unreachable")
    return wait(survey, a.number, "claimed; the scheduler can't be asked for its job", null, view);
  if (found === "adopted") return wait(survey, a.number, "its job was found", 1, view);
  if (claimer === "unclear") {
    if (watchedMs < view.timing.unclearMs)
      return wait(survey, a.number, "submitted without a clear answer: looking for its job", view.timing.pollMs, view);
    return withdraw("submit-unclear", "no job with its script appeared");
  }
  return withdraw("orphaned-claim", "its maker is gone and there is no job with its script");
}

/** Nothing to do for any open attempt: rest, or make the next claim. */
function conclude(view: View, decision: Decision | null, stop: "drain" | "cancel" | null, survey: Survey): Step {
  const rest = (outcome: Outcome): Step => ({ do: "rest", outcome });
  const last = view.settled;
  const allWithdrawn = view.open.every((a) => a.go?.what === "withdrawn" || (a.claim === null && a.started === null));
  if (last !== null && decision !== null && allWithdrawn && survey.running === null) {
    if (decision.kind === "finish" || decision.kind === "stop")
      return rest({ kind: "over", verdict: last.record.verdict, decision, attempt: last.number });
    if (decision.kind === "hold")
      return rest({ kind: "held", why: decision.why, advice: decision.advice, attempt: last.number });
  }
  if (survey.waits !== null) return rest(survey.waits);
  if (stop !== null) {
    // Stopped before anything was settled: there is nothing to stand on but the stop itself.
    const verb: Decision = {
      kind: "stop",
      why: stop === "cancel" ? "cancelled" : "drained",
      advice: "stint resume JOB",
    };
    if (survey.running === null)
      return rest({
        kind: "over",
        verdict: last?.record.verdict ?? "never-ran",
        decision: verb,
        attempt: last?.number ?? 0,
      });
    return rest({ kind: "going", attempt: survey.running });
  }
  const above = survey.living.filter((n) => view.me === null || !view.topUp || n > view.me);
  const want = view.topUp ? view.ahead : Math.max(1, view.ahead);
  const waitingBody = view.me !== null && !view.topUp;
  if (waitingBody || above.length >= want) return rest({ kind: "going", attempt: above[0] ?? view.me ?? 0 });
  if (!view.claims)
    return rest({ kind: "waiting", why: NEXT_IS_CLAIMED, attempt: last?.number ?? 0, lookAgainMs: view.timing.pollMs });
  // A successor of a body that is about to start runs after it, whatever the decision below says of the next start.
  const own = view.topUp ? view.open.find((a) => a.number === view.me) : undefined;
  const runsBelow = survey.running !== null || (own !== undefined && own.go?.what !== "withdrawn");
  return claimNext(view, decision, above.length > 0 || runsBelow, runsBelow);
}

const NEXT_IS_CLAIMED = "the next attempt is the submitter's to claim";

function claimNext(view: View, decision: Decision | null, ahead: boolean, runsBelow: boolean): Step {
  const top = view.open.at(-1);
  const unclaimed = view.open.find((a) => a.claim === null && a.started === null && a.number === top?.number);
  const highest = top?.number ?? view.settled?.number ?? 0;
  const untouched = view.settled === null && view.open.every((a) => a.claim === null && a.started === null);
  const resumed = view.settled !== null && isResumed(view.settled.record, view.stops);
  return {
    do: "claim",
    attempt: unclaimed?.number ?? highest + 1,
    basis: ahead ? "ahead" : resumed ? "resume" : untouched ? "first" : "after",
    after: view.settled?.number ?? 0,
    // With nothing at work below it, every start waits for the time that the decision below names.
    notBeforeMs: !runsBelow && decision?.kind === "retry" ? decision.notBeforeMs : null,
  };
}

/** The carry that the next settlement builds on. */
export function carryBelow(view: Pick<View, "settled" | "stops">): Carry {
  if (view.settled === null) return EMPTY_CARRY;
  const { record } = view.settled;
  return isResumed(record, view.stops) ? afterResume(record.carry) : record.carry;
}

/**
 * The scheduler's name for an attempt. What the body says of itself counts: after an unclear submit two jobs may carry the
 * same script, and the one that was put on file need not be the one that became the body.
 */
export function refOf(attempt: AttemptRecords): Ref | null {
  return attempt.started?.ref ?? attempt.submitted?.ref ?? null;
}

/** When TERM comes to an attempt, by the margin in force (epoch ms); null: no limit, or not started. */
export function windowEndOf({ started, go }: Pick<AttemptRecords, "started" | "go">): number | null {
  if (started === null || started.limitEndAtMs === null) return null;
  const marginMs = go?.what === "start" ? go.marginMs : undefined;
  return marginMs === undefined ? started.windowEndAtMs : started.limitEndAtMs - marginMs;
}

/** Every job known to carry the attempt's script. */
export function refsOf(attempt: AttemptRecords): readonly Ref[] {
  const refs = [attempt.started?.ref, attempt.submitted?.ref].filter((ref): ref is Ref => ref !== undefined);
  return [...new Set(refs)];
}

/** What is seen of all jobs of an attempt together; undefined: not asked yet. A living one outweighs the rest. */
function seenOf(attempt: AttemptRecords, view: View): Seen | undefined {
  const all: Seen[] = [];
  for (const ref of refsOf(attempt)) {
    const seen = view.seen.get(ref);
    if (seen === undefined) return undefined;
    all.push(seen);
  }
  const rank: readonly Seen["kind"][] = ["active", "unreachable", "over", "absent"];
  return all.sort((a, b) => rank.indexOf(a.kind) - rank.indexOf(b.kind))[0];
}

/** One question for everything that is open. */
function ask(view: View): Step {
  return { do: "ask", refs: view.open.flatMap(refsOf) };
}

function withdrawnRefs(view: View): readonly Ref[] {
  return view.open
    .filter((a) => a.go?.what === "withdrawn" && a.number !== view.me)
    .flatMap(refsOf)
    .filter((ref) => view.seen.get(ref)?.kind === "active" && !view.cancelled.has(ref));
}

function wait(survey: Survey, attempt: number, why: string, lookAgainMs: number | null, view: View): null {
  survey.waits ??= { kind: "waiting", why, attempt, lookAgainMs: lookAgainMs ?? view.timing.pollMs };
  return null;
}

function unproved(attempt: number, why: string): Outcome {
  return {
    kind: "held",
    attempt,
    why: `attempt ${attempt} unproved: ${why}`,
    advice: `make sure that nothing of it runs any more, then: stint resume JOB --over ${attempt}`,
  };
}

function readingOf(progress: Progress): Reading {
  switch (progress.state) {
    case "not-configured":
      return { kind: "not-configured" };
    case "absent":
      return { kind: "absent" };
    case "invalid":
      return { kind: "invalid", why: progress.why };
    default:
      return { kind: "value", value: progress.value };
  }
}

function neverRanEvidence(attempt: AttemptRecords, why: string, seen: string): Evidence {
  return {
    proof: { attempt: attempt.number, by: "A", seen },
    why,
    state: null,
    exitCode: null,
    signal: null,
    progress: { state: "not-configured" },
    conflicts: [],
    startedAtMs: null,
    endedAtMs: null,
    ranMs: null,
    cpuUserMs: null,
    cpuSystemMs: null,
    memoryPeakBytes: null,
    ref: refOf(attempt),
    allocation: attempt.started?.allocation ?? {},
  };
}
