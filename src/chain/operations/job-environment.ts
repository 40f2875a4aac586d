/** The environment that is saved at submit and that every attempt starts from. */

import { definedVariables, isOfAnAttempt, type SchedulerName } from "../../core/index.ts";
import { environmentOutsideJob } from "../../slurm/index.ts";

/**
 * What is kept: everything but facts of the attempt or of the Slurm job that the submit may have been typed in, which a new
 * job would take for its own. Inside an allocation, `local` keeps Slurm's names: its attempts run in that allocation.
 */
export function environmentForJob(
  environment: Readonly<Record<string, string | undefined>>,
  scheduler: SchedulerName,
): Readonly<Record<string, string>> {
  const outside = scheduler === "slurm" ? environmentOutsideJob(environment) : environment;
  return definedVariables(outside, (name) => !isOfAnAttempt(name) && !OF_THE_RUNTIME.includes(name));
}

/** Of this installation and this command. */
const OF_THE_RUNTIME: readonly string[] = ["STINT_RUNNER", "STINT_DEBUG"];
