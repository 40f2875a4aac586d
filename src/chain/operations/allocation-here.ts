/** The allocation of a batch system that a local job is typed in bounds it: its end is looked up, put on file, and kept to. */
import {
  type AllocationHere,
  allocationEndText,
  isWorthStarting,
  type JobSpec,
  NO_SAVES,
  type Origins,
  type Saves,
} from "../../core/index.ts";
import { realClock } from "../../host/index.ts";
import { type JobPlace, readSpec } from "../../journal/index.ts";
import { loadSlurm } from "../../schedulers/index.ts";
import { type Bounded, withAllocation } from "../../spec/index.ts";
import { StintError } from "./errors.ts";
import { shortName } from "./job-name.ts";
import type { JobOnFile } from "./job-on-file.ts";
import type { Project } from "./project.ts";

/** Null: this is in no allocation. Asks the controller once; never throws for lack of an answer. */
export async function allocationHere(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<AllocationHere | null> {
  if ((environment.SLURM_JOB_ID ?? "") === "") return null;
  const { surroundingAllocation } = await loadSlurm();
  return surroundingAllocation(environment);
}

/** Throws StintError `not-finished` (75) where too little of its allocation is left for an attempt. */
export function requireTimeLeft(project: Project, place: JobPlace, spec: JobSpec, saves: Saves): void {
  const { allocationEndAtMs, limitMs, marginMs, scheduler } = spec;
  if (scheduler !== "local" || allocationEndAtMs == null) return;
  if (isWorthStarting({ allocationEndAtMs, limitMs, marginMs }, saves, realClock.nowMs())) return;
  const name = shortName(project, place.id);
  throw new StintError(
    "not-finished",
    `${name} is not started: ${allocationEndText(allocationEndAtMs)}, too soon for an attempt`,
    { hint: "in another allocation it goes on; here only with a shorter --margin and --limit" },
  );
}

/**
 * A job on file goes on where this is typed: in that allocation, or in none (`environment` null: where it is). Origins of what
 * does not change are those on file. Puts nothing on file. Throws StintError
 * `not-finished` (75) where too little of the allocation is left.
 */
export async function boundHere(
  project: Project,
  job: JobOnFile,
  now: { readonly spec: JobSpec; readonly origins: Origins },
  environment: Readonly<Record<string, string | undefined>> | null,
): Promise<Bounded> {
  const onFile = await readSpec(project.folder, job.place);
  const origins = { ...onFile?.revision.origins, ...now.origins };
  // Slurm's own jobs bring their own limit.
  if (environment === null || job.spec.scheduler !== "local") return { spec: now.spec, origins, notices: [] };
  const bounded = withAllocation(now.spec, origins, await allocationHere(environment));
  requireTimeLeft(project, job.place, bounded.spec, job.state.settled?.record.carry.recentSaves ?? NO_SAVES);
  return bounded;
}
