/** How a running local attempt ends: by itself, because somebody asked, or at its limit. No file is read on the way. */
import type { ProcessRef } from "../core/index.ts";
import {
  type ApplicationExit,
  findMembers,
  type Member,
  readStat,
  realClock,
  signalMembers,
  sweep,
  termAll,
} from "../host/index.ts";
import { queryOf } from "../schedulers/index.ts";
import type { Asked } from "./asked.ts";

/** What a shepherd watches over. */
export interface Flock {
  readonly mark: string;
  readonly runner: ProcessRef;
  readonly exit: Promise<ApplicationExit>;
  readonly killWaitMs: number;
  /** On this boot's monotonic clock; null: no limit. */
  readonly limitEndMs: number | null;
}

export interface Ending {
  /** Null: the runner ended by itself. */
  readonly cause: "TIMEOUT" | "CANCELLED" | null;
  readonly exit: Pick<ApplicationExit, "code" | "signal">;
}

/** The runner ends everything before its limit; only where it has not, this much later the shepherd does. */
const SLACK_MS = 500;
/** From the end of the kill wait: for KILL, testimony and settlement by the runner itself. */
const TESTIMONY_MS = 3_000;

/** Waits for the end of the runner and brings it about where it must be. */
export async function awaitEnd(flock: Flock, asked: Asked): Promise<Ending> {
  let exit: ApplicationExit | null = null;
  const exited = flock.exit.then((value) => {
    exit = value;
  });
  const over = new AbortController();
  void exited.then(() => over.abort());
  const limit = realClock.sleep(untilLimitMs(flock), over.signal);
  await Promise.race([exited, asked.first, limit]);
  if (exit !== null) return { cause: null, exit };
  let cause: "TIMEOUT" | "CANCELLED" = "TIMEOUT";
  if (asked.count() > 0) {
    cause = "CANCELLED";
    // The runner tells the application, waits, kills, and testifies.
    signalMembers([flock.runner], "SIGTERM");
    await Promise.race([exited, limit, realClock.sleep(flock.killWaitMs + TESTIMONY_MS, asked.hurry)]);
  } else {
    await endAtLimit(flock, exited, over.signal, asked);
  }
  if (exit === null) {
    await sweep({ find: () => membersOf(flock.mark), graceMs: 0 });
    await Promise.race([exited, realClock.sleep(2_000)]);
  }
  return { cause, exit: exit ?? { code: null, signal: "SIGKILL" } };
}

/** As Slurm does it: TERM to the application, the kill wait, then KILL to all. The runner is not woken up: it had its time. */
async function endAtLimit(flock: Flock, exited: Promise<void>, over: AbortSignal, asked: Asked): Promise<void> {
  const find = () => membersOf(flock.mark, [flock.runner.pid]);
  termAll(find(), null);
  const endMs = realClock.monotonicMs() + flock.killWaitMs;
  while (!over.aborted && !asked.hurry.aborted && realClock.monotonicMs() < endMs && find().length > 0)
    await realClock.sleep(50, over);
  const state = readStat(flock.runner.pid)?.state;
  if (state !== "T") await Promise.race([exited, realClock.sleep(TESTIMONY_MS, asked.hurry)]);
}

/**
 * Ends what a runner has left behind: TERM first where nobody has sent one yet, then KILL after the kill wait or at the
 * limit. Pids that nothing could end.
 */
export async function sweepFlock(
  flock: Pick<Flock, "mark" | "killWaitMs" | "limitEndMs">,
  ending: Ending,
  application: ProcessRef | null,
): Promise<readonly number[]> {
  const find = () => findMembers(queryOf({ mark: flock.mark, application, roots: [process.pid] }));
  const members = find();
  let graceMs = 0;
  if (members.length > 0 && ending.cause === null) {
    termAll(members, application);
    graceMs = Math.max(0, Math.min(flock.killWaitMs, untilLimitMs(flock)));
  }
  return (await sweep({ find, graceMs })).map(({ pid }) => pid);
}

/** Everything of the attempt but the shepherd itself: what carries its mark, and all below the shepherd. */
function membersOf(mark: string, exclude: readonly number[] = []): readonly Member[] {
  return findMembers(queryOf({ mark, application: null, roots: [process.pid], exclude }));
}

function untilLimitMs({ limitEndMs }: Pick<Flock, "limitEndMs">): number {
  return limitEndMs === null ? FOREVER_MS : Math.max(0, limitEndMs + SLACK_MS - realClock.monotonicMs());
}

const FOREVER_MS = 1e15;
