import { definedVariables, OF_AN_ATTEMPT } from "../core/index.ts";

/**
 * The environment for a job of its own: without what Slurm, an MPI launcher or a runner put there for the job that this
 * process may be in, all of which would be taken for settings or for an identity. SLURM_CONF stays: it names the cluster.
 */
export function environmentOutsideJob(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return definedVariables(
    environment,
    (name) => name === "SLURM_CONF" || !(OF_A_JOB.test(name) || OF_AN_ATTEMPT.includes(name)),
  );
}

/**
 * Without what Slurm and an MPI launcher put there for one allocation: who is in another one now, or in none, must not take it for
 * its own. What is the user's own (SBATCH_ACCOUNT …) stays, and so does SLURM_CONF.
 */
export function environmentOutsideAllocation(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return definedVariables(environment, (name) => name === "SLURM_CONF" || !OF_AN_ALLOCATION.test(name));
}

const OF_AN_ALLOCATION = /^(SLURM_|SLURMD_|PMI_|PMI\d|PMIX_)/;

const OF_A_JOB = /^(SLURM_|SLURMD_|SBATCH_|SQUEUE_|SACCT_|SCANCEL_|SALLOC_|SRUN_|PMI_|PMI\d|PMIX_)/;
