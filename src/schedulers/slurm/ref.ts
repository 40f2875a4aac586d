import type { Ref } from "../../core/index.ts";

export interface SlurmJob {
  readonly cluster: string;
  readonly id: string;
}

/** `slurm/<cluster>/<id>`. */
export function formatRef({ cluster, id }: SlurmJob): Ref {
  return `slurm/${cluster}/${id}`;
}

/** null: not the name of a Slurm job. */
export function parseRef(ref: Ref): SlurmJob | null {
  const match = /^slurm\/([^/]+)\/(\d+)$/.exec(ref);
  return match?.[1] === undefined || match[2] === undefined ? null : { cluster: match[1], id: match[2] };
}
