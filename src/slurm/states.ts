/** Slurm's state words, as squeue, scontrol and sacct print them. */

export interface State {
  /** The word alone: `CANCELLED`, never `CANCELLED by 1001` or `CANCELLED+`. */
  readonly word: string;
  /** Who cancelled it, where accounting names somebody. */
  readonly cancelledByUid: number | null;
}

export type ActivePhase = "pending" | "running" | "suspended" | "completing";

/** Reads `TIMEOUT`, `CANCELLED by 1001`, `CANCELLED+` (cut off by a narrow column), `COMPLETED*`. */
export function parseState(text: string): State {
  const word = /^[A-Z_]+/.exec(text.trim())?.[0] ?? text.trim();
  const uid = / by (\d+)/.exec(text)?.[1];
  return { word, cancelledByUid: uid === undefined ? null : Number(uid) };
}

/**
 * The phase of a job that the controller still holds as active; null: the state is an end. A word that is not known here
 * counts as running, since only a known end may release what comes after it.
 */
export function activePhase(word: string): ActivePhase | null {
  if (ENDS.has(word)) return null;
  return PHASES.get(word) ?? "running";
}

/** Ends that tell nothing about the processes on the nodes; CANCELLED is one only while nobody is named. */
export function isDoubtfulEnd(state: State): boolean {
  return LOST_NODE.has(state.word) || (state.word === "CANCELLED" && state.cancelledByUid === null);
}

/** Ends that the batch step has reported itself, in contrast to those that the controller decided. */
export function isReportedEnd(word: string): boolean {
  return REPORTED.has(word);
}

const REPORTED = new Set(["COMPLETED", "FAILED", "OUT_OF_MEMORY"]);
const LOST_NODE = new Set(["NODE_FAIL", "BOOT_FAIL"]);
const ENDS = new Set([
  "BOOT_FAIL",
  "CANCELLED",
  "COMPLETED",
  "DEADLINE",
  "FAILED",
  "LAUNCH_FAILED",
  "NODE_FAIL",
  "OUT_OF_MEMORY",
  "PREEMPTED",
  "RECONFIG_FAIL",
  "REVOKED",
  "TIMEOUT",
]);
const PHASES: ReadonlyMap<string, ActivePhase> = new Map([
  ["PENDING", "pending"],
  ["CONFIGURING", "pending"],
  ["REQUEUED", "pending"],
  ["REQUEUE_FED", "pending"],
  ["REQUEUE_HOLD", "pending"],
  ["RESV_DEL_HOLD", "pending"],
  ["SPECIAL_EXIT", "pending"],
  ["POWER_UP_NODE", "pending"],
  ["RUNNING", "running"],
  ["RESIZING", "running"],
  ["SIGNALING", "running"],
  ["STOPPED", "suspended"],
  ["SUSPENDED", "suspended"],
  ["COMPLETING", "completing"],
  ["STAGE_OUT", "completing"],
]);
