/** How many tasks run at a time on this machine where nobody has said so. */
import { availableParallelism } from "node:os";
import type { JobSpec } from "../../core/index.ts";

/**
 * On `local` every task that begins is processes here and now, and no queue holds the others back: as many as there are CPUs, of
 * the machine or of the allocation. Slurm has a queue. What was asked for stands.
 */
export function withTasksAtATime(spec: JobSpec): JobSpec {
  const { scheduler, tasks = null, allocationCpus } = spec;
  if (scheduler !== "local" || tasks === null || tasks.parallel !== null) return spec;
  return { ...spec, tasks: { ...tasks, parallel: allocationCpus ?? availableParallelism() } };
}
