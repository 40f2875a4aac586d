/** Step 11: settle what can be settled, then see that somebody moves the chain on. */
import { advance } from "../chain/index.ts";
import { type Outcome, refOf, stopInForce } from "../core/index.ts";
import { readStops, readTask } from "../journal/index.ts";
import { isSubmittersTurn, restSubmitters, seeThatItGoesOn } from "./mover.ts";
import { isHopeless } from "./own-job.ts";
import type { Body, BodyPorts } from "./ports.ts";
import { othersOf, STAY_MS, seeToOthers } from "./see-to-others.ts";
import { windowOf } from "./window.ts";

/** A submitter looks at the folder every 2 s: one that has done nothing after this is asked for. */
const REACT_MS = 5_000;

export async function handOver(ports: Body): Promise<void> {
  const { world, spec } = ports;
  const window = windowOf(ports.limitAtMs, spec);
  const begunMs = world.clock.monotonicMs();
  const until = Math.min(begunMs + STAY_MS, (window.limitAtMs ?? Infinity) - 200);
  const outcome = await handChainOver(ports, begunMs, until);
  const left = outcome === null ? undefined : othersOf(outcome);
  if (left !== undefined) await seeToOthers(world, ports.place.task.job, until, left);
}

/** What has become of the task; null: the time is over, or there is nothing to be done any more. */
async function handChainOver(ports: Body, begunMs: number, until: number): Promise<Outcome | null> {
  const { world } = ports;
  for (;;) {
    const outcome = await tryAdvance(ports, until);
    if (outcome === "hopeless") return null;
    const isLate = world.clock.monotonicMs() - begunMs >= Math.min(REACT_MS, (until - begunMs) / 2);
    if (outcome !== null && (await tried(ports, () => isDone(ports, outcome, isLate)))) return outcome;
    const pauseMs = isSubmittersTurn(ports)
      ? 300
      : outcome?.kind === "waiting"
        ? Math.max(50, Math.min(outcome.lookAgainMs, 5_000))
        : 1_000;
    if (world.clock.monotonicMs() + pauseMs > until) return null;
    await world.clock.sleep(pauseMs);
  }
}

/** After a decision to retry later, a successor that was queued before it must not start sooner. */
async function delaySuccessor({ world, place }: Body): Promise<void> {
  const { settled, open } = await readTask(world.folder, place.task);
  const next = open.find((attempt) => attempt.go === null && attempt.started === null);
  const ref = next === undefined ? null : refOf(next);
  if (settled?.record.decision.kind !== "retry" || ref === null || next?.claim?.notBeforeMs != null) return;
  try {
    await world.scheduler.delay?.(ref, settled.record.decision.notBeforeMs);
  } catch (error) {
    // Then its body waits.
    world.log(`${ref} could not be moved: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function isDone(ports: Body, outcome: Outcome, isLate: boolean): Promise<boolean> {
  const oneIsQueued = outcome.kind === "waiting" && (await isQueuedBelow(ports, outcome.attempt));
  if (outcome.kind === "going" || oneIsQueued) await delaySuccessor(ports);
  if (isSubmittersTurn(ports)) {
    // We have settled, or must be gone before anybody can: the next attempt, or the next task, is the submitter's to claim, and we
    // stay until it has, so that one that dies just now is missed.
    const waits = outcome.kind === "waiting" || (await restSubmitters(ports, outcome)) === "mend";
    return !waits || oneIsQueued || (isLate && (await seeThatItGoesOn(ports, false)));
  }
  return outcome.kind !== "waiting" || oneIsQueued || (await isOthersTurn(ports, outcome));
}

/**
 * Whether a successor is queued below the one that is waited for (a submit that was refused, say): it moves the chain, and it
 * waits for this very job to end.
 */
async function isQueuedBelow({ world, place }: Body, attempt: number): Promise<boolean> {
  const { open } = await readTask(world.folder, place.task);
  return open.some(
    (one) => one.number > place.number && one.number < attempt && one.go === null && refOf(one) !== null,
  );
}

function tryAdvance(ports: BodyPorts, until: number): Promise<Outcome | "hopeless" | null> {
  const claims = !isSubmittersTurn(ports);
  const { world, place } = ports;
  return tried(ports, () => {
    const withinMs = until - world.clock.monotonicMs();
    return advance(world, place.task, { claims, beginning: { withinMs, keeps: true } });
  });
}

/** Null: it failed, and is tried again. "hopeless": the job was removed, or its folder is not ours any more. */
async function tried<T>({ world }: BodyPorts, action: () => Promise<T>): Promise<T | "hopeless" | null> {
  try {
    return await action();
  } catch (error) {
    world.log(`hand-over: ${error instanceof Error ? error.message : String(error)}`);
    return isHopeless(error) ? "hopeless" : null;
  }
}

/**
 * Our own settlement waits for the scheduler's final state, which only comes when we are gone: then a queued successor is
 * the next mover, and one is made if there is none.
 */
async function isOthersTurn(ports: BodyPorts, outcome: Outcome): Promise<boolean> {
  const { world, place, spec } = ports;
  if (outcome.kind !== "waiting" || outcome.attempt !== place.number) return false;
  if (stopInForce(await readStops(world.folder, place.task)) !== null) return true;
  // `local`: the shepherd sees our end and advances; a scheduler without one needs a job in its queue.
  if (world.scheduler.name === "local") return true;
  const above = await advance(world, place.task, { me: place.number, topUp: true, ahead: Math.max(1, spec.ahead) });
  return above.kind !== "waiting";
}
