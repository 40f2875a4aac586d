/** Step 11: settle what can be settled, then see that somebody moves the chain on. */
import { advance } from "../chain/index.ts";
import { type Outcome, refOf, stopInForce } from "../core/index.ts";
import { readStops, readTask } from "../journal/index.ts";
import { isHopeless } from "./own-job.ts";
import type { Body, BodyPorts } from "./ports.ts";
import { windowOf } from "./window.ts";

/** How long a body stays to get a refused successor queued, at most; the limit may be nearer. */
const STAY_MS = 60_000;

export async function handOver(ports: Body): Promise<void> {
  const { world, spec } = ports;
  const window = windowOf(ports.limitAtMs, spec);
  const until = Math.min(world.clock.monotonicMs() + STAY_MS, (window.limitAtMs ?? Infinity) - 200);
  for (;;) {
    const outcome = await tryAdvance(ports);
    if (outcome === "hopeless") return;
    if (outcome !== null && (await tried(ports, () => isDone(ports, outcome)))) return;
    const pauseMs = outcome?.kind === "waiting" ? Math.max(50, Math.min(outcome.lookAgainMs, 5_000)) : 1_000;
    if (world.clock.monotonicMs() + pauseMs > until) return;
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

async function isDone(ports: Body, outcome: Outcome): Promise<boolean> {
  if (outcome.kind === "going") await delaySuccessor(ports);
  return outcome.kind !== "waiting" || (await isOthersTurn(ports, outcome));
}

function tryAdvance(ports: BodyPorts): Promise<Outcome | "hopeless" | null> {
  return tried(ports, () => advance(ports.world, ports.place.task));
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
