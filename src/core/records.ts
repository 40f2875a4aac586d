/**
 * The records of an attempt (protocol §1) as plain data. Every time is epoch milliseconds UTC (`…AtMs`), every span comes
 * from one host's monotonic clock (`…Ms`). A record never changes once it has been created.
 */
import type { Budgets } from "./job-spec.ts";
import type { Saves, Saving } from "./margin.ts";
import type { Progress, Reading } from "./progress.ts";

/** Version written into every record; a reader refuses a higher one with a clear line and leaves the record alone. */
export const RECORD_VERSION = 1;

/** One machine as seen by this kernel: an absence counts only where all of these agree (design law 5). */
export interface Machine {
  readonly host: string;
  readonly machineId: string;
  readonly bootId: string;
  readonly pidNamespace: string;
}

/** A process that cannot be confused with a later one of the same pid: `startTicks` is field 22 of /proc/PID/stat. */
export interface ProcessRef extends Machine {
  readonly pid: number;
  readonly startTicks: number;
}

/** `local/<bootId>/<pid>/<startTicks>` or `slurm/<cluster>/<id>`: the scheduler's name for one attempt. */
export type Ref = string;

export type SchedulerName = "local" | "slurm";

interface Created {
  readonly version: number;
  readonly nonce: string;
  readonly atMs: number;
}

export type Basis = "first" | "ahead" | "after" | "resume";

export interface Claim extends Created {
  readonly by: ProcessRef;
  readonly specRevision: number;
  readonly basis: Basis;
  /** The settled attempt this one follows (0: none), and the earliest start decided there. */
  readonly after: number;
  readonly notBeforeMs: number | null;
}

export interface Submitted extends Created {
  readonly scheduler: SchedulerName;
  readonly cluster: string | null;
  readonly id: string;
  readonly ref: Ref;
  readonly by: "claimer" | "job" | "adopted";
}

export type Tracking = "cgroup" | "other";

export interface Started extends Created {
  readonly body: ProcessRef;
  readonly guardian: ProcessRef | null;
  readonly scheduler: SchedulerName;
  readonly ref: Ref;
  readonly restartCount: number;
  readonly cgroup: string | null;
  readonly tracking: Tracking;
  readonly nodes: readonly string[];
  /** When the scheduler will end the attempt; null where it has no limit. */
  readonly limitEndAtMs: number | null;
  /** When TERM will be sent: limitEndAtMs − margin; null without a limit. With `margin: auto` a guess until `go`. */
  readonly windowEndAtMs: number | null;
  /** Copied here since the scheduler forgets: partition, account, CPUs, memory, preemptible … */
  readonly allocation: Readonly<Record<string, string | number | boolean | null>>;
  /** Bytes already in the user's output files when the attempt began. */
  readonly outputOffsetBytes: { readonly stdout: number; readonly stderr: number };
}

/** Which of protocol §2 shows that an attempt is over, and what was seen. */
export interface Proof {
  readonly attempt: number;
  readonly by: "A" | "B" | "C" | "D" | "E" | "F";
  readonly seen: string;
}

export interface GoStart extends Created {
  readonly what: "start";
  /** Proofs of the attempts above `provedBy`'s; all lower ones are named in that attempt's own go (0: none). */
  readonly provedBy: number;
  readonly proofs: readonly Proof[];
  readonly progressBefore: Progress;
  /** The margin in force. Absent in records of a version that did not write it. */
  readonly marginMs?: number;
}

export type WithdrawReason =
  | "stopped"
  | "not-needed"
  | "orphaned-claim"
  | "job-gone"
  /** Its queued job was cancelled by the folder's owner without stint: as good as a drain. */
  | "cancelled-by-owner"
  | "waited-in-vain"
  | "total-reached"
  | "checkpoint-unusable"
  | "no-space"
  | "not-enough-time"
  | "spec-changed"
  | "runtime-failed"
  | "submit-unclear"
  | "other-owner";

export interface GoWithdrawn extends Created {
  readonly what: "withdrawn";
  readonly reason: WithdrawReason;
  readonly note: string | null;
  readonly by: ProcessRef;
}

export type Go = GoStart | GoWithdrawn;

