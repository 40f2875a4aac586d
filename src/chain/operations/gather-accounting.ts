/** The scheduler's accounts of a job's attempts: put on file, and held against the settlements. */
import { accountConflicts } from "../../core/index.ts";
import {
  attemptNumbers,
  attemptPlace,
  type JobPlace,
  readAccounting,
  readAttempt,
  readSpec,
} from "../../journal/index.ts";
import { ACCOUNTS_COME_WITHIN_MS, type GatherOptions, type GatherResult, gatherTask } from "../gather-task.ts";
import type { ChainStatus } from "./chain-status.ts";
import { taskOrFirst } from "./job-on-file.ts";
import { worldOf } from "./job-world.ts";
import { type Project, requireOwnJob } from "./project.ts";

/**
 * Asks the scheduler once, for all attempts of the job together (of its task with that index; null: the only or first one), and
 * puts on file (`accounting.json`) what is final of those that are settled, had a job, and have no account yet. Where all is on file nobody is asked. What did not come is in the answer, with
 * the reason, and is asked for again the next time. No settlement changes by it.
 *
 * Throws StintError `not-owner` for another user's job, and JournalError where its records cannot be used.
 */
export async function gatherAccounting(
  project: Project,
  place: JobPlace,
  options: GatherOptions = {},
  index: number | null = null,
): Promise<GatherResult> {
  requireOwnJob(place);
  const spec = await readSpec(project.folder, place);
  if (spec === null) return { gathered: [], missing: [] };
  const world = await worldOf(project, place, spec.revision.spec);
  return gatherTask(world, await taskOrFirst(project.folder, place, index), options);
}

/** What a look at one job asks for: never so much that somebody would wait for it. */
const LOOK: GatherOptions = { newest: 100, settledWithinMs: ACCOUNTS_COME_WITHIN_MS, withinMs: 3_000 };

/**
 * Before a chain that is over is shown: what is still missing of it is asked for, once. Of a chain that goes on its own bodies
 * see to that. Never throws: what cannot be had now is shown as not there.
 */
export async function gatherForLook(
  project: Project,
  place: JobPlace,
  { state, task, tasks }: ChainStatus,
): Promise<void> {
  // Of a job with several tasks each is looked at by itself: nobody would wait for all of them.
  if (state !== "over" || tasks !== null) return;
  try {
    await gatherAccounting(project, place, LOOK, task);
  } catch {
    // Another user's job, a copied folder, a damaged record: whoever shows the job says so.
  }
}

export interface AccountConflict {
  readonly attempt: number;
  /** One line, such as "accounting says TIMEOUT, the attempt was settled as checkpointed". */
  readonly text: string;
}

/**
 * Where the accounts on file of the newest 100 attempts are at odds with what was settled, computed anew. The settlements stand.
 * An attempt whose records cannot be used has none.
 */
export async function accountConflictsOf(
  project: Project,
  place: JobPlace,
  index: number | null = null,
): Promise<readonly AccountConflict[]> {
  const { folder } = project;
  const task = await taskOrFirst(folder, place, index);
  const conflicts: AccountConflict[] = [];
  for (const number of (await attemptNumbers(folder, task)).slice(-100)) {
    const attempt = attemptPlace(task, number);
    try {
      const accounting = await readAccounting(folder, attempt);
      if (accounting === null) continue;
      const lines = accountConflicts(await readAttempt(folder, attempt), accounting);
      conflicts.push(...lines.map((text) => ({ attempt: number, text })));
    } catch {
      // The table of attempts and the status of the chain say what is wrong with it.
    }
  }
  return conflicts;
}
