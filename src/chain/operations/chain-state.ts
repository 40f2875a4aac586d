/** What a chain is doing and who will move it, from its records and the answers of one round. Asks nobody itself. */
import {
  type AttemptRecords,
  isNothing,
  neverStarts,
  prove,
  type Ref,
  refOf,
  type Seen,
  type Started,
  standingDecision,
  stopInForce,
  waitsAsWished,
} from "../../core/index.ts";
import { aliveHere } from "../../host/index.ts";
import { commandText } from "../../spec/index.ts";
import { hasTasks, isAtRest, type JobOnFile } from "./job-on-file.ts";
import { inQueue, queueAdvice, queueReason } from "./queue-state.ts";
import { type SubmitterNow, submitterText } from "./submitter-status.ts";

/**
 * - `running`: an application is (or is about to be) at work.
 * - `waiting`: somebody will move it: a queued job, a claimer at work, a wait for a proof; `reason` says which.
 * - `held`: a person must look. - `stranded`: not over, and nobody will move it.
 * - `over`: finished, stopped or cancelled; `decision` says which.
 * - `unfinished-submit`: the submit died half-way; typing it again mends it.
 * - `unreadable`: its records cannot be used by this version; `reason` says why.
 */
export type ChainState = "running" | "waiting" | "held" | "stranded" | "over" | "unfinished-submit" | "unreadable";

/** The answers of one round, and what was read beside the records. */
export interface StateInput {
  readonly seen: ReadonlyMap<Ref, Seen>;
  /** `started` of the newest settled attempt: its body may be about to claim the next. */
  readonly settledStarted: Started | null;
  /** Pid of a process here that attends the chain; null: none. */
  readonly attendedBy: number | null;
  /** Mode submitter: the one that lives or is queued; null: none is seen. */
  readonly submitter: SubmitterNow | null;
  /** The task among the others of its job; absent: it has no others, or they were not looked at. */
  readonly others?: OtherTasks;
  readonly nowMs: number;
  readonly nowMonotonicMs: number;
}

export interface OtherTasks {
  /** It has not begun, and others are in its way. */
  readonly mustWait: boolean;
  /** One of them is seen to move: it takes on what nobody else does. */
  readonly move: boolean;
}

export interface StateNow {
  readonly state: ChainState;
  readonly reason: string | null;
  /** What a person should do; null: nothing. */
  readonly advice: string | null;
  /** The attempt that the state speaks of; null: none yet. */
  readonly attempt: number | null;
  /** A body, a guardian or a job in the scheduler that will move the chain is seen now. */
  readonly mover: boolean;
}

/** `name`: the job as a person types it, for what is to be done. */
export function stateOf(job: JobOnFile, input: StateInput, name: string): StateNow {
  const { settled, open } = job.state;
  if (isAtRest(job)) return restOf(job, name);
  let waiting: StateNow | null = null;
  for (const attempt of open) {
    if (isNothing(attempt)) continue;
    const now =
      attempt.go?.what === "start" ? startedState(attempt, job, input, name) : queuedState(attempt, job, input, name);
    // A running attempt is the news, whatever waits around it; else what waits lowest is what the chain waits for.
    if (now !== null && now.state !== "waiting") return now;
    waiting ??= now;
  }
  if (waiting !== null) return waiting;
  const last = settled?.number ?? null;
  if (input.settledStarted !== null && isHandingOver(input.settledStarted, input.seen))
    return waits(last, `attempt ${last} is handing over`, true);
  if (input.others?.mustWait === true)
    return waits(last, `waits for a slot: ${job.spec.tasks?.parallel} at a time`, false);
  const { submitter } = input;
  if (submitter !== null)
    return waits(
      last,
      `moved by ${submitterText(submitter, input.nowMs)}`,
      submitter.phase === "queued" || submitter.phase === "running",
    );
  if (input.others?.move === true) return waits(last, "is taken on by the other tasks of the job", false);
  if (input.attendedBy !== null) return waits(last, `attended by process ${input.attendedBy}`, false);
  return {
    state: "stranded",
    reason: whyStranded(job, input.seen),
    advice: `stint resume ${name}`,
    attempt: open.at(-1)?.number ?? last,
    mover: false,
  };
}

function waits(attempt: number | null, reason: string, mover: boolean): StateNow {
  return { state: "waiting", reason, advice: null, attempt, mover };
}

/** Nobody moves it: a claim that was made elsewhere and went no further says where to look. */
function whyStranded(job: JobOnFile, seen: ReadonlyMap<Ref, Seen>): string {
  const { settled, open } = job.state;
  const inVain = open.find((attempt) => {
    const ref = isNothing(attempt) ? null : refOf(attempt);
    const answer = ref === null ? undefined : seen.get(ref);
    return answer !== undefined && isInVain(answer, job);
  });
  if (inVain !== undefined)
    return `attempt ${inVain.number} is queued for a dependency that can never be met, and nobody will queue another one`;
  if (settled === null && open.length === 0)
    return hasTasks(job) ? "nobody has begun it" : "no attempt was ever claimed";
  const claimed = open.find((a) => !isNothing(a) && a.claim !== null && refOf(a) === null);
  if (claimed?.claim == null || aliveHere(claimed.claim.by) !== "elsewhere")
    return "it is not over, and nobody will move it";
  return `attempt ${claimed.number} was claimed on ${claimed.claim.by.host} and never submitted`;
}

