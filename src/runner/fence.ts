/** The fence: does this body still have its place in the chain? */
import { join } from "node:path";
import type { Go } from "../core/index.ts";
import { attemptNumbers, attemptPlace, readRecord } from "../journal/index.ts";
import type { BodyPorts } from "./ports.ts";

/** Our own settlement made by another, or a higher attempt started. */
export async function hasLostPlace(ports: BodyPorts): Promise<boolean> {
  const { world, place } = ports;
  // Asked at each heartbeat: no more is read than must be. A higher one is settled only after ours.
  if ((await world.folder.list(place.folder))?.includes("settled.json") === true) return true;
  for (const number of await attemptNumbers(world.folder, place.task)) {
    if (number <= place.number) continue;
    const go = await readRecord<Go>(world.folder, join(attemptPlace(place.task, number).folder, "go.json"));
    if (go?.what === "start") return true;
  }
  return false;
}
