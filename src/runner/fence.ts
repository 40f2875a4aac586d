/** The fence: does this body still have its place in the chain? */
import { join } from "node:path";
import { type Go, stopInForce, stopNumber } from "../core/index.ts";
import { attemptNumbers, attemptPlace, readRecord, readStops } from "../journal/index.ts";
import type { BodyPorts, Objection } from "./ports.ts";

/** Our own settlement made by another, or a higher attempt started. */
export async function hasLostPlace(ports: BodyPorts): Promise<boolean> {
  const { world, place } = ports;
  // Asked at each heartbeat: no more is read than must be. A higher one is settled only after ours.
  const names = await world.folder.list(place.folder);
  // The job was removed, or its folder taken away: whoever looks for this attempt doesn't find it.
  if (names === null || names.includes("settled.json")) return true;
  for (const number of await attemptNumbers(world.folder, place.task)) {
    if (number <= place.number) continue;
    const go = await readRecord<Go>(world.folder, join(attemptPlace(place.task, number).folder, "go.json"));
    if (go?.what === "start") return true;
  }
  return false;
}

/**
 * Whether a look that began then is too old to be acted upon. An answer may have been on its way for as long as this machine
 * was out of touch: half of the time after which another may take our place is the most.
 */
export function isStale(ports: BodyPorts, begunMs: number): boolean {
  return ports.world.clock.monotonicMs() - begunMs > ports.spec.timing.fenceMs / 2;
}

/** Owner, stops and fence once more, right before the spawn. Null: nothing objects. */
export async function lastObjection(ports: BodyPorts): Promise<Objection | null> {
  const { clock } = ports.world;
  for (;;) {
    const begunMs = clock.monotonicMs();
    const objection = await objectionNow(ports);
    if (objection !== null || !isStale(ports, begunMs)) return objection;
  }
}

async function objectionNow(ports: BodyPorts): Promise<Objection | null> {
  const { world, place } = ports;
  const stops = await readStops(world.folder, place.task);
  const stop = stopInForce(stops);
  if (stop !== null) return { endedBy: stop, stopNumber: stopNumber(stops) };
  if ((await ports.otherOwner()) !== null || (await hasLostPlace(ports))) return { endedBy: "fence", stopNumber: null };
  return ports.leaving() ? { endedBy: "scheduler", stopNumber: null } : null;
}
