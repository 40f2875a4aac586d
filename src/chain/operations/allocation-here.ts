/** The allocation of a batch system that a local job is typed in bounds it: its end is looked up, put on file, and kept to. */
import {
  type AllocationHere,
  allocationEndText,
  isWorthStarting,
  type JobSpec,
  type Origins,
  type Saves,
} from "../../core/index.ts";
import { realClock } from "../../host/index.ts";
import { createSpec, type JobPlace, readSpec } from "../../journal/index.ts";
import { loadSlurm } from "../../schedulers/index.ts";
import { withAllocation } from "../../spec/index.ts";
import { StintError } from "./errors.ts";
import { shortName } from "./job-name.ts";
import { revisionOf } from "./job-records.ts";
import { forgetWorld } from "./job-world.ts";
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
  const { allocationEndAtMs, limitMs, marginMs } = spec;
  if (allocationEndAtMs == null || isWorthStarting({ allocationEndAtMs, limitMs, marginMs }, saves, realClock.nowMs()))
    return;
  const name = shortName(project, place.id);
  throw new StintError(
    "not-finished",
    `${name} is not started: ${allocationEndText(allocationEndAtMs)}, too soon for an attempt`,
    { hint: "in another allocation it goes on; here only with a shorter --margin and --limit" },
  );
}

/** A job on file goes on where `now` was typed: in that allocation, or in none. Returns what rules from now on. */
export async function bindOnFile(
  project: Project,
  place: JobPlace,
  now: { readonly spec: JobSpec; readonly origins: Origins },
): Promise<JobSpec> {
  const found = await readSpec(project.folder, place);
  if (found === null) return now.spec;
  const { spec, origins } = found.revision;
  const { allocationEndAtMs, allocationCpus } = now.spec;
  if ((spec.allocationEndAtMs ?? null) === allocationEndAtMs) return spec;
  const bare = withAllocation(spec, origins, null);
  const revision = revisionOf(
    project,
    { ...bare.spec, allocationEndAtMs, allocationCpus },
    { ...bare.origins, ...allocationOrigins(now.origins) },
  );
  const { record } = await createSpec(project.folder, place, found.number + 1, revision);
  forgetWorld(place);
  return record.spec;
}

function allocationOrigins(origins: Origins): Origins {
  return Object.fromEntries(Object.entries(origins).filter(([key]) => key.startsWith("allocation-")));
}
