/** A local job inside an allocation of a batch system is bounded by its end: laid over a resolved specification. */
import type { AllocationHere, JobSpec, Origins } from "../core/index.ts";

export interface Bounded {
  readonly spec: JobSpec;
  readonly origins: Origins;
  readonly notices: readonly string[];
}

/**
 * Binds a job to the allocation it is typed in, or to none; a job of another scheduler is bound to none. Where nobody can say when
 * the allocation ends, what is on file of the same one stands.
 */
export function withAllocation(spec: JobSpec, origins: Origins, allocation: AllocationHere | null): Bounded {
  const { "allocation-end": endFrom, "allocation-cpus": _cpus, "allocation-id": _id, ...others } = origins;
  const here = spec.scheduler === "local" ? allocation : null;
  // Absent in a specification of an older version.
  const known = here !== null && here.id === spec.allocationId ? (spec.allocationEndAtMs ?? null) : null;
  const stands = here !== null && here.error !== null && known !== null;
  const allocationEndAtMs = stands ? known : (here?.endAtMs ?? null);
  const bound = {
    ...spec,
    allocationEndAtMs,
    allocationCpus: here?.cpus ?? null,
    allocationId: here?.id ?? null,
  };
  if (here === null) return { spec: bound, origins: others, notices: [] };
  const from = stands && endFrom !== undefined ? endFrom : `allocation ${here.id} (${here.by})`;
  return {
    spec: bound,
    origins: {
      ...others,
      ...(allocationEndAtMs === null ? {} : { "allocation-end": from }),
      ...(here.cpus === null ? {} : { "allocation-cpus": `allocation ${here.id} (SLURM_CPUS_ON_NODE)` }),
      "allocation-id": "environment SLURM_JOB_ID",
    },
    notices:
      here.error === null ? [] : [`the end of allocation ${here.id} is not known, so ${what(stands)}: ${here.error}`],
  };
}

function what(stands: boolean): string {
  return stands ? "the one on file stands" : "unless one is on file nothing bounds the job";
}

/** Whether a job is bound otherwise than before: what is queued was told the old end. */
export function isBoundOtherwise(before: JobSpec, now: JobSpec): boolean {
  const keys = ["allocationId", "allocationEndAtMs"] as const;
  return keys.some((key) => (before[key] ?? null) !== (now[key] ?? null));
}
