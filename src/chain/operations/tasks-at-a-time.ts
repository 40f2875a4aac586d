/** How many tasks run at a time on this machine where nobody has said so. */
import { availableParallelism } from "node:os";
import type { Bounded } from "../../spec/index.ts";

/**
 * On `local` every task that begins is processes here and now, and no queue holds the others back: as many as there are CPUs, of
 * the machine or of the allocation. Slurm has a queue. What was asked for stands.
 */
export function withTasksAtATime(bounded: Bounded): Bounded {
  const { spec, notices } = bounded;
  const { scheduler, tasks = null, allocationCpus } = spec;
  if (scheduler !== "local" || tasks === null || tasks.parallel !== null) return bounded;
  const parallel = allocationCpus ?? availableParallelism();
  const notice = `${parallel} tasks at a time, one for each CPU here: --parallel says otherwise`;
  return { ...bounded, spec: { ...spec, tasks: { ...tasks, parallel } }, notices: [...notices, notice] };
}
