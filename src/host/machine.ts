import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { Machine, ProcessRef } from "../core/index.ts";
import { errorCode } from "./folder-error.ts";
import { clockTicksPerSecond, hasEnded, readSmallFile, readStat } from "./proc.ts";

let here: Machine | null = null;

/**
 * This machine, read once. Without a machine id of the system the boot id stands in for it, so that nothing counts as the
 * same machine after a reboot. Throws one clear line where there is no /proc (not Linux).
 */
export function thisMachine(): Machine {
  here ??= readMachine();
  return here;
}

/** The process as it runs now, a zombie too; null where there is none of that pid. */
export function processRef(pid: number): ProcessRef | null {
  const stat = readStat(pid);
  return stat === null ? null : { ...thisMachine(), pid, startTicks: stat.startTicks };
}

/** This very process. */
export function thisProcess(): ProcessRef {
  const ref = processRef(process.pid);
  if (ref === null) throw new Error("cannot read /proc/self/stat: /proc must be mounted");
  return ref;
}

/** True where an absence can be seen from here: machine id, host name and pid namespace all agree. */
export function sameMachine(one: Machine, other: Machine): boolean {
  return one.machineId === other.machineId && one.host === other.host && one.pidNamespace === other.pidNamespace;
}

/**
 * Whether a process lives, as seen from this machine (design law 5).
 * - `elsewhere`: it belongs to another machine or pid namespace: nothing can be said from here.
 * - `gone`: the machine has booted since; or there is no such pid (ESRCH); or the pid is now that of a later process; or it
 *   is a zombie, which runs and holds nothing.
 * - `alive`: all else, also where the pid exists and may not be looked at (/proc mounted with hidepid).
 */
export function aliveHere(ref: ProcessRef): "alive" | "gone" | "elsewhere" {
  const machine = thisMachine();
  if (!sameMachine(ref, machine)) return "elsewhere";
  if (ref.bootId !== machine.bootId) return "gone";
  const stat = readStat(ref.pid);
  if (stat !== null) return stat.startTicks === ref.startTicks && !hasEnded(stat) ? "alive" : "gone";
  if (!pidExists(ref.pid)) return "gone";
  // Hidden from us, or begun between the two looks: look once more, and never take "cannot see" for "gone".
  const again = readStat(ref.pid);
  return again === null || (again.startTicks === ref.startTicks && !hasEnded(again)) ? "alive" : "gone";
}

/**
 * How long ago a process of this boot began, in ms (to 10 ms), whether it still lives or not, by the kernel's own count since boot: a
 * clock that is set changes nothing. Null: it belongs to another machine or boot.
 */
export function sinceStartMs(ref: ProcessRef): number | null {
  const machine = thisMachine();
  if (!sameMachine(ref, machine) || ref.bootId !== machine.bootId) return null;
  const uptimeSeconds = Number.parseFloat(readSmallFile("/proc/uptime") ?? "");
  if (!Number.isFinite(uptimeSeconds)) return null;
  return Math.max(0, Math.round((uptimeSeconds - ref.startTicks / clockTicksPerSecond()) * 1000));
}

/** Whether a process has this number, anybody's: not whether it is the one that had it. */
export function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there and belongs to somebody else.
    return errorCode(error) !== "ESRCH";
  }
}

function readMachine(): Machine {
  const bootId = readSmallFile("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
  if (bootId === "")
    throw new Error("cannot read /proc/sys/kernel/random/boot_id: stint needs Linux with /proc mounted");
  return { host: hostname(), machineId: machineId() ?? `boot-${bootId}`, bootId, pidNamespace: pidNamespace() };
}

/** 32 hexadecimal digits; images for containers ship the file empty or with the word `uninitialized`. */
function machineId(): string | null {
  for (const path of ["/etc/machine-id", "/var/lib/dbus/machine-id"]) {
    const text = readSmallFile(path)?.trim() ?? "";
    if (/^[0-9a-f]{32}$/i.test(text)) return text.toLowerCase();
  }
  return null;
}

function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    // A kernel without pid namespaces has one for all.
    return "none";
  }
}