export interface SignalNote {
  readonly signal: string;
  /** Since the application was spawned, monotonic. */
  readonly afterMs: number;
  readonly why: string;
}

export interface Exited extends Created {
  readonly by: "body" | "guardian";
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The application could not be spawned at all: the system's words. */
  readonly spawnError: string | null;
  /** We sent TERM because the window was over (or a stop asked for it). */
  readonly windowEnded: boolean;
  readonly endedBy: "application" | "window" | "drain" | "cancel" | "scheduler" | "fence" | "unknown";
  /** False: something objected between go and spawn, and no application was ever started. */
  readonly spawned: boolean;
  /** Highest stop number (own and ancestors' together) when a drain or cancel was acted upon; null: none was. */
  readonly stopNumber: number | null;
  readonly signalsSent: readonly SignalNote[];
  readonly signalsReceived: readonly SignalNote[];
  readonly progressAfter: Progress;
  readonly startedAtMs: number;
  /** The application's life on the host's monotonic clock; null where only the guardian is left to testify. */
  readonly ranMs: number | null;
  /** How it took our TERM; null or absent: none was sent, or nobody saw it. */
  readonly saving?: Saving | null;
  readonly cpuUserMs: number | null;
  readonly cpuSystemMs: number | null;
  readonly memoryPeakBytes: number | null;
  /** A sampled peak is a lower bound. */
  readonly memoryPeakIsLowerBound: boolean;
  /** Processes of the attempt that the kernel has killed for want of memory; null or absent: nobody counts them. */
  readonly oomKills?: number | null;
  /** Members of the attempt that nothing could end. */
  readonly survivors: readonly number[];
}

export type Verdict =
  | "completed"
  | "checkpointed"
  | "window-ended"
  | "stalled"
  | "preempted"
  | "node-failed"
  | "out-of-memory"
  | "failed"
  | "cancelled"
  | "never-ran";

export type Decision =
  | { readonly kind: "finish" }
  | { readonly kind: "continue" }
  | { readonly kind: "retry"; readonly notBeforeMs: number }
  | { readonly kind: "hold"; readonly why: string; readonly advice: string }
  | { readonly kind: "stop"; readonly why: string; readonly advice: string | null };

/** What a task has spent and reached so far; handed on from settlement to settlement. */
export interface Carry {
  /** Attempts whose application was allowed to start. */
  readonly attempts: number;
  readonly ranMs: number;
  /** Of some attempt only a lower bound is in `ranMs`, or nothing: nobody could testify when it ended. Absent: of none. */
  readonly ranIsLowerBound?: true;
  readonly failures: number;
  readonly stalled: number;
  readonly preemptions: number;
  readonly infrastructure: number;
  readonly neverRan: number;
  /** Attempts in a row, whatever their end, without a new high-water mark. */
  readonly inARow: number;
  readonly highWater: number | null;
  readonly cpuUserMs: number;
  readonly cpuSystemMs: number;
  /** How long saving took, for the margin. Absent in records of a version that did not measure it. */
  readonly recentSaves?: Saves;
}

export interface Evidence {
  readonly proof: Proof;
  readonly why: string;
  readonly state: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly progress: Progress;
  readonly conflicts: readonly string[];
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly ranMs: number | null;
  /** `ranMs` is that of the last sample: it ran at least so long, and nobody could testify when it ended. */
  readonly ranIsLowerBound?: true;
  readonly cpuUserMs: number | null;
  readonly cpuSystemMs: number | null;
  readonly memoryPeakBytes: number | null;
  readonly ref: Ref | null;
  readonly allocation: Started["allocation"];
}

export interface Settled extends Created {
  readonly verdict: Verdict;
  readonly decision: Decision;
  readonly evidence: Evidence;
  readonly carry: Carry;
  /** The highest stop of the job and of its ancestors together that was known: a resume counts when it is newer. */
  readonly stopNumber: number;
}

