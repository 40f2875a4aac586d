/** The resolved specification of a job: what is frozen at submit. Where each value came from is kept beside it. */
import type { SchedulerName } from "./records.ts";
import type { TaskPlan } from "./task-plan.ts";

/** How a number is read from the checkpoint. */
export type ProgressRule =
  | { readonly kind: "number" }
  /** A dotted path into a JSON file, e.g. `.run.step`. */
  | { readonly kind: "json"; readonly path: string }
  /** The first group of the last match in the file's text. */
  | { readonly kind: "pattern"; readonly pattern: string }
  /** Opaque files by glob: a generation is counted whenever size or sampled content changes. */
  | { readonly kind: "files"; readonly glob: string };

export type Command =
  /** Text for a login bash, as the seed does it. */
  | { readonly kind: "shell"; readonly text: string }
  /** Argument vector without any shell. */
  | { readonly kind: "argv"; readonly argv: readonly string[] }
  /** A batch script: the copy of it in the job folder, run by the program of its first line. */
  | {
      readonly kind: "batch";
      /** File name of the script. */
      readonly name: string;
      /** Of its content, in hex: names the copy. */
      readonly sha256: string;
      readonly interpreter: readonly string[];
      readonly args: readonly string[];
    };

export interface Budgets {
  readonly failures: number;
  readonly stalled: number;
  readonly preemptions: number;
  readonly infrastructure: number;
  readonly neverRan: number;
  readonly inARow: number;
  readonly attempts: number;
  /** Sum of the attempts' run time. */
  readonly wallMs: number;
}

export interface SlurmOptions {
  readonly partition: string | null;
  readonly account: string | null;
  readonly qos: string | null;
  readonly cpusPerTask: number | null;
  readonly memory: string | null;
  readonly nodes: string | null;
  readonly exclude: string | null;
  /** What Slurm calls the job, where that cannot be the name of ours; absent: our name. */
  readonly jobName?: string;
  /** Passed to sbatch untouched. */
  readonly sbatch: readonly string[];
  readonly launch: "direct" | "srun";
  readonly srunArgs: readonly string[];
  readonly modules: readonly string[];
}

/** Wishes about the beginning of a chain: they count until an attempt has run. */
export interface UntilFirstRun {
  /** Not before this, epoch milliseconds. */
  readonly beginAtMs: number | null;
  /** As sbatch's --dependency. */
  readonly dependency: string | null;
  /** The first job waits until somebody releases it. */
  readonly hold: boolean;
}

/** Of the submitter's own job, in mode submitter. */
export interface SubmitterOptions {
  /** null: unlimited. */
  readonly limitMs: number | null;
  /** How long before its limit it queues its successor. */
  readonly marginMs: number;
  readonly memory: string;
  readonly partition: string | null;
  readonly account: string | null;
  readonly qos: string | null;
  /** Passed to sbatch untouched. */
  readonly sbatch: readonly string[];
}

export type Mode = "self" | "attached" | "submitter";

export interface JobSpec {
  readonly version: number;
  /** Last part of the job's id. */
  readonly name: string;
  readonly command: Command;
  /** Null (absent in a specification of an older version): one task, 0. */
  readonly tasks?: TaskPlan | null;
  /** Working folder of the application, absolute. */
  readonly cwd: string;
  readonly checkpoint: { readonly path: string; readonly progress: ProgressRule } | null;
  readonly total: number | null;
  /** null: the scheduler's own default (Slurm) or none (local). */
  readonly limitMs: number | null;
  /** `auto`: each attempt's is sized from how long saving took before (margin.ts). */
  readonly marginMs: number | "auto";
  readonly scheduler: SchedulerName;
  /** `local`, submitted or resumed inside an allocation: when that ends. Null: in none, or its end is not known. */
  readonly allocationEndAtMs: number | null;
  /** CPUs of this node in that allocation, for information. */
  readonly allocationCpus: number | null;
  /** That allocation's own name. Null: in none. */
  readonly allocationId: string | null;
  readonly mode: Mode;
  /** Only in mode submitter. */
  readonly submitter?: SubmitterOptions;
  /** Successors kept queued while an attempt runs. */
  readonly ahead: number;
  readonly budgets: Budgets;
  readonly backoffFirstMs: number;
  readonly backoffMaxMs: number;
  /** null: 5 s, or 1 s when the window is under a minute. */
  readonly sampleIntervalMs: number | null;
  /** `local`: from TERM by the limit to KILL, as Slurm's KillWait. */
  readonly killWaitMs: number;
  /** Who gets TERM at the window's end: every member, or the main process only (mpirun). */
  readonly termTo: "all" | "main";
  readonly savedExitCodes: readonly number[];
  /** Set for the application over the environment saved at submit. */
  readonly env: Readonly<Record<string, string>>;
  readonly checkpointEvery: string | null;
  /** Where the user wants the application's output; null: only in the attempt's folder. Absolute. */
  readonly output: { readonly stdout: string | null; readonly stderr: string | null };
  /** What the application reads as its standard input, absolute; absent: nothing. */
  readonly input?: string;
  readonly untilFirstRun?: UntilFirstRun;
  /** Absolute path of the node program that runs the runner. */
  readonly node: string;
  /** Name of the folder below `.stint/runtime` that holds the runner of this job. */
  readonly runtime: string;
  readonly slurm: SlurmOptions;
  /** Time-outs between processes (protocol); tests shorten them. */
  readonly timing: Timing;
}

export interface Timing {
  /** A wait for the proof of lower attempts ends after this. */
  readonly proofWaitMs: number;
  /** D: two answers of the doubtful kind at least this far apart. */
  readonly doubtfulTwiceMs: number;
  /** D: after a lost node answers again its leftovers may live for this long (2 × KillWait). */
  readonly nodesBackMs: number;
  /** D: heartbeat silent at least this long as watched. */
  readonly heartbeatSilentMs: number;
  /** Neither folder nor scheduler reached for this long: the body freezes its application. */
  readonly fenceMs: number;
  /** A look for a job after an unclear submit is given up after this. */
  readonly unclearMs: number;
  /** A scheduler is asked at most this often. */
  readonly pollMs: number;
}

/** Where a resolved value came from, e.g. `flag --limit`, `environment RUNNER_TIME_LIMIT`, `stint.yaml:4:3`, `default`. */
export type Origins = Readonly<Record<string, string>>;

export interface SpecRevision {
  readonly version: number;
  readonly nonce: string;
  readonly atMs: number;
  readonly by: string;
  readonly spec: JobSpec;
  readonly origins: Origins;
}
