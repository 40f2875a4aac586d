/** Step 11: settle what can be settled, then see that somebody moves the chain on. */
import { advance } from "../chain/index.ts";
import { type Outcome, stopInForce } from "../core/index.ts";
import { readStops } from "../journal/index.ts";
import type { BodyPorts } from "./ports.ts";
import { windowOf } from "./window.ts";

/** How long a body stays to get a refused successor queued, at most; the limit may be nearer. */
const STAY_MS = 60_000;

export async function handOver(ports: BodyPorts): Promise<void> {
  const { world, spec, allocation } = ports;
  const window = windowOf(allocation.limitEndAtMs, spec, world.clock.nowMs(), world.clock.monotonicMs());
  const until = Math.min(world.clock.monotonicMs() + STAY_MS, (window.limitAtMs ?? Infinity) - 200);
  for (;;) {
    const outcome = await tryAdvance(ports);
    if (outcome !== null && outcome.kind !== "waiting") return;
    if (outcome !== null && (await isOthersTurn(ports, outcome))) return;
    const pauseMs = outcome === null ? 1_000 : Math.max(50, Math.min(outcome.lookAgainMs, 5_000));
    if (world.clock.monotonicMs() + pauseMs > until) return;
    await world.clock.sleep(pauseMs);
  }
}

async function tryAdvance(ports: BodyPorts): Promise<Outcome | null> {
  try {
    return await advance(ports.world, ports.place.task);
  } catch (error) {
    ports.world.log(`hand-over: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

/**
 * Our own settlement waits for the scheduler's final state, which only comes when we are gone: then a queued successor is
 * the next mover, and one is made if there is none.
 */
async function isOthersTurn(ports: BodyPorts, outcome: Outcome): Promise<boolean> {
  const { world, place, spec } = ports;
  if (outcome.kind !== "waiting" || outcome.attempt !== place.number) return false;
  if (stopInForce(await readStops(world.folder, place.task.job)) !== null) return true;
  // `local`: the shepherd sees our end and advances; a scheduler without one needs a job in its queue.
  if (world.scheduler.name === "local") return true;
  const above = await advance(world, place.task, { me: place.number, topUp: true, ahead: Math.max(1, spec.ahead) });
  return above.kind !== "waiting";
}
