/**
 * Mode submitter: a job of its own watches and moves the chain. Its records as plain data, and what is to be done about it as
 * pure functions. Two submitters at once do no harm, since `advance` is idempotent (design law 3): nothing here proves an end,
 * and where one is taken for gone too early the later one wins.
 */
import type { Timing } from "./job-spec.ts";
import type { ProcessRef, Ref, Submitted } from "./records.ts";
import type { Seen } from "./seen.ts";
import type { Claimer } from "./step.ts";

interface Created {
  readonly version: number;
  readonly nonce: string;
  readonly atMs: number;
}

/** Why a submitter was made: by submit, by resume, by the one before it, or because that one was seen to be gone. */
export type SubmitterBasis = "first" | "resume" | "hand-over" | "mend";

export interface SubmitterClaim extends Created {
  readonly by: ProcessRef;
  readonly basis: SubmitterBasis;
}

export interface SubmitterStarted extends Created {
  readonly process: ProcessRef;
  readonly ref: Ref;
  readonly restartCount: number;
  readonly limitEndAtMs: number | null;
}

/**
 * - `chain-over`: nothing is left to be moved. - `handed-over`: its successor is queued.
 * - `superseded`: a later one has started. - `asked`: it was asked to end from outside.
 * - `requeued`: the site has started it again, its successor is queued. - `withdrawn`: it was queued and is not needed.
 */
export type SubmitterEnd = "chain-over" | "handed-over" | "superseded" | "asked" | "requeued" | "withdrawn";

export interface SubmitterEnded extends Created {
  readonly by: ProcessRef;
  readonly reason: SubmitterEnd;
}

export interface SubmitterRecords {
  readonly number: number;
  readonly claim: SubmitterClaim | null;
  readonly submitted: Submitted | null;
  readonly started: SubmitterStarted | null;
  readonly ended: SubmitterEnded | null;
}

/** What the started one says of itself counts: after an unclear submit two jobs may carry one script. */
export function submitterRef({ started, submitted }: Pick<SubmitterRecords, "started" | "submitted">): Ref | null {
  return started?.ref ?? submitted?.ref ?? null;
}

/** How often a submitter says that it lives. */
export function submitterBeatMs({ pollMs }: Pick<Timing, "pollMs">): number {
  return Math.min(10_000, Math.max(1_000, pollMs / 3));
}

/** Whose heartbeat has moved within this, as watched, needs no question to the scheduler. */
export function submitterFreshMs(timing: Pick<Timing, "pollMs">): number {
  return 3 * submitterBeatMs(timing);
}

export interface SubmitterView {
  /** From the newest started one upwards, ascending; older ones leave by themselves. */
  readonly submitters: readonly SubmitterRecords[];
  /** The submitter that asks for its successor: only later ones count. Null: anybody asks for any. */
  readonly me: number | null;
  /** Answers of this round, by ref; a missing one has not been asked for. */
  readonly seen: ReadonlyMap<Ref, Seen>;
  /** How long the heartbeat has not moved, as this process has watched it; a missing one has not been watched. */
  readonly silentMs: ReadonlyMap<number, number>;
  /** A heartbeat that has just moved is enough; else the scheduler is asked all the same. */
  readonly believes: boolean;
  /** Of claims without a job: what is known of their makers. */
  readonly claimers: ReadonlyMap<number, Claimer>;
  /** Of claims without a job: for how long this process has looked at them. */
  readonly claimWatchedMs: ReadonlyMap<number, number>;
  /** Answers of this round on scripts of claims without a job. */
  readonly found: ReadonlyMap<number, "none" | "unreachable" | "adopted">;
  readonly refused: ReadonlyMap<number, { readonly error: string; readonly lookAgainMs: number }>;
  readonly timing: Timing;
}

export type SubmitterStep =
  /** A living or queued one moves the chain. */
  | { readonly do: "rest"; readonly number: number }
  | { readonly do: "wait"; readonly number: number; readonly why: string; readonly lookAgainMs: number }
  | { readonly do: "ask"; readonly refs: readonly Ref[] }
  | { readonly do: "find"; readonly number: number }
  | { readonly do: "submit"; readonly number: number }
  | { readonly do: "claim"; readonly number: number };

