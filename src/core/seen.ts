/** What a scheduler says of one attempt now (design law 5: "not reachable", "not there" and "over" are three answers). */

export interface Unreachable {
  readonly kind: "unreachable";
  readonly error: string;
}

/** The scheduler answers and knows nothing of it. */
export interface Absent {
  readonly kind: "absent";
  /** As of an end. */
  readonly trustedBy?: string;
}

export interface Active {
  readonly kind: "active";
  readonly phase: "pending" | "running" | "suspended" | "completing";
  readonly reason: string | null;
  readonly limitEndAtMs: number | null;
  /** Of a job that waits in a queue, for whoever asks why; nothing is decided by it. */
  readonly queue?: QueuePlace;
}

/** What the scheduler shows of a job in its queue, in its own words. */
export interface QueuePlace {
  readonly id: string;
  /** When it was submitted. */
  readonly sinceMs: number | null;
  /** When the scheduler expects to start it; null: it has not said. */
  readonly expectedStartAtMs: number | null;
  readonly partition: string;
  /** As the scheduler prints it, e.g. `10:00`. */
  readonly timeLimit: string;
  readonly account: string;
  readonly qos: string;
}

export interface Over {
  readonly kind: "over";
  /** Slurm's state word without decoration (`TIMEOUT`); local: `COMPLETED`, `FAILED`, `TIMEOUT`, `CANCELLED`, `LOST`, `REBOOTED`. */
  readonly state: string;
  readonly exitCode: number | null;
  readonly signal: number | null;
  /** Who cancelled it; null: nobody named. */
  readonly cancelledByUid: number | null;
  /** False while the record may still change (accounting late). */
  readonly final: boolean;
  /**
   * What the answer proves about the attempt's processes: C the controller itself no longer holds it as active, D a
   * doubtful end (NODE_FAIL, BOOT_FAIL, cancelled by nobody) whose nodes are as given, E every process was looked for
   * here and is gone, null nothing (accounting alone).
   */
  readonly proof: "C" | "D" | "E" | null;
  readonly nodes: "rebooted" | "answering" | "silent" | null;
  /** The scheduler's own words, for the evidence. */
  readonly text: string;
  /** Where the site says that the scheduler's word is enough without cgroup tracking, e.g. `/etc/stint.yaml:3`. */
  readonly trustedBy?: string;
}

/** Slurm's reason for a job whose dependency can never be met. */
export const NEVER_MET = "DependencyNeverSatisfied";

/** A queued job that Slurm will never start and, without a site's setting, never takes out of the queue either. */
export function neverStarts(seen: Seen): boolean {
  return seen.kind === "active" && seen.phase === "pending" && seen.reason === NEVER_MET;
}

export type Seen = Unreachable | Absent | Active | Over;