function restOf(job: JobOnFile, name: string): StateNow {
  const { settled } = job.state;
  const decision = standingDecision(settled?.record ?? null, job.stops);
  const attempt = job.lastRan?.number ?? null;
  const stop = stopInForce(job.stops);
  const note = job.stops.lists[0]?.ruling?.note ?? null;
  const noted = (why: string): string => (stop === null || note === null ? why : `${why}: ${note}`);
  const advice = (text: string): string => text.replaceAll("JOB", () => name);
  if (decision?.kind === "hold")
    return {
      state: "held",
      reason: decision.why,
      advice: job.notStarted === null ? advice(decision.advice) : otherCommandAdvice(job, name),
      attempt,
      mover: false,
    };
  const over = (reason: string, next: string | null): StateNow => ({
    state: "over",
    reason,
    advice: next,
    attempt,
    mover: false,
  });
  if (decision?.kind === "finish") return over("finished", null);
  if (decision?.kind === "stop")
    return over(noted(decision.why), decision.advice === null ? null : advice(decision.advice));
  return over(noted(stop === "cancel" ? "cancelled" : "drained"), advice("stint resume JOB"));
}

/** What cannot be started was mistyped, or is not there yet: the same name stands for this command alone. */
function otherCommandAdvice(job: JobOnFile, name: string): string {
  const text = commandText(job.spec.command);
  const shown = text.length > 80 ? `${text.slice(0, 79)}…` : text;
  return `when the command can be started (${shown}): stint resume ${name}; for another command: stint submit --again --name ${name} … -- COMMAND`;
}

/** An attempt whose application was let through the gate. */
function startedState(attempt: AttemptRecords, job: JobOnFile, input: StateInput, name: string): StateNow | null {
  const { number, started, exited } = attempt;
  const ref = refOf(attempt);
  const seen = ref === null ? null : (input.seen.get(ref) ?? null);
  const body = started === null ? "elsewhere" : aliveHere(started.body);
  const guardian = started?.guardian == null ? "gone" : aliveHere(started.guardian);
  const lives = body === "alive" || guardian === "alive" || seen?.kind === "active";
  const stop = stopInForce(job.stops);
  if (exited === null && (body === "alive" || seen?.kind === "active"))
    return {
      state: "running",
      reason: stop === null ? null : `${stop} asked for`,
      advice: null,
      attempt: number,
      mover: true,
    };
  if (lives) return waits(number, `attempt ${number} is ending`, true);
  if (seen?.kind === "unreachable") return waits(number, silence(number, seen.error), false);
  const answer = prove({
    attempt,
    seen,
    watch: null,
    word: job.stops.words.get(number) ?? null,
    timing: job.spec.timing,
    nowMonotonicMs: input.nowMonotonicMs,
  });
  if (answer.kind !== "unprovable") return null;
  return {
    state: "held",
    reason: `attempt ${number} unproved: ${answer.why}`,
    advice: `make sure that nothing of it runs any more, then: stint resume ${name} --over ${number}`,
    attempt: number,
    mover: false,
  };
}

/** An attempt that is claimed or queued. Null: nobody stands behind it. */
function queuedState(attempt: AttemptRecords, job: JobOnFile, input: StateInput, name: string): StateNow | null {
  const { number, started, claim } = attempt;
  const waiting = (reason: string): StateNow => waits(number, reason, true);
  if (started !== null && aliveHere(started.body) === "alive") return waiting(`attempt ${number} waits for its turn`);
  const ref = refOf(attempt);
  if (ref === null) {
    const claimer = claim === null ? "gone" : aliveHere(claim.by);
    if (claimer === "alive") return waits(number, `attempt ${number} is being submitted`, false);
    // Its claimer can't be seen from here: for as long as a submit takes it may be at it, after that nobody is.
    const isYoung = claim !== null && Math.abs(input.nowMs - claim.atMs) < job.spec.timing.unclearMs;
    if (claimer !== "elsewhere" || !isYoung) return null;
    return waits(number, `attempt ${number} is being submitted on ${claim.by.host}`, false);
  }
  const seen = input.seen.get(ref);
  if (seen?.kind === "unreachable") return waits(number, silence(number, seen.error), false);
  if (seen?.kind !== "active" || isInVain(seen, job)) return null;
  const begin = Math.max(claim?.notBeforeMs ?? 0, backoffEndOf(job));
  if (seen.phase === "pending" && begin > input.nowMs)
    return waiting(`attempt ${number} begins in ${Math.ceil((begin - input.nowMs) / 1000)} s (back-off)`);
  const place = seen.phase === "pending" ? inQueue(number, seen, input.nowMs) : null;
  if (place !== null) return { ...waiting(queueReason(place)), advice: queueAdvice(place, name) };
  const reason = seen.reason === null ? "" : ` (${seen.reason})`;
  if (seen.phase !== "pending") return waiting(`attempt ${number} is starting`);
  return waiting(`attempt ${number} is queued${reason}`);
}

/** A successor that was queued before its predecessor failed waits for this too; 0: for none. */
function backoffEndOf({ state: { settled } }: JobOnFile): number {
  const decision = settled?.record.decision;
  return decision?.kind === "retry" ? decision.notBeforeMs : 0;
}

/** Whoever moves the chain takes it back and queues another one in its place, which then may start. */
function isInVain(seen: Seen, job: JobOnFile): boolean {
  return neverStarts(seen) && !waitsAsWished(job.spec, job.state);
}

/** What an unreachable answer says where the scheduler was left alone on purpose. */
export const NOT_ASKED = "it was not asked";

function silence(attempt: number, error: string): string {
  if (error === NOT_ASKED) return `attempt ${attempt} is on file; the scheduler was not asked`;
  return `the scheduler can't be asked: ${error}`;
}

/** Whether the body that began so, or who stands behind it, is still there to move the chain on. */
export function isHandingOver(started: Started, seen: ReadonlyMap<Ref, Seen>): boolean {
  const guardian = started.guardian === null ? "gone" : aliveHere(started.guardian);
  return aliveHere(started.body) === "alive" || guardian === "alive" || seen.get(started.ref)?.kind === "active";
}
