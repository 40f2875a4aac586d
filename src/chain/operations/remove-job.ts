/** Removing a job that is over: its checkpoint stays, its records and logs go. */

import { randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { quoteShell } from "../../core/index.ts";
import { FolderError } from "../../host/index.ts";
import { checkHome, findFamily, type JobPlace, JournalError } from "../../journal/index.ts";
import { claimCheckpoint, releaseCheckpoint } from "./checkpoint-claim.ts";
import { StintError } from "./errors.ts";
import { shortName } from "./job-name.ts";
import { isAtRest, readJob, readJobTasks } from "./job-on-file.ts";
import { forgetWorld, worldOf } from "./job-world.ts";
import { type Project, requireOwnJob } from "./project.ts";
import { endSubmitters } from "./submitter-job.ts";

/**
 * Removes a job's folder, with its children's, and gives its checkpoint free. Files that the user named (`--output`) and the
 * checkpoint stay. Throws StintError: `not-finished` (75) while it or a child is not over, `not-owner` (5), `storage` (1).
 */
export async function removeJob(project: Project, place: JobPlace): Promise<void> {
  requireOwnJob(place);
  requireInside(project, place);
  const jobs = await findFamily(project.folder, place);
  for (const one of jobs) await requireOver(project, one);
  await giveCheckpointsFree(project, jobs);
  for (const one of jobs) await withoutSubmitters(project, one);
  const gone = join(project.stintFolder, `.tmp-removed-${randomUUID()}`);
  try {
    // One step for all who look: afterwards it is no job any more, however long the removal takes.
    await rename(place.folder, gone);
    await rm(gone, { recursive: true, force: true });
  } catch (error) {
    throw new FolderError("remove", place.folder, error);
  }
  forgetWorld(place);
}

/**
 * Owner none first, then a look whether all are still at rest: a resume claims its checkpoint before it puts anything on file,
 * and its body reads the owner after its `go`, so one of the two sees the other.
 */
async function giveCheckpointsFree(project: Project, places: readonly JobPlace[]): Promise<void> {
  const takeBack: (() => Promise<void>)[] = [];
  for (const place of places) {
    const tasks = await readJobTasks(project.folder, place);
    const home = tasks === null ? null : await homeOrNull(project, place);
    if (tasks === null || home === null) continue;
    for (const { task, spec } of tasks)
      if (await releaseCheckpoint(project, task, spec, home))
        takeBack.push(() => claimCheckpoint(project, task, spec, home));
  }
  try {
    for (const place of places) await requireOver(project, place);
  } catch (error) {
    for (const back of takeBack) await back();
    throw error;
  }
}

async function requireOver(project: Project, place: JobPlace): Promise<void> {
  const tasks = await readJobTasks(project.folder, place);
  if (tasks === null || tasks.every(isAtRest)) return;
  const name = shortName(project, place.id);
  throw new StintError(
    "not-finished",
    `${name} is not over, so it cannot be removed; end it first with: stint cancel ${quoteShell(name)}`,
  );
}

/** A submitter that is still on its way out ends before its folder does. */
async function withoutSubmitters(project: Project, place: JobPlace): Promise<void> {
  const job = await readJob(project.folder, place);
  if (job === null || job.spec.mode !== "submitter" || (await homeOrNull(project, place)) === null) return;
  await endSubmitters(await worldOf(project, place, job.spec), place, job.spec, { wait: true });
}

/** A copy is nobody's home and owns nothing: it may be removed, and the original's checkpoint stays the original's. */
async function homeOrNull(project: Project, place: JobPlace) {
  try {
    return await checkHome(project.folder, place);
  } catch (error) {
    if (error instanceof JournalError && (error.code === "copied" || error.code === "missing")) return null;
    throw error;
  }
}

/** A link in the path could lead the removal anywhere. */
function requireInside(project: Project, place: JobPlace): void {
  const jobs = realpathSync(join(project.stintFolder, "jobs"));
  const inside = relative(jobs, realpathSync(place.folder));
  const expected = relative(join(project.stintFolder, "jobs"), place.folder);
  if (inside === expected && inside !== "" && !inside.startsWith("..")) return;
  throw new StintError("storage", `${place.folder} leads out of ${jobs} by a link: remove it by hand`);
}
