/** Moving a chain on from a command: until somebody else carries it, or it has come to rest. */
import { type Outcome, type Ref, refOf } from "../../core/index.ts";
import { attemptPlace, readTask, type TaskPlace } from "../../journal/index.ts";
import type { JobIdentity } from "../../schedulers/index.ts";
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
  const [end] = await driveAllUntilGoing(world, [task], options);
  if (end === undefined) throw new Error("nothing was driven: please report this");
  if (end.kind === "failed") throw end.error;
  return end;
}

export interface DriveAllOptions extends Omit<DriveOptions, "isRunning"> {
  readonly isRunning?: (task: TaskPlace) => Promise<boolean>;
}

/** What one task came to; `failed`: an error, which keeps no other one from being moved. */
export type DrivenOrFailed = Driven | { readonly kind: "failed"; readonly error: unknown };

/** The same of several tasks of one job beside each other: each is advanced once a round. The answers are in their order. */
export async function driveAllUntilGoing(
  world: World,
  tasks: readonly TaskPlace[],
  options: DriveAllOptions,
): Promise<readonly DrivenOrFailed[]> {
  const { clock } = world;
  const begunMs = clock.monotonicMs();
  const endAtMs = begunMs + options.patienceMs;
  const isOver = (): boolean => options.signal?.aborted === true || clock.monotonicMs() >= endAtMs;
  const lookAtMs = begunMs + (options.unreachableMs ?? Number.POSITIVE_INFINITY);
  const drives = tasks.map(
    (task): Drive => ({ task, lookAtMs, dueAtMs: begunMs, waits: null, mark: "", told: "", end: null }),
  );
  for (;;) {
    const open = drives.filter(({ end }) => end === null);
    await askTogether(world, open);
    for (const drive of open) {
      try {
        if (drive.waits !== null && options.signal?.aborted === true) drive.end = drive.waits;
        else if (isOver() || clock.monotonicMs() >= drive.dueAtMs || (await hasNews(world, drive)))
          drive.end = await driveOnce(world, drive, options, isOver);
      } catch (error) {
        drive.end = { kind: "failed", error };
      }
    }
    const left = drives.filter(({ end }) => end === null);
    if (left.length === 0) return drives.flatMap(({ end }) => end ?? []);
    await pauseUntilDue(world, left, isOver);
  }
}

type Waiting = Extract<Outcome, { kind: "waiting" }>;

interface Drive {
  readonly task: TaskPlace;
  /** When it is looked whether the scheduler can be asked at all; on the monotonic clock, as all of these. */
  lookAtMs: number;
  dueAtMs: number;
  /** What the last `advance` came to; null: there was none. */
  waits: Waiting | null;
  /** The records after it. */
  mark: string;
  told: string;
  end: DrivenOrFailed | null;
}

/** Null: it must go on waiting. */
async function driveOnce(
  world: World,
  drive: Drive,
  options: DriveAllOptions,
  isOver: () => boolean,
): Promise<Driven | null> {
  const { task } = drive;
  const { clock } = world;
  if (drive.waits !== null && clock.monotonicMs() >= drive.lookAtMs) {
    const handed = await handOver(world, task);
    if (handed === "unreachable" || (handed === "known" && (await isSilent(world, task))))
      return { ...drive.waits, kind: "unreachable", handedOver: handed === "known" };
    drive.lookAtMs = clock.monotonicMs() + (options.unreachableMs ?? Number.POSITIVE_INFINITY);
  }
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
  if ((await options.isRunning?.(task)) === true) return { kind: "going", attempt };
  if (outcome.why !== drive.told) options.onWait?.(outcome.why);
  drive.told = outcome.why;
  drive.waits = outcome;
  if (isOver()) return outcome;
  drive.dueAtMs = Math.min(clock.monotonicMs() + Math.max(10, outcome.lookAgainMs), drive.lookAtMs);
  drive.mark = await markOf(world, task);
  return null;
}

/** One question to the scheduler for all of them, from which each is answered; on this machine each looks for itself. */
async function askTogether(world: World, drives: readonly Drive[]): Promise<void> {
  if (drives.length < 2 || world.scheduler.name === "local") return;
  const own = new Map<Ref, JobIdentity>();
  for (const { task } of drives)
    for (const [ref, identity] of identitiesOf(task, (await readTask(world.folder, task)).open)) own.set(ref, identity);
  if (own.size > 0) await world.scheduler.observe([...own.keys()], own);
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
 * Waits until one of them is due, or until somebody else has put a record on file, or `isOver` says so. The scheduler is asked anew
 * only by the next `advance`, so that one that cannot be reached is not asked more often than the outcome allows.
 */
async function pauseUntilDue(world: World, drives: readonly Drive[], isOver: () => boolean): Promise<void> {
  const { clock } = world;
  const dueAtMs = Math.max(clock.monotonicMs() + 10, Math.min(...drives.map((drive) => drive.dueAtMs)));
  for (;;) {
    const leftMs = dueAtMs - clock.monotonicMs();
    if (leftMs <= 0 || isOver()) return;
    // A look takes its time with the number of tasks.
    await clock.sleep(Math.min(leftMs, LONGEST_PAUSE_MS + 2 * (drives.length - 1)));
    for (const drive of drives) if (await hasNews(world, drive)) return;
  }
}

async function hasNews(world: World, { task, mark }: Drive): Promise<boolean> {
  return (await markOf(world, task)) !== mark;
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
