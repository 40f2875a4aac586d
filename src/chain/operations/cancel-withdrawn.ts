/** The jobs of withdrawn attempts, of many tasks at once: the scheduler's load does not grow with the number of tasks. */
import { type Ref, refsOf } from "../../core/index.ts";
import type { JobIdentity } from "../../schedulers/index.ts";
import { identitiesOf } from "../job-identity.ts";
import type { World } from "../world.ts";
import type { JobOnFile } from "./job-on-file.ts";

/**
 * One cancel for the queued jobs of all attempts that are withdrawn on file, and one question for all that is open, from whose answer
 * each task is settled later. `tasks`: read after the withdrawals. Returns all jobs that may still be there.
 */
export async function cancelWithdrawn(
  world: World,
  tasks: readonly JobOnFile[],
): Promise<ReadonlyMap<Ref, JobIdentity>> {
  const own = new Map(tasks.flatMap(({ task, state }) => [...identitiesOf(task, state.open)]));
  const refs = [...own.keys()];
  const seen = await world.scheduler.observe(refs, own);
  const withdrawn = tasks.flatMap(({ state }) => state.open).filter(({ go }) => go?.what === "withdrawn");
  // Another job may have got the number of one that is gone.
  const living = withdrawn.flatMap(refsOf).filter((ref) => seen.get(ref)?.kind === "active");
  if (living.length === 0) return own;
  world.log(`cancel ${living.join(" ")}`);
  await world.scheduler.withdraw(living);
  await world.scheduler.observe(refs, own);
  return own;
}
