/** The accounts of many jobs by one sacct. It asks the database alone: the controller does not hear of it. */
import type { AccountRow, Ref } from "../../core/index.ts";
import type { AccountedRun } from "../../slurm/index.ts";
import type { AccountAnswer, AccountOptions, JobIdentity } from "../scheduler.ts";
import type { Commands } from "./commands.ts";
import { isEarlierJob } from "./identity.ts";
import { parseRef, type SlurmJob } from "./ref.ts";

/** Every ref is in the answer. */
export async function accountJobs(
  commands: Commands,
  refs: readonly Ref[],
  { withinMs, identities = new Map() }: AccountOptions = {},
): Promise<ReadonlyMap<Ref, AccountAnswer>> {
  const jobs = new Map(refs.map((ref) => [ref, parseRef(ref)]));
  const ids = [...new Set([...jobs.values()].flatMap((job) => job?.id ?? []))];
  const answer = ids.length === 0 ? null : await commands.accounts(ids, withinMs);
  return new Map(
    [...jobs].map(([ref, job]): [Ref, AccountAnswer] => {
      if (job === null) return [ref, { kind: "none", why: `${ref} is no Slurm job` }];
      if (answer === null || answer.kind === "none") return [ref, { kind: "none", why: "this site keeps no accounts" }];
      if (answer.kind === "unreachable") return [ref, answer];
      return [ref, accountOf(ref, job, answer.value, identities.get(ref))];
    }),
  );
}

function accountOf(
  ref: Ref,
  { cluster, id }: SlurmJob,
  all: readonly AccountedRun[],
  identity: JobIdentity | undefined,
): AccountAnswer {
  const ofId = all.filter((run) => run.id === id && !isEarlierJob(run.row.submitAtMs, identity));
  // The same number is another job on another cluster. sacct asks for that of this host.
  const runs = ofId
    .filter((run) => run.cluster === cluster)
    .sort((a, b) => (a.row.submitAtMs ?? 0) - (b.row.submitAtMs ?? 0));
  const last = runs.at(-1);
  if (last === undefined) {
    const other = ofId[0]?.cluster;
    return other === undefined
      ? { kind: "pending", why: "no row of it yet" }
      : { kind: "unreachable", error: `${ref} is on cluster ${cluster}; accounting here speaks of cluster ${other}` };
  }
  // A run that was requeued keeps a word such as REQUEUED: only the last one must stand in an end state.
  if (!last.over) return { kind: "pending", why: `its last run is ${last.row.state}` };
  const open = runs.find((run) => !run.ended);
  if (open !== undefined) return { kind: "pending", why: `an earlier run (${open.row.state}) has no end yet` };
  const step = runs.map((run) => run.unfinishedStep).find((name) => name !== null);
  if (step !== undefined) return { kind: "pending", why: `step ${step} has no end yet` };
  return { kind: "final", rows: runs.map(({ row }, run): AccountRow => ({ ref, run, ...row })) };
}
