/** The shepherd's last task: the chain goes on, whoever died. */
import { join } from "node:path";
import { advance, type World } from "../chain/index.ts";
import { type Outcome, type Ref, refOf, type Settled } from "../core/index.ts";
import { aliveHere, thisMachine } from "../host/index.ts";
import { type AttemptPlace, attemptNumbers, attemptPlace, readAttempt, readRecord } from "../journal/index.ts";
import { parseLocalRef } from "../schedulers/index.ts";
import { isHopeless } from "./own-job.ts";
import { othersOf, STAY_MS, seeToOthers } from "./see-to-others.ts";

const LONGEST_PAUSE_MS = 5_000;

/**
 * Whether the runner has plainly done it: its attempt is settled, and the chain has ended with all later attempts settled
 * too, or a higher attempt has its job.
 */
export async function isMovedOn(world: World, place: AttemptPlace): Promise<boolean> {
  const settled = await readRecord<Settled>(world.folder, join(place.folder, "settled.json"));
  if (settled === null) return false;
  const { kind } = settled.decision;
  const goesOn = kind === "continue" || kind === "retry";
  const highest = (await attemptNumbers(world.folder, place.task)).at(-1) ?? place.number;
  if (highest <= place.number) return !goesOn;
  const above = await readAttempt(world.folder, attemptPlace(place.task, highest));
  if (above.settled !== null) return true;
  const ref = refOf(above);
  return goesOn && ref !== null && above.go?.what !== "withdrawn" && isAlive(ref);
}

/** Of a successor on this machine the process must be there: nobody else would miss it. */
function isAlive(ref: Ref): boolean {
  const local = parseLocalRef(ref);
  return local === null || aliveHere({ ...thisMachine(), ...local }) === "alive";
}

/** Advances the chain until somebody else carries it, it has come to rest and others have begun, or a minute is over. */
export async function moveOn(world: World, place: AttemptPlace): Promise<void> {
  const endMs = world.clock.monotonicMs() + STAY_MS;
  for (let tries = 0; ; tries++) {
    const outcome = await tryAdvance(world, place);
    if (outcome === "hopeless") return;
    if (outcome !== null && !isOurs(outcome, place)) {
      const left = othersOf(outcome);
      return left === undefined ? undefined : seeToOthers(world, place.task.job, endMs, left);
    }
    const growingMs = Math.min(LONGEST_PAUSE_MS, 100 * 2 ** Math.min(tries, 10));
    const pauseMs = outcome?.kind === "waiting" ? Math.min(outcome.lookAgainMs, growingMs) : growingMs;
    if (world.clock.monotonicMs() + pauseMs > endMs) {
      world.log(
        `the chain did not move within ${STAY_MS / 1000} s: ${outcome?.kind === "waiting" ? outcome.why : "see above"}`,
      );
      return;
    }
    await world.clock.sleep(Math.max(20, pauseMs));
  }
}

/** Behind a lower attempt that still lives, that one moves the chain. */
function isOurs(outcome: Outcome, place: AttemptPlace): boolean {
  return outcome.kind === "waiting" && outcome.attempt >= place.number;
}

/** Null: it may work later. "hopeless": the folder is gone, a copy, another job's, or of a newer version, and stays so. */
async function tryAdvance(world: World, place: AttemptPlace): Promise<Outcome | "hopeless" | null> {
  try {
    return await advance(world, place.task, { beginning: { keeps: true } });
  } catch (error) {
    world.log(`moving on: ${error instanceof Error ? error.message : String(error)}`);
    return isHopeless(error) ? "hopeless" : null;
  }
}
