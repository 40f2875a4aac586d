/** Moving a chain on from a command: until somebody else carries it, or it has come to rest. */
import { type Outcome, type Ref, refOf } from "../../core/index.ts";
import { attemptPlace, readTask, type TaskPlace } from "../../journal/index.ts";
import { advance } from "../advance.ts";
import { adoptJob } from "../hand-in.ts";
import { identitiesOf } from "../job-identity.ts";
import { claimedAttempt } from "../submit-attempt.ts";
import type { World } from "../world.ts";

export interface DriveOptions {
  /** Give up waiting after this long, in ms; the chain may then be stranded. */
  readonly patienceMs: number;
  /** Is an application at work, so that its own body moves the chain on? Then there is nothing left to do. */
  readonly isRunning?: () => Promise<boolean>;
  /** Give up earlier, after this long, while the scheduler cannot be asked. */
  readonly unreachableMs?: number;
  readonly signal?: AbortSignal;
  /** Each new reason to wait. */
  readonly onWait?: (why: string) => void;
}

export type Driven =
  | Outcome
  /** `unreachableMs` are over. */
  | {
      readonly kind: "unreachable";
      readonly why: string;
      readonly attempt: number;
      /** An attempt was handed over before; what became of it nobody can tell now. */
      readonly handedOver: boolean;
    }
  /** A clear and lasting no of the scheduler to an attempt, in its own words, and no other attempt lives. */
  | { readonly kind: "refused"; readonly error: string; readonly attempt: number };

/** Longest pause between two looks at the records while a person waits. */
const LONGEST_PAUSE_MS = 500;

/** Calls `advance` until a living attempt moves the chain, the chain rests, or the patience is over (then `waiting`). */
export async function driveUntilGoing(world: World, task: TaskPlace, options: DriveOptions): Promise<Driven> {
  const endAtMs = world.clock.monotonicMs() + options.patienceMs;
  let lookAtMs = world.clock.monotonicMs() + (options.unreachableMs ?? Number.POSITIVE_INFINITY);
  let told = "";
  for (;;) {
    const outcome = await advance(world, task);
    if (outcome.kind !== "waiting" || outcome.forSlot === true) return outcome;
    const { attempt } = outcome;
    const refusal = world.memory.refusals.get(attemptPlace(task, attempt).folder);
    if (refusal !== undefined && !refusal.transient) {
      const living = await livingBeside(world, task, attempt);
      if (living === null) return { kind: "refused", error: refusal.error, attempt };
      // A successor that cannot be queued now: the body of the living one tries again.
      options.onWait?.(`attempt ${attempt} is not queued behind attempt ${living}: ${refusal.error}`);
      return { kind: "going", attempt: living };
    }
    if ((await options.isRunning?.()) === true) return { kind: "going", attempt };
    if (outcome.why !== told) options.onWait?.(outcome.why);
    told = outcome.why;
    const isOver = (): boolean => options.signal?.aborted === true || world.clock.monotonicMs() >= endAtMs;
    if (isOver()) return outcome;
    await pauseUntilNews(world, task, Math.min(outcome.lookAgainMs, lookAtMs - world.clock.monotonicMs()), isOver);
    if (world.clock.monotonicMs() >= lookAtMs && options.signal?.aborted !== true) {
      const handed = await handOver(world, task);
      if (handed === "unreachable" || (handed === "known" && (await isSilent(world, task))))
        return { ...outcome, kind: "unreachable", handedOver: handed === "known" };
      lookAtMs = world.clock.monotonicMs() + (options.unreachableMs ?? Number.POSITIVE_INFINITY);
    }
    if (options.signal?.aborted === true) return outcome;
  }
}

/** Whether an attempt that may still run is known to the scheduler; `unreachable`: none is, and it cannot be asked. */
export async function handOver(world: World, task: TaskPlace): Promise<"known" | "unreachable" | "none"> {
  const { open } = await readTask(world.folder, task);
  if (open.some((a) => a.go?.what !== "withdrawn" && refOf(a) !== null)) return "known";
  const claimed = open.find((a) => a.go === null && a.claim !== null);
  const found =
    claimed === undefined ? "none" : await adoptJob(world, claimedAttempt(attemptPlace(task, claimed.number)));
  return found === "adopted" ? "known" : found;
}

/** The scheduler gives no answer to any of the jobs that it is known to have. */
async function isSilent(world: World, task: TaskPlace): Promise<boolean> {
  const { open } = await readTask(world.folder, task);
  const refs = open.map(refOf).filter((ref): ref is Ref => ref !== null);
  const seen = await world.scheduler.observe(refs, identitiesOf(task, open));
  return refs.every((ref) => seen.get(ref)?.kind === "unreachable");
}

/** An attempt beside the refused one that the scheduler has: what was over of them `advance` has just settled or withdrawn. */
async function livingBeside(world: World, task: TaskPlace, refused: number): Promise<number | null> {
  const { open } = await readTask(world.folder, task);
  const living = open.find((a) => a.number !== refused && a.go?.what !== "withdrawn" && refOf(a) !== null);
  return living?.number ?? null;
}

/**
 * Waits for `ms`, or until somebody else has put a record on file, or `isOver` says so. The scheduler is asked anew only by
 * the next `advance`, so that one that cannot be reached is not asked more often than the outcome allows.
 */
async function pauseUntilNews(world: World, task: TaskPlace, ms: number, isOver: () => boolean): Promise<void> {
  const endAtMs = world.clock.monotonicMs() + Math.max(10, ms);
  const before = await markOf(world, task);
  for (;;) {
    const leftMs = endAtMs - world.clock.monotonicMs();
    if (leftMs <= 0 || isOver()) return;
    await world.clock.sleep(Math.min(leftMs, LONGEST_PAUSE_MS));
    if ((await markOf(world, task)) !== before) return;
  }
}

/** Which records are there above the newest settlement. */
async function markOf(world: World, task: TaskPlace): Promise<string> {
  const { settled, open } = await readTask(world.folder, task);
  const attempts = open.map(({ number, ...records }) => {
    const there = Object.entries(records).flatMap(([name, record]) => (record === null ? [] : [name]));
    return `${number}: ${there.join(" ")}`;
  });
  return [settled?.number ?? 0, ...attempts].join("; ");
}
