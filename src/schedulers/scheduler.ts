/** What a scheduler must be able to do for a chain. `local` and `slurm` stand behind it; a simulated one in the tests. */
import type { AccountRow, JobSpec, Ref, SchedulerName, Seen } from "../core/index.ts";

export type { Seen } from "../core/index.ts";

export interface Submission {
  /** Absolute path of the attempt's script; unique, so that a job can be found by it. */
  readonly script: string;
  readonly attemptFolder: string;
  readonly jobName: string;
  /** The job is an array's only element, with this index; null or absent: it is no array. */
  readonly arrayIndex?: number | null;
  readonly spec: JobSpec;
  /** Start only after all of these have ended, however they end. */
  readonly after: readonly Ref[];
  readonly notBeforeMs: number | null;
  /** Start only when this holds too, in the words of sbatch's --dependency. */
  readonly dependency?: string | null;
  /** Wait until somebody releases it. */
  readonly hold?: boolean;
  /** The environment saved at submit. */
  readonly environment: Readonly<Record<string, string>>;
}

export type SubmitAnswer =
  | { readonly kind: "accepted"; readonly ref: Ref; readonly cluster: string | null; readonly id: string }
  /** A clear no; `transient` when asking again later can help (submit limits). */
  | { readonly kind: "refused"; readonly error: string; readonly transient: boolean }
  /** Nobody knows whether the job exists: look for its script before anything else. */
  | { readonly kind: "unclear"; readonly error: string };

export interface Allocation {
  readonly ref: Ref;
  readonly cluster: string | null;
  readonly id: string;
  readonly restartCount: number;
  readonly nodes: readonly string[];
  readonly limitEndAtMs: number | null;
  readonly tracking: "cgroup" | "other";
  readonly cgroup: string | null;
  readonly attributes: Readonly<Record<string, string | number | boolean | null>>;
}

/** What the scheduler has on file of a job that has ended. */
export type AccountAnswer =
  /** All runs of the job, oldest first; none of it will change any more. */
  | { readonly kind: "final"; readonly rows: readonly AccountRow[] }
  /** Not final yet, or not there yet: accounting comes late. */
  | { readonly kind: "pending"; readonly why: string }
  | { readonly kind: "unreachable"; readonly error: string }
  /** No accounts are kept of it, and none will come. */
  | { readonly kind: "none"; readonly why: string };

/** What tells a job from another one with its number: numbers begin anew when a controller loses its state, and go round. */
export interface JobIdentity {
  /** Absolute path of the script it was submitted with. */
  readonly script: string;
  /** When it was claimed: it was not submitted before. null: not known. */
  readonly submittedFromMs: number | null;
  /** When it was known to be submitted, which may be long after its submit: a job may be the first to say so, when it starts. */
  readonly submittedUntilMs: number;
}

export interface AccountOptions {
  /** Given up after this, in ms, as unreachable. Default: the scheduler's own patience. */
  readonly withinMs?: number | undefined;
  /** Of a job in it nothing is said that is about another one with its number. */
  readonly identities?: ReadonlyMap<Ref, JobIdentity>;
}

export interface Scheduler {
  readonly name: SchedulerName;
  submit(submission: Submission): Promise<SubmitAnswer>;
  /** After an unclear submit, or for a claim whose maker died: is there a job with this script? */
  find(
    script: string,
  ): Promise<{ readonly ref: Ref; readonly cluster: string | null; readonly id: string } | "none" | "unreachable">;
  /**
   * One query for all of them. Every ref asked for is in the answer. Of a job in `identities` nothing is said that is about
   * another one with its number.
   */
  observe(refs: readonly Ref[], identities?: ReadonlyMap<Ref, JobIdentity>): Promise<ReadonlyMap<Ref, Seen>>;
  /** What the jobs have used: one query for all of them, none to the controller. Every ref asked for is in the answer. */
  account(refs: readonly Ref[], options?: AccountOptions): Promise<ReadonlyMap<Ref, AccountAnswer>>;
  /** Takes queued jobs back, and ends them if they run by now. No error when they are gone. */
  withdraw(refs: readonly Ref[]): Promise<void>;
  /** Moves the start of a queued job; where a scheduler can't, the body itself waits. */
  delay?(ref: Ref, notBeforeMs: number): Promise<void>;
  /** Ends a running job with all of its processes. */
  kill(ref: Ref): Promise<void>;
  /** Signals an application that the scheduler started as a step (srun). */
  warn(ref: Ref, signal: string): Promise<"sent" | "no-step">;
  /** In the runner: the allocation it runs in; null: none of this scheduler's. */
  here(environment: Readonly<Record<string, string | undefined>>): Promise<Allocation | null>;
}
