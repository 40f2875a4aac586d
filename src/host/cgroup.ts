import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Tracking } from "../core/index.ts";
import { type CgroupMount, folderInMount, parseCgroupMounts, parseCgroupText, slurmJobPath } from "./cgroup-path.ts";
import { clockTicksPerSecond, readCgroupText, readSmallFile, readStat } from "./proc.ts";

export interface CgroupCpu {
  readonly userMs: number;
  readonly systemMs: number;
}

export interface CgroupMemory {
  /** What is in use and could not be given back at once: the group's use without its inactive file cache. */
  readonly currentBytes: number;
  /** The most it has ever held, file cache included; null where the kernel keeps none (v2 before 5.19). */
  readonly peakBytes: number | null;
}

/**
 * How Slurm tracks the processes of the job that this process belongs to, and the job's group. `cgroup` only where the
 * group that KILL goes by can be the job's (v2, or the freezer of v1): a job's group for memory alone confines no process. On v2
 * a site may limit by group and still track otherwise (ProctrackType): the path alone does not tell.
 */
export function slurmTracking(pid: number | "self" = "self"): {
  readonly tracking: Tracking;
  readonly cgroup: string | null;
} {
  const paths = parseCgroupText(readCgroupText(pid) ?? "");
  for (const controller of ["freezer", ""]) {
    const job = slurmJobPath(paths.get(controller) ?? "");
    if (job !== null) return { tracking: "cgroup", cgroup: job };
  }
  return { tracking: "other", cgroup: null };
}

/** The path of this process's own group: v2's, unless that is the root and one of v1 says more. */
export function ownCgroup(pid: number | "self" = "self"): string | null {
  const paths = parseCgroupText(readCgroupText(pid) ?? "");
  const candidates = ["", "memory", "cpuacct", "freezer", "pids"].map((controller) => paths.get(controller));
  return (
    candidates.find((path) => path !== undefined && path !== "/") ??
    candidates.find((path) => path !== undefined) ??
    null
  );
}

/** Processes in the group and in all groups below it; empty where there is no such group. */
export function pidsInCgroup(path: string): readonly number[] {
  const folder = folderOf(path, ["freezer", "pids", "memory", "cpuacct", "cpuset"]);
  const pids = new Set<number>();
  if (folder !== null) collectPids(folder, pids);
  return [...pids];
}

/** CPU time that the group has used since it was made; null where nobody counts it. Never goes down. */
export function cgroupCpu(path: string): CgroupCpu | null {
  const unified = readIn(unifiedFolder(path), "cpu.stat");
  const userUs = numberAfter(unified, "user_usec");
  const systemUs = numberAfter(unified, "system_usec");
  if (userUs !== null && systemUs !== null) return { userMs: userUs / 1000, systemMs: systemUs / 1000 };
  const folder = folderOf(path, ["cpuacct"], false);
  const usageNs = Number(readIn(folder, "cpuacct.usage") ?? Number.NaN);
  if (!Number.isFinite(usageNs)) return null;
  const split = readIn(folder, "cpuacct.stat");
  const ticks = { user: numberAfter(split, "user") ?? 0, system: numberAfter(split, "system") ?? 0 };
  // The split counts in ticks, the sum in nanoseconds: the sum stands, the split only divides it.
  const systemMs = Math.min((ticks.system * 1000) / clockTicksPerSecond(), usageNs / 1e6);
  return { userMs: usageNs / 1e6 - systemMs, systemMs };
}

/** Memory of the group; null where nobody counts it. */
export function cgroupMemory(path: string): CgroupMemory | null {
  const unified = unifiedFolder(path);
  const current = numberIn(unified, "memory.current");
  if (current !== null) {
    const inactive = numberAfter(readIn(unified, "memory.stat"), "inactive_file") ?? 0;
    return { currentBytes: Math.max(0, current - inactive), peakBytes: numberIn(unified, "memory.peak") };
  }
  const folder = folderOf(path, ["memory"], false);
  const usage = numberIn(folder, "memory.usage_in_bytes");
  if (usage === null) return null;
  const inactive = numberAfter(readIn(folder, "memory.stat"), "total_inactive_file") ?? 0;
  return { currentBytes: Math.max(0, usage - inactive), peakBytes: numberIn(folder, "memory.max_usage_in_bytes") };
}

/** How many processes of the group the kernel has killed for want of memory; null where it does not say. */
export function cgroupOomKills(path: string): number | null {
  const unified = numberAfter(readIn(unifiedFolder(path), "memory.events"), "oom_kill");
  return unified ?? numberAfter(readIn(folderOf(path, ["memory"], false), "memory.oom_control"), "oom_kill");
}

/**
 * The same for the Slurm job that this process belongs to; null where its memory is in no group of the job's. v1 counts in
 * each group alone what v2 counts for all below it: there it is the group of this process, which is that of its step.
 */
export function slurmOomKills(): number | null {
  const paths = parseCgroupText(readCgroupText("self") ?? "");
  const own = paths.get("memory") ?? "";
  if (slurmJobPath(own) !== null) return cgroupOomKills(own);
  const job = slurmJobPath(paths.get("") ?? "");
  return job === null ? null : cgroupOomKills(job);
}

let mounts: readonly CgroupMount[] | null = null;

function cgroupMounts(): readonly CgroupMount[] {
  mounts ??= parseCgroupMounts(readSmallFile("/proc/self/mountinfo") ?? "");
  return mounts;
}

function unifiedFolder(path: string): string | null {
  return folderOf(path, []);
}

/** The folder of the group in the first of v2 and the given v1 hierarchies that knows it. */
function folderOf(path: string, controllers: readonly string[], unified = true): string | null {
  // The root is everybody's group and nobody's account.
  if (path === "/" || path === "") return null;
  const candidates = controllers.map((name) => cgroupMounts().find((mount) => mount.controllers.includes(name)));
  if (unified) candidates.unshift(cgroupMounts().find((mount) => mount.version === 2));
  for (const mount of candidates) {
    if (mount === undefined) continue;
    const folder = folderInMount(mount, path);
    if (existsSync(folder)) return folder;
  }
  return null;
}

function collectPids(folder: string, pids: Set<number>): void {
  // Slurm's own: the step that holds the job's place on the node, and the daemon beside each step.
  if (folder.endsWith("/step_extern")) return;
  for (const word of (readIn(folder, "cgroup.procs") ?? "").split("\n"))
    if (word !== "" && readStat(Number(word))?.comm !== "slurmstepd") pids.add(Number(word));
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) collectPids(join(folder, entry.name), pids);
    }
  } catch {
    // The group was removed meanwhile: it held nothing any more.
  }
}

function readIn(folder: string | null, name: string): string | null {
  return folder === null ? null : readSmallFile(join(folder, name));
}

function numberIn(folder: string | null, name: string): number | null {
  const text = readIn(folder, name)?.trim() ?? "";
  return /^\d+$/.test(text) ? Number(text) : null;
}

function numberAfter(text: string | null, key: string): number | null {
  const match = new RegExp(`^${key} (\\d+)$`, "m").exec(text ?? "");
  return match === null ? null : Number(match[1]);
}
