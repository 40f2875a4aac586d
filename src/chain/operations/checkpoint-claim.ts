/** One checkpoint, one owner (protocol §3): before anything is claimed, the job must own its checkpoint. */
import { hostname } from "node:os";
import { join } from "node:path";
import {
  claimOwner,
  type JudgeOwner,
  type OwnerIdentity,
  type OwnerPlace,
  ownerPlace,
  readOwner,
  releaseOwner,
  resolveCheckpoint,
  tidyOwners,
  whyOwned,
} from "../../checkpoint/index.ts";
import { type JobSpec, specForTask, taskIndices } from "../../core/index.ts";
import { realClock } from "../../host/index.ts";
import { type Home, type JobPlace, placeOfAttemptFolder, readRecord, type TaskPlace } from "../../journal/index.ts";
import { StintError } from "./errors.ts";
import { isAtRest, readJob } from "./job-on-file.ts";
import type { Project } from "./project.ts";

export interface CheckpointClaim {
  /** Link a new record even where this job is the owner: a chain that is over does so before it goes on. */
  readonly renew?: boolean;
  /** The person who takes the checkpoint over from a job whose folder is gone. */
  readonly takenBy?: string | null;
  /** One of many claims of a job: only where its row has grown something to tidy. Default false. */
  readonly isOneOfMany?: boolean;
}

/** Makes the task the owner of its checkpoint. `spec`: of that task. Throws StintError `checkpoint-owned`, naming the owner and its folder. */
export async function claimCheckpoint(
  project: Project,
  task: TaskPlace,
  spec: JobSpec,
  home: Home,
  claim: CheckpointClaim = {},
): Promise<void> {
  const owners = await ownerPlaceOf(project, spec);
  if (owners === null) return;
  const options = {
    ...(claim.renew === undefined ? {} : { renew: claim.renew }),
    ...(claim.takenBy == null ? {} : { takenBy: claim.takenBy }),
  };
  const answer = await claimOwner(
    project.folder,
    owners,
    identityOf(project, task, home),
    judgeOwner(project),
    options,
  );
  if (!answer.owned) throw new StintError("checkpoint-owned", answer.why);
  // The first claim of a checkpoint makes two records, which both count.
  if (claim.isOneOfMany === true && answer.number <= 2) return;
  await tidyOwners(project.folder, owners, realClock.nowMs());
}

/**
 * Throws StintError `checkpoint-owned` when another job has the checkpoint, or that of one of its tasks, and is not over, so that
 * nothing is created in vain (only the claim itself decides); `usage` when two tasks have one.
 */
export async function requireFreeCheckpoint(
  project: Project,
  place: JobPlace,
  spec: JobSpec,
  takenBy: string | null,
): Promise<void> {
  if (spec.checkpoint === null) return;
  const taken = new Map<string, number>();
  for (const index of taskIndices(spec.tasks)) {
    const owners = await ownerPlaceOf(project, specForTask(spec, index));
    if (owners === null) continue;
    const other = taken.get(owners.checkpoint);
    if (other !== undefined)
      throw new StintError("usage", `tasks ${other} and ${index} would have one checkpoint, ${owners.checkpoint}`);
    taken.set(owners.checkpoint, index);
    await requireFree(project, place, owners, takenBy);
  }
}

async function requireFree(
  project: Project,
  place: JobPlace,
  owners: OwnerPlace,
  takenBy: string | null,
): Promise<void> {
  const owner = await readOwner(project.folder, owners);
  if (owner.kind === "none" || owner.kind === "released") return;
  if (owner.kind === "unreadable")
    throw new StintError("checkpoint-owned", `the owner record ${owner.path} cannot be used: ${owner.why}`);
  // The same submit, typed twice at once: the other one was quicker.
  const home = await readRecord<Home>(project.folder, join(place.folder, "home.json"));
  if (home !== null && home.uuid === owner.record.jobUuid) return;
  const judged = await judgeOwner(project)(owner.record);
  if (judged === "over" || (judged === "gone-folder" && takenBy !== null)) return;
  throw new StintError("checkpoint-owned", whyOwned(owner.record, judged, project));
}

/** Gives the checkpoint free where this task is its owner. Returns false where it was not. */
export async function releaseCheckpoint(
  project: Project,
  task: TaskPlace,
  spec: JobSpec,
  home: Home,
): Promise<boolean> {
  const owners = await ownerPlaceOf(project, spec);
  return owners !== null && (await releaseOwner(project.folder, owners, identityOf(project, task, home)));
}

async function ownerPlaceOf(project: Project, spec: JobSpec): Promise<OwnerPlace | null> {
  if (spec.checkpoint === null) return null;
  return ownerPlace(await resolveCheckpoint(spec.checkpoint, spec.cwd), project.stintFolder);
}

function identityOf(project: Project, task: TaskPlace, home: Home): OwnerIdentity {
  return {
    jobUuid: home.uuid,
    jobFolder: task.job.folder,
    taskIndex: task.index,
    taskId: task.id,
    by: `${project.user}@${hostname()} pid ${process.pid}`,
  };
}

/** Is the chain of that owner over? From its own records, wherever they lie. */
function judgeOwner(project: Project): JudgeOwner {
  return async (owner) => {
    try {
      const home = await readRecord<Home>(project.folder, join(owner.jobFolder, "home.json"));
      // Another job in its place is as much as none.
      if (home === null || home.uuid !== owner.jobUuid) return "gone-folder";
      const place = placeOfAttemptFolder(join(owner.jobFolder, "tasks/0/attempts/0001"))?.task.job ?? null;
      const job = place === null ? null : await readJob(project.folder, place, owner.taskIndex);
      if (job === null) return "unknown";
      return isAtRest(job) ? "over" : "alive";
    } catch {
      // Not readable for us, or written by a newer version: nothing can be said, and the refusal says so.
      return "unknown";
    }
  };
}