/** The next single thing to do so that a submitter lives or is queued. */
export function submitterStep(view: SubmitterView): SubmitterStep {
  const candidates = view.submitters.filter(
    ({ number, ended, claim, started }) =>
      number > (view.me ?? 0) && ended === null && (claim !== null || started !== null),
  );
  for (const one of candidates.toReversed()) {
    const step = submitterRef(one) === null ? claimedStep(one, view) : submittedStep(one, view, candidates);
    if (step !== null) return step;
  }
  return { do: "claim", number: (view.submitters.at(-1)?.number ?? 0) + 1 };
}

/** Null: it is gone. */
function submittedStep(
  one: SubmitterRecords,
  { silentMs, believes, seen, timing }: SubmitterView,
  all: readonly SubmitterRecords[],
): SubmitterStep | null {
  const { number } = one;
  const silent = one.started === null ? undefined : silentMs.get(number);
  if (believes && silent !== undefined && silent < submitterFreshMs(timing)) return { do: "rest", number };
  const ref = submitterRef(one);
  const answer = ref === null ? undefined : seen.get(ref);
  switch (answer?.kind) {
    case undefined:
      return { do: "ask", refs: all.map(submitterRef).filter((each) => each !== null) };
    case "active":
      // A node that is lost and not yet known to be: two submitters are better than none.
      return silent !== undefined && silent >= timing.heartbeatSilentMs && answer.phase === "running"
        ? null
        : { do: "rest", number };
    case "unreachable":
      return { do: "wait", number, why: answer.error, lookAgainMs: timing.pollMs };
    default:
      return null;
  }
}

/** Null: nobody stands behind the claim. */
function claimedStep({ number }: SubmitterRecords, view: SubmitterView): SubmitterStep | null {
  const { timing } = view;
  const wait = (why: string, lookAgainMs: number): SubmitterStep => ({ do: "wait", number, why, lookAgainMs });
  const claimer = view.claimers.get(number) ?? "elsewhere";
  const refused = view.refused.get(number);
  if (claimer === "me")
    return refused === undefined ? { do: "submit", number } : wait(refused.error, refused.lookAgainMs);
  if (claimer === "alive") return wait("it is being submitted by another process", timing.pollMs);
  const leftMs = timing.unclearMs - (view.claimWatchedMs.get(number) ?? 0);
  if (claimer === "elsewhere" && leftMs > 0)
    return wait("it was claimed on another machine", Math.min(leftMs, timing.pollMs));
  switch (view.found.get(number)) {
    case undefined:
      return { do: "find", number };
    case "adopted":
      return wait("its job was found", 1);
    case "unreachable":
      return wait("the scheduler can't be asked for its job", timing.pollMs);
    case "none":
      // Passed over: should its job come after all, it leaves as soon as a later one has started.
      return claimer === "unclear" && leftMs > 0
        ? wait("it was submitted without a clear answer: looking for its job", timing.pollMs)
        : null;
  }
}

export interface SubmitterSelf {
  readonly me: number;
  /** As in SubmitterView. */
  readonly submitters: readonly SubmitterRecords[];
  /** Nothing is left to be moved: over, or held for a person. */
  readonly chainOver: boolean;
  /** Somebody has asked this process to end. */
  readonly asked: boolean;
  /** From now to its limit; null: none. */
  readonly limitLeftMs: number | null;
  readonly marginMs: number;
}

export type SubmitterAct =
  | { readonly do: "move" }
  /** Its successor is to be queued. */
  | { readonly do: "hand-over" }
  | { readonly do: "leave"; readonly reason: SubmitterEnd };

/** What a submitter that lives does next. */
export function submitterAct({ me, submitters, ...self }: SubmitterSelf): SubmitterAct {
  const leave = (reason: SubmitterEnd): SubmitterAct => ({ do: "leave", reason });
  if (submitters.some(({ number, ended }) => number === me && ended !== null)) return leave("withdrawn");
  const later = submitters.filter(({ number, ended }) => number > me && ended === null);
  // The later one wins, whichever of them thinks what of the other.
  if (submitters.some(({ number, started }) => number > me && started !== null)) return leave("superseded");
  if (self.chainOver) return leave("chain-over");
  if (self.asked) return leave("asked");
  if (self.limitLeftMs === null || self.limitLeftMs > self.marginMs) return { do: "move" };
  // It waits for our end, so there is nothing to stay for.
  return later.some((one) => submitterRef(one) !== null) ? leave("handed-over") : { do: "hand-over" };
}
