/** A local job inside an allocation of a batch system is bounded by its end: laid over a resolved specification. */
import type { AllocationHere, JobSpec, Origins } from "../core/index.ts";

export interface Bounded {
  readonly spec: JobSpec;
  readonly origins: Origins;
  readonly notices: readonly string[];
}

/** Binds a job to the allocation it is typed in, or to none; a job of another scheduler is bound to none. */
export function withAllocation(spec: JobSpec, origins: Origins, allocation: AllocationHere | null): Bounded {
  const { "allocation-end": _end, "allocation-cpus": _cpus, ...others } = origins;
  const here = spec.scheduler === "local" ? allocation : null;
  const bound = { ...spec, allocationEndAtMs: here?.endAtMs ?? null, allocationCpus: here?.cpus ?? null };
  if (here === null) return { spec: bound, origins: others, notices: [] };
  const from = `allocation ${here.id} (${here.by})`;
  return {
    spec: bound,
    origins: {
      ...others,
      ...(here.endAtMs === null ? {} : { "allocation-end": from }),
      ...(here.cpus === null ? {} : { "allocation-cpus": `allocation ${here.id} (SLURM_CPUS_ON_NODE)` }),
    },
    notices:
      here.error === null
        ? []
        : [`the end of allocation ${here.id} is not known, so nothing bounds the job: ${here.error}`],
  };
}
