/** What is read from scontrol: the controller's configuration and the condition of nodes. */
import { parseTimeStamp } from "./time-stamp.ts";

export interface ControllerConfig {
  readonly clusterName: string;
  readonly version: string | null;
  readonly killWaitMs: number;
  readonly messageTimeoutMs: number;
  readonly minJobAgeMs: number;
  /** One more than the highest index of an array; null: not said. */
  readonly maxArraySize: number | null;
  readonly tracking: "cgroup" | "other";
  /** ProctrackType as it is set. */
  readonly trackingType: string;
  /** Accounts of jobs are kept (slurmdbd). */
  readonly accounting: boolean;
  /** Jobs are put back into the queue when a node is lost, unless they say otherwise. */
  readonly requeues: boolean;
  readonly scrontab: boolean;
}

/** Reads `scontrol show config`. @throws SyntaxError when no ClusterName is in it. */
export function parseConfig(text: string): ControllerConfig {
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    const match = /^(\w+)\s*= (.*)$/.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined) values.set(match[1], match[2].trim());
  }
  const clusterName = values.get("ClusterName");
  if (clusterName === undefined || clusterName === "(null)")
    throw new SyntaxError("scontrol show config names no ClusterName");
  // "30 sec"; Slurm's own defaults where a line is missing.
  const ms = (name: string, defaultSeconds: number): number =>
    Number(/^\d+/.exec(values.get(name) ?? "")?.[0] ?? defaultSeconds) * 1000;
  return {
    clusterName,
    version: values.get("SLURM_VERSION") ?? null,
    killWaitMs: ms("KillWait", 30),
    messageTimeoutMs: ms("MessageTimeout", 10),
    minJobAgeMs: ms("MinJobAge", 300),
    maxArraySize: /^\d+$/.test(values.get("MaxArraySize") ?? "") ? Number(values.get("MaxArraySize")) : null,
    tracking: values.get("ProctrackType") === "proctrack/cgroup" ? "cgroup" : "other",
    trackingType: values.get("ProctrackType") ?? "unknown",
    accounting: /slurmdbd/.test(values.get("AccountingStorageType") ?? ""),
    requeues: values.get("JobRequeue") !== "0",
    scrontab: /\benable\b/i.test(values.get("ScronParameters") ?? ""),
  };
}

export interface NodeCondition {
  readonly name: string;
  /** The controller hears from the node and does not hold it for down. */
  readonly answering: boolean;
  readonly bootAtMs: number | null;
}

/** Reads `scontrol -o show node A,B` (run with TIME_STAMP_ENVIRONMENT). */
export function parseNodes(text: string): readonly NodeCondition[] {
  return text.split("\n").flatMap((line) => {
    const name = /^NodeName=(\S+)/.exec(line)?.[1];
    if (name === undefined) return [];
    const state = / State=(\S+)/.exec(line)?.[1] ?? "UNKNOWN";
    return [{ name, answering: isAnswering(state), bootAtMs: parseTimeStamp(/ BootTime=(\S+)/.exec(line)?.[1] ?? "") }];
  });
}

/** `IDLE`, `MIXED+DRAIN`, `DOWN*`, `IDLE+NOT_RESPONDING`, `IDLE+POWERED_DOWN` … */
function isAnswering(state: string): boolean {
  if (/[*~#!%]/.test(state)) return false;
  const words = state.split("+");
  return !words.some((word) => SILENT.has(word));
}

const SILENT = new Set([
  "DOWN",
  "ERROR",
  "FUTURE",
  "UNKNOWN",
  "NOT_RESPONDING",
  "NO_RESPOND",
  "POWERED_DOWN",
  "POWERING_DOWN",
  "POWERING_UP",
  "POWER_DOWN",
  "POWER_UP",
  "REBOOT_ISSUED",
]);

/**
 * The condition of all nodes of a job together: `rebooted` when each has booted after the job started, `answering` when
 * each has booted or answers the controller, else `silent` (also when the controller does not know one of them any more).
 */
export function nodesTogether(
  names: readonly string[],
  conditions: readonly NodeCondition[],
  startAtMs: number | null,
): "rebooted" | "answering" | "silent" {
  const each = names.map((name) => {
    const node = conditions.find((condition) => condition.name === name);
    if (node === undefined) return "silent";
    if (node.answering && node.bootAtMs !== null && startAtMs !== null && node.bootAtMs > startAtMs) return "rebooted";
    return node.answering ? "answering" : "silent";
  });
  if (each.includes("silent")) return "silent";
  return each.includes("answering") ? "answering" : "rebooted";
}
