import { existsSync } from "node:fs";
import type { AllocationHere, Tracking } from "../../core/index.ts";
import { activePhase, expandNodeList, memoryBytes, type QueueRow } from "../../slurm/index.ts";
import type { Allocation } from "../scheduler.ts";
import type { Commands } from "./commands.ts";
import { formatRef } from "./ref.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How this process is tracked, as its cgroup tells it. */
export type OwnTracking = () => { readonly tracking: Tracking; readonly cgroup: string | null };

/**
 * The Slurm allocation of this process; null: it is in none. One look at the controller; where that gives nothing, the
 * environment alone speaks, and the end is known only where Slurm has put it there (SLURM_JOB_END_TIME, from 23.02).
 */
export async function ownAllocation(
  environment: Environment,
  commands: Commands,
  ownTracking: OwnTracking,
): Promise<Allocation | null> {
  const id = environment.SLURM_JOB_ID ?? environment.SLURM_JOBID;
  if (id === undefined || !/^\d+$/.test(id)) return null;
  const queue = await commands.queue([id]);
  const row = queue.kind === "answered" ? queue.value.find((job) => job.id === id) : undefined;
  // A requeued job that is told of its end only now: the row is about another run.
  const running = row !== undefined && activePhase(row.state) !== "pending" ? row : undefined;
  const cluster = environment.SLURM_CLUSTER_NAME ?? row?.cluster ?? (await clusterName(commands));
  const nodeList = environment.SLURM_JOB_NODELIST ?? environment.SLURM_NODELIST ?? running?.nodeList ?? "";
  return {
    ref: formatRef({ cluster: cluster ?? "unknown", id }),
    cluster,
    id,
    restartCount: wholeNumber(environment.SLURM_RESTART_COUNT) ?? 0,
    nodes: expandNodeList(nodeList),
    limitEndAtMs: running === undefined ? endFromEnvironment(environment) : running.endAtMs,
    ...(await surely(ownTracking(), commands)),
    attributes: attributesOf(environment, row),
  };
}

/**
 * The allocation that a command is typed in; null: none. One look at the controller, whose word is newer than the environment:
 * a limit may have been changed since.
 */
export async function allocationAround(environment: Environment, commands: Commands): Promise<AllocationHere | null> {
  const id = environment.SLURM_JOB_ID ?? environment.SLURM_JOBID ?? "";
  if (!/^\d+$/.test(id)) return null;
  const cpus = wholeNumber(environment.SLURM_CPUS_ON_NODE);
  const queue = await commands.queue([id]);
  const row = queue.kind === "answered" ? queue.value.find((job) => job.id === id) : undefined;
  if (row !== undefined && activePhase(row.state) !== null && activePhase(row.state) !== "pending")
    return { id, endAtMs: row.endAtMs, by: "squeue", cpus, error: null };
  const endAtMs = endFromEnvironment(environment);
  if (endAtMs !== null) return { id, endAtMs, by: "SLURM_JOB_END_TIME", cpus, error: null };
  const error = queue.kind === "unreachable" ? queue.error : `squeue shows no running job ${id} of yours`;
  return { id, endAtMs: null, by: "squeue", cpus, error };
}

/** In a pure version 2 hierarchy a job has its group whatever tracks its processes, so the configuration decides. */
async function surely(own: ReturnType<OwnTracking>, commands: Commands): Promise<ReturnType<OwnTracking>> {
  if (own.tracking !== "cgroup" || !existsSync("/sys/fs/cgroup/cgroup.controllers")) return own;
  const config = await commands.config();
  return config.kind === "answered" ? { ...own, tracking: config.value.tracking } : { ...own, tracking: "other" };
}

async function clusterName(commands: Commands): Promise<string | null> {
  const config = await commands.config();
  return config.kind === "answered" ? config.value.clusterName : null;
}

function endFromEnvironment(environment: Environment): number | null {
  const seconds = wholeNumber(environment.SLURM_JOB_END_TIME);
  return seconds === null ? null : seconds * 1000;
}

function attributesOf(environment: Environment, row: QueueRow | undefined): Allocation["attributes"] {
  const memoryMiB = wholeNumber(environment.SLURM_MEM_PER_NODE);
  return {
    partition: environment.SLURM_JOB_PARTITION ?? row?.partition ?? null,
    account: environment.SLURM_JOB_ACCOUNT ?? row?.account ?? null,
    qos: environment.SLURM_JOB_QOS ?? row?.qos ?? null,
    cpus: row?.cpus ?? wholeNumber(environment.SLURM_CPUS_ON_NODE),
    memoryBytes: memoryBytes(row?.resources ?? "") ?? (memoryMiB === null ? null : memoryMiB * 1024 ** 2),
    // Whether others may push it out is the site's secret.
    preemptible: null,
  };
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null;
}
