/**
 * Who moves the chain when this body is gone (design law 10): in mode self a successor in the queue, in mode submitter the
 * submitter, which a body makes anew where it is seen to be gone.
 */
import {
  advance,
  ensureSubmitter,
  tasksTogether,
  type World,
  watchHeartbeats,
  withdrawSubmitters,
} from "../chain/index.ts";
import { hasTaskPlan, type JobSpec, type Outcome, submitterBeatMs, submitterFreshMs } from "../core/index.ts";
import { type AttemptPlace, readSubmitters } from "../journal/index.ts";

interface Mover {
  readonly world: World;
  readonly place: AttemptPlace;
  readonly spec: JobSpec;
}

export function isSubmittersTurn({ spec }: Pick<Mover, "spec">): boolean {
  return spec.mode === "submitter";
}

/** Whether somebody is there who will move the chain; if nobody was, one has been made where that was possible. */
export async function seeThatItGoesOn({ world, place, spec }: Mover, believe = true): Promise<boolean> {
  if (spec.mode !== "submitter") {
    const ahead = Math.max(1, spec.ahead);
    return (await advance(world, place.task, { me: place.number, topUp: true, ahead })).kind !== "waiting";
  }
  const ensured = await ensureSubmitter(world, place.task.job, { spec, basis: "mend", believe });
  if (ensured.kind === "there" || ensured.kind === "not-needed") return true;
  world.log(`no submitter: ${ensured.kind === "refused" ? cannotSubmit(ensured.error) : ensured.why}`);
  return false;
}

/**
 * A job that has come to rest needs no submitter any more: those that wait in the queue are taken back. Where other tasks of it go
 * on it needs one: whether somebody must see to that now, since no body of theirs does, is the answer.
 */
export async function restSubmitters({ world, place, spec }: Mover, outcome: Outcome): Promise<"mend" | "done"> {
  if (spec.mode !== "submitter" || (outcome.kind !== "over" && outcome.kind !== "held")) return "done";
  const { job } = place.task;
  const together = hasTaskPlan(spec) ? await tasksTogether(world, job, spec) : "over";
  if (together === "over") await withdrawSubmitters(world, job);
  return together === "due" ? "mend" : "done";
}

/** While the application runs: its submitter's heartbeat is watched in the folder, and one that is gone is replaced. */
export async function watchOverSubmitter(mover: Mover, keeping: { readonly over: boolean }): Promise<void> {
  const { world, spec } = mover;
  const freshMs = submitterFreshMs(spec.timing);
  while (!keeping.over) {
    try {
      const isFresh = await isAnyFresh(mover);
      // The first look only begins the watch. What is queued, or silent and alive, is asked for, and so seldom.
      await world.clock.sleep(isFresh ? submitterBeatMs(spec.timing) : freshMs);
      if (keeping.over || isFresh) continue;
      if (await seeThatItGoesOn(mover)) await pauseUnlessOver(mover, keeping, 10 * spec.timing.pollMs);
    } catch (error) {
      // It matters at the end of the attempt; the attempt itself must not be hurt by it.
      world.log(`submitter: ${error instanceof Error ? error.message : String(error)}`);
      await world.clock.sleep(spec.timing.pollMs);
    }
  }
}

/** Nothing is asked for so long, unless a heartbeat begins to be seen. */
async function pauseUnlessOver(mover: Mover, keeping: { readonly over: boolean }, ms: number): Promise<void> {
  const { world, spec } = mover;
  const endAtMs = world.clock.monotonicMs() + ms;
  while (!keeping.over && world.clock.monotonicMs() < endAtMs) {
    await world.clock.sleep(submitterBeatMs(spec.timing));
    if (await isAnyFresh(mover)) return;
  }
}

/** Whether the heartbeat of some submitter is seen to grow. */
async function isAnyFresh({ world, place, spec }: Mover): Promise<boolean> {
  const { job } = place.task;
  const silentMs = await watchHeartbeats(world, job, await readSubmitters(world.folder, job));
  return [...silentMs.values()].some((ms) => ms < submitterFreshMs(spec.timing));
}

/** What a person must know where nodes may not submit: this mode cannot work there. */
function cannotSubmit(error: string): string {
  return /could not be started|not permitted|access\/permission denied/i.test(error)
    ? `this node cannot submit jobs, and mode submitter needs nodes that can (${error})`
    : error;
}
