/** What the body needs beside the chain's world. Real parts stand behind it on a node, simulated ones in the tests. */
import type { World } from "../chain/index.ts";
import type { Exited, JobSpec, SignalNote } from "../core/index.ts";
import type { AttemptPlace } from "../journal/index.ts";
import type { Allocation } from "../schedulers/index.ts";
import type { AttemptSpec } from "./window.ts";

export interface ApplicationExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

export interface Usage {
  readonly cpuUserMs: number | null;
  readonly cpuSystemMs: number | null;
  readonly memoryPeakBytes: number | null;
  readonly memoryPeakIsLowerBound: boolean;
  /** null: nobody counts them. */
  readonly oomKills?: number | null;
}

/** A started application with everything that belongs to it. None of these waits for a file. */
export interface Application {
  /** Resolves when the main process has ended. */
  readonly exit: Promise<ApplicationExit>;
  /** TERM, to every member or (spec.termTo, srun) as the application wants it. */
  term(): void;
  /** Stops / continues every member. */
  freeze(): void;
  thaw(): void;
  /** Whether any member is left, besides the main process's zombie. */
  anyLeft(): boolean;
  /** KILL until nothing is left, bounded; pids that nothing could end. */
  sweep(): Promise<readonly number[]>;
  /** Sampled rows since the last call, ready to be appended to samples.csv. */
  takeSamples(): string;
  usage(): Usage;
}

/** What forbids the start between go and spawn. */
export interface Objection {
  readonly endedBy: "drain" | "cancel" | "fence" | "scheduler";
  readonly stopNumber: number | null;
}

export type StartAnswer =
  | { readonly kind: "started"; readonly application: Application }
  | { readonly kind: "refused"; readonly objection: Objection }
  | { readonly kind: "failed"; readonly error: string };

/** Why the body was asked from outside to end. */
export interface Outside {
  /** Signals that this process received, oldest first. */
  received(): readonly SignalNote[];
  /** Resolves at the first TERM-like signal to this process. */
  readonly asked: Promise<void>;
}

export interface BodyPorts {
  readonly world: World;
  readonly place: AttemptPlace;
  readonly spec: JobSpec;
  readonly allocation: Allocation;
  readonly guardian: { readonly pid: number; readonly startTicks: number } | null;
  readonly outside: Outside;
  /** Makes all ready, takes a last look, and spawns at once if nothing objects. */
  start(environment: Readonly<Record<string, string>>, lastLook: () => Promise<Objection | null>): Promise<StartAnswer>;
  /** Somebody has asked this process to end: nothing may be started any more. */
  leaving(): boolean;
  /** The allocation's end as the scheduler says it now; null: no news. */
  readLimitEnd(): Promise<number | null>;
  /** Does the checkpoint still belong to this job? Null: yes; else who has it. */
  otherOwner(): Promise<string | null>;
  /** A reason not to start for lack of space; null: none. */
  spaceTrouble(): Promise<string | null>;
  /** Bytes already in the user's output files. */
  outputOffsets(): Promise<{ readonly stdout: number; readonly stderr: number }>;
}

/** A body at work: its limit on this host's monotonic clock, as it was when the allocation was read (null: none), and its margin. */
export interface Body extends BodyPorts {
  readonly spec: AttemptSpec;
  readonly limitAtMs: number | null;
}

export type EndedBy = Exited["endedBy"];
