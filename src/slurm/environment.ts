/**
 * The environment for a job of its own: without what Slurm, an MPI launcher or a runner put there for the job that this
 * process may be in, all of which would be taken for settings or for an identity. SLURM_CONF stays: it names the cluster.
 */
export function environmentOutsideJob(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const all = Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(all.filter(([name]) => name === "SLURM_CONF" || !OF_A_JOB.test(name)));
}

const OF_A_JOB =
  /^(SLURM_|SLURMD_|SBATCH_|SQUEUE_|SACCT_|SCANCEL_|SALLOC_|SRUN_|PMI_|PMI\d|PMIX_|STINT_(MARK|MARK_JOB|JOB_ID|JOB_FOLDER|TASK_ID|TASK_INDEX|TASK_COUNT|ATTEMPT|DEADLINE|RESUME)$)/;
