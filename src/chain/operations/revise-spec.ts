/** A new revision of the specification of a job on file, and what was queued with the old one. */
import { isDeepStrictEqual } from "node:util";
import type { JobSpec, Origins } from "../../core/index.ts";
import { createSpec } from "../../journal/index.ts";
import { withdraw } from "../advance.ts";
import { StintError } from "./errors.ts";
import { shortName } from "./job-name.ts";
import type { JobOnFile } from "./job-on-file.ts";
import { revisionOf } from "./job-records.ts";
import { forgetWorld, worldOf } from "./job-world.ts";
import type { Project } from "./project.ts";

/**
 * Puts a specification on file unless it says what the one on file says. Throws StintError `not-finished` (75) where another one
 * was put there meanwhile.
 */
export async function reviseSpec(
  project: Project,
  job: JobOnFile,
  now: { readonly spec: JobSpec; readonly origins: Origins },
): Promise<void> {
  if (isSameSpec(now.spec, job.jobSpec)) return;
  const revision = revisionOf(project, now.spec, now.origins);
  const { mine, record } = await createSpec(project.folder, job.place, job.revision + 1, revision);
  forgetWorld(job.place);
  if (mine || isSameSpec(record.spec, now.spec)) return;
  throw new StintError(
    "not-finished",
    `the settings of ${shortName(project, job.place.id)} were changed at the same time: look, and try again`,
  );
}

/** Queued successors were submitted with the old settings: new numbers take their place. */
export async function withdrawQueued(project: Project, job: JobOnFile, spec: JobSpec): Promise<void> {
  const world = await worldOf(project, job.place, spec);
  for (const attempt of job.state.open)
    if (attempt.go === null && attempt.started === null && attempt.claim !== null)
      await withdraw(world, job.task, attempt.number, "spec-changed", null);
}

/** In whatever order they were written; what an older version did not know is nothing. */
export function isSameSpec(one: JobSpec, other: JobSpec): boolean {
  return isDeepStrictEqual({ ...NOT_KNOWN, ...one }, { ...NOT_KNOWN, ...other });
}

const NOT_KNOWN = { allocationEndAtMs: null, allocationCpus: null, allocationId: null } as const;