/** Numbers of one run or of one of its steps, as the scheduler accounts for them. Null: not told, which is not 0. */
interface Accounted {
  /** The scheduler's word, without decoration. */
  readonly state: string;
  /** Null where Slurm writes 0:0 for an end that has no exit status, and where no node has reported one. */
  readonly exitCode: number | null;
  readonly signal: number | null;
  readonly startAtMs: number | null;
  readonly endAtMs: number | null;
  /** Without the time it was suspended. */
  readonly elapsedMs: number | null;
  readonly allocatedCpus: number | null;
  readonly cpuTotalMs: number | null;
  readonly cpuUserMs: number | null;
  readonly cpuSystemMs: number | null;
  readonly memoryPeakBytes: number | null;
  /** As the scheduler printed them, by its own names; null: its record lies beside this one (`local.json`). */
  readonly raw: Readonly<Record<string, string>> | null;
}

export interface AccountStep extends Accounted {
  /** `batch`, `extern`, `0` … */
  readonly step: string;
}

/** One run of a job: a job that was requeued has several. */
export interface AccountRow extends Accounted {
  readonly ref: Ref;
  /** 0, and one more for each requeue. */
  readonly run: number;
  readonly cancelledByUid: number | null;
  readonly submitAtMs: number | null;
  readonly eligibleAtMs: number | null;
  readonly suspendedMs: number | null;
  /** CPU of steps that nobody has reported is not in it. */
  readonly cpuIsLowerBound: boolean;
  /** A sampled peak is a lower bound. */
  readonly memoryPeakIsLowerBound: boolean;
  /** Such as `cpu=4,mem=8G,gres/gpu=1`. */
  readonly allocated: string | null;
  readonly requestedMemoryBytes: number | null;
  readonly requestedMemoryPer: "node" | "cpu" | null;
  readonly nodes: readonly string[];
  readonly partition: string | null;
  readonly account: string | null;
  readonly steps: readonly AccountStep[];
}

/** `accounting.json`: what the scheduler says that an attempt has used, kept since it forgets. Changes no settlement. */
export interface Accounting {
  readonly version: number;
  readonly scheduler: SchedulerName;
  readonly gatheredAtMs: number;
  /** Nothing of it will change any more; only such accounts are put on file. */
  readonly final: boolean;
  /** All runs of all jobs that carried the attempt, in order. */
  readonly rows: readonly AccountRow[];
}

/** A wish on file. `resume` may carry a person's word that an attempt is over (proof F) or that the checkpoint is theirs. */
export interface Stop extends Created {
  readonly kind: "drain" | "cancel" | "resume";
  readonly by: string;
  /** Only this task of the job; absent: all of them. */
  readonly task?: number;
  readonly over?: number;
  readonly note?: string;
  /** A person's word to set the checkpoint aside: first with a drain, and with the resume when it has been done. */
  readonly quarantine?: Quarantine;
  /** A person's word that the checkpoint is to be started on as it is: invalid, or gone. */
  readonly asItIs?: true;
  /** Nonce of such a drain that was refused and that nobody may carry out any more. */
  readonly voids?: string;
}

/** What is moved where, and what it was. */
export interface Quarantine {
  /** The newest attempt that had run; the word is void once another one has. 0: none had. */
  readonly afterAttempt: number;
  /** What the checkpoint said before. */
  readonly progress: Reading;
  readonly moves: readonly QuarantineMove[];
}

export interface QuarantineMove {
  /** Absolute, links resolved. */
  readonly from: string;
  readonly to: string;
  /** Of `from`, in decimal: with the time of its last change (nanoseconds of the file system's clock) it names that very file. */
  readonly inode: string;
  readonly ctimeNs: string;
}

/** All that is on file of one attempt; null: not there (yet). */
export interface AttemptRecords {
  readonly number: number;
  readonly claim: Claim | null;
  readonly submitted: Submitted | null;
  readonly started: Started | null;
  readonly go: Go | null;
  readonly exited: Exited | null;
  readonly settled: Settled | null;
}

/** What judging needs to know of the settings. */
export interface Policy {
  readonly total: number | null;
  /** Exit codes that say "saved, more to do". */
  readonly savedExitCodes: readonly number[];
  readonly checkpointConfigured: boolean;
  readonly budgets: Budgets;
  readonly backoffFirstMs: number;
  readonly backoffMaxMs: number;
  /** As in the specification. */
  readonly limitMs: number | null;
  readonly marginMs: number | "auto";
  readonly allocationEndAtMs: number | null;
  /** Uid of the folder's owner: whose cancel is the user's own. */
  readonly ownerUid: number;
}
