/** A site's bound on the indices of an array: known before anything is made, not when the last task is handed over. */
import { type JobSpec, taskIndices } from "../../core/index.ts";
import { loadSlurm } from "../../schedulers/index.ts";
import { StintError } from "./errors.ts";

/** Throws StintError `usage` where Slurm here knows no array with the highest index; where it cannot be asked, sbatch says so. */
export async function requireKnownIndices(
  { scheduler, tasks = null }: JobSpec,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  if (scheduler !== "slurm" || tasks?.kind !== "array") return;
  const highest = taskIndices(tasks).at(-1) ?? 0;
  // Every Slurm knows these.
  if (highest === 0) return;
  const { largestArrayIndex } = await loadSlurm();
  const largest = await largestArrayIndex(environment);
  if (largest === null || highest <= largest) return;
  throw new StintError(
    "usage",
    `index ${highest} is above this cluster's highest of an array, ${largest} (MaxArraySize)`,
    {
      hint: "with --tasks, no index goes to Slurm: {task} and STINT_TASK_INDEX have it",
    },
  );
}
