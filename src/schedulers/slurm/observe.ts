/** One look at many jobs: one squeue, and for those that have ended one sacct and one look at their nodes. */
import type { QueuePlace, Ref, Seen } from "../../core/index.ts";
import { activePhase, type QueueRow, runsByJob } from "../../slurm/index.ts";
import type { JobIdentity } from "../scheduler.ts";
import type { Commands } from "./commands.ts";
import { type EndedJob, nodesOf, seenEnd } from "./ended.ts";
import { isEarlierJob, isLaterJob } from "./identity.ts";
import { parseRef } from "./ref.ts";

/** Every ref is in the answer. `cluster`: the controller's own name; a job of another cluster can't be asked for here. */
export async function observeJobs(
  commands: Commands,
  cluster: string,
  refs: readonly Ref[],
  identities: ReadonlyMap<Ref, JobIdentity>,
): Promise<ReadonlyMap<Ref, Seen>> {
  const seen = new Map<Ref, Seen>();
  const ids = new Map<string, Ref>();
  for (const ref of refs) {
    const job = parseRef(ref);
    if (job === null) seen.set(ref, unreachable(`${ref} is no Slurm job`));
    else if (job.cluster !== cluster)
      seen.set(ref, unreachable(`${ref} is on cluster ${job.cluster}; this host asks cluster ${cluster}`));
    else ids.set(job.id, ref);
  }
  if (ids.size === 0) return seen;

  const queue = await commands.queue([...ids.keys()]);
  const rows = new Map(queue.kind === "answered" ? queue.value.map((row) => [row.id, row]) : []);
  const ended: string[] = [];
  for (const [id, ref] of ids) {
    const row = rows.get(id);
    const active = row === undefined ? null : seenActive(row);
    if (queue.kind === "unreachable") seen.set(ref, unreachable(queue.error));
    else if (row !== undefined && isLaterJob(row, identities.get(ref))) seen.set(ref, { kind: "absent" });
    else if (active !== null) seen.set(ref, active);
    else ended.push(id);
  }
  // Only now accounting is asked: alone it proves nothing, it shows an end while the application still lives.
  const identityOf = (id: string) => identities.get(ids.get(id) ?? "");
  for (const [id, answer] of await lookAtEnds(commands, ended, rows, identityOf)) {
    const ref = ids.get(id);
    if (ref !== undefined) seen.set(ref, answer);
  }
  return seen;
}

function seenActive(row: QueueRow): Seen | null {
  const phase = activePhase(row.state);
  if (phase === null) return null;
  return {
    kind: "active",
    phase,
    reason: row.reason,
    // Of a job that waits it is a mere estimate, of one that completes it is the end that was.
    limitEndAtMs: phase === "running" || phase === "suspended" ? row.endAtMs : null,
    ...(phase === "pending" ? { queue: placeOf(row) } : {}),
  };
}

function placeOf(row: QueueRow): QueuePlace {
  const { id, submitAtMs: sinceMs, startAtMs: expectedStartAtMs, partition, timeLimit, account, qos } = row;
  return { id, sinceMs, expectedStartAtMs, partition, timeLimit, account, qos };
}

async function lookAtEnds(
  commands: Commands,
  ids: readonly string[],
  rows: ReadonlyMap<string, QueueRow>,
  identityOf: (id: string) => JobIdentity | undefined,
): Promise<ReadonlyMap<string, Seen>> {
  if (ids.length === 0) return new Map();
  const accounting = await commands.accounting(ids);
  const all = accounting.kind === "answered" ? accounting.value : [];
  const runs = runsByJob(all.filter((run) => !isEarlierJob(run.submitAtMs, identityOf(run.id))));
  const names = [...new Set(ids.flatMap((id) => nodesOf({ row: rows.get(id), runs: runs.get(id) ?? [] })))];
  const nodes = names.length === 0 ? null : await commands.nodes(names);
  const conditions = nodes?.kind === "answered" ? nodes.value : null;
  const look = (id: string): EndedJob => ({
    row: rows.get(id),
    runs: runs.get(id) ?? [],
    accounting: accounting.kind,
    conditions,
  });
  return new Map(ids.map((id) => [id, seenEnd(look(id))]));
}

function unreachable(error: string): Seen {
  return { kind: "unreachable", error };
}
