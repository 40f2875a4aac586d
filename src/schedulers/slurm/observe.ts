/** One look at many jobs: one squeue, and for those that have ended one sacct and one look at their nodes. */
import type { QueuePlace, Ref, Seen } from "../../core/index.ts";
import { type AccountingRun, activePhase, type QueueRow, runsByJob } from "../../slurm/index.ts";
import type { JobIdentity } from "../scheduler.ts";
import type { Commands } from "./commands.ts";
import { type EndedJob, nodesOf, seenEnd } from "./ended.ts";
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
    else if (row !== undefined && isAnother(row, identities.get(ref))) seen.set(ref, { kind: "absent" });
    else if (active !== null) seen.set(ref, active);
    else ended.push(id);
  }
  // Only now accounting is asked: alone it proves nothing, it shows an end while the application still lives.
  const since = (id: string) => identities.get(ids.get(id) ?? "")?.submittedAtMs ?? null;
  for (const [id, answer] of await lookAtEnds(commands, ended, rows, since)) {
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

/** A number that was given away again: submitted after ours, and with another script. A requeue keeps the script. */
function isAnother(row: QueueRow, identity: JobIdentity | undefined): boolean {
  if (identity === undefined || row.command === identity.script) return false;
  return row.submitAtMs !== null && row.submitAtMs > identity.submittedAtMs;
}

/** Accounting keeps the jobs of years: one that bore the number before. */
function isOfAnEarlier({ submitAtMs }: AccountingRun, submittedAtMs: number | null): boolean {
  return submittedAtMs !== null && submitAtMs !== null && submitAtMs < submittedAtMs - CLOCKS_MS;
}

/** More than the clocks of two machines of a cluster differ. */
const CLOCKS_MS = 3_600_000;

async function lookAtEnds(
  commands: Commands,
  ids: readonly string[],
  rows: ReadonlyMap<string, QueueRow>,
  since: (id: string) => number | null,
): Promise<ReadonlyMap<string, Seen>> {
  if (ids.length === 0) return new Map();
  const accounting = await commands.accounting(ids);
  const all = accounting.kind === "answered" ? accounting.value : [];
  const runs = runsByJob(all.filter((run) => !isOfAnEarlier(run, since(run.id))));
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
