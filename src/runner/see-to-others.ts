/**
 * Other tasks of the job that may begin, and that the scheduler did not take when a task has ended: whoever has ended it stays and
 * tries again, as for a successor of its own, since there may be nobody else who would begin them.
 */
import { advanceJob, othersLeft, takeBackKept, type World } from "../chain/index.ts";
import type { OthersLeft, Outcome } from "../core/index.ts";
import type { JobPlace } from "../journal/index.ts";
import { isHopeless } from "./own-job.ts";

/** How long who has ended a task stays for others, at most; the limit may be nearer. */
export const STAY_MS = 60_000;
const SHORTEST_PAUSE_MS = 50;

/** What the call that found the task over has left of the others; undefined: nothing. */
export function othersOf(outcome: Outcome): OthersLeft | undefined {
  return outcome.kind === "over" || outcome.kind === "held" ? outcome.others : undefined;
}

/** `first`: what the call has left that has found the task over; null: that has not been looked at. `untilMs`: monotonic. */
export async function seeToOthers(
  world: World,
  job: JobPlace,
  untilMs: number,
  first: OthersLeft | null = null,
): Promise<void> {
  let left = first;
  try {
    for (;;) {
      const nowMs = world.clock.monotonicMs();
      const pauseMs = left === null ? 0 : Math.max(SHORTEST_PAUSE_MS, left.lookAgainMs);
      if (nowMs + pauseMs >= untilMs) break;
      if (pauseMs > 0) await world.clock.sleep(pauseMs);
      left = await tryBegin(world, job, untilMs - nowMs - pauseMs);
      if (left === null) return;
    }
    if (left !== null) world.log(`other tasks: ${left.count} that may begin are left: ${left.why}`);
    await takeBackKept(world);
  } catch (error) {
    // Who comes next finds a claim whose maker is gone.
    world.log(`other tasks: ${textOf(error)}`);
  }
}

const AFTER_ERROR_MS = 1_000;

/** Throws only what will not change. */
async function tryBegin(world: World, job: JobPlace, withinMs: number): Promise<OthersLeft | null> {
  try {
    return othersLeft(await advanceJob(world, job, { withinMs, keeps: true }));
  } catch (error) {
    if (isHopeless(error)) throw error;
    return { count: 1, why: textOf(error), lookAgainMs: AFTER_ERROR_MS };
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
