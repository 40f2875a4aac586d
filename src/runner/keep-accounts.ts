/**
 * In the background of a run: the scheduler's accounts of the attempts below, which it forgets one day. Once in a body's life, by
 * one query that the controller does not hear of, far from both ends: nothing waits for it, least of all TERM and the hand-over.
 */
import { ACCOUNTS_COME_WITHIN_MS, gatherTask } from "../chain/index.ts";
import type { Body } from "./ports.ts";
import { windowOf } from "./window.ts";

/** So long after the start accounting has come even on a busy cluster, and the successors are queued. */
const AFTER_MS = 60_000;
/** What an earlier body could not get is asked for again, but not for ever. */
const LOOK_BACK = { newest: 20, settledWithinMs: ACCOUNTS_COME_WITHIN_MS } as const;

export async function keepAccounts(ports: Body, keeping: { readonly over: boolean }): Promise<void> {
  const { world, place, spec } = ports;
  if (place.number === 1) return;
  const { termAtMs } = windowOf(ports.limitAtMs, spec);
  const halfMs = termAtMs === null ? AFTER_MS : (termAtMs - world.clock.monotonicMs()) / 2;
  await world.clock.sleep(Math.max(0, Math.min(AFTER_MS, halfMs)));
  if (keeping.over || ports.leaving()) return;
  try {
    const { missing } = await gatherTask(world, place.task, { below: place.number, ...LOOK_BACK });
    const told = missing.filter(({ kind }) => kind === "unreachable" || kind === "unwritten");
    for (const why of new Set(told.map((one) => one.why))) world.log(`accounts: ${why}`);
  } catch (error) {
    // An account that is not on file harms no attempt: the next body, or a look at the job, asks again.
    world.log(`accounts: ${error instanceof Error ? error.message : String(error)}`);
  }
}
