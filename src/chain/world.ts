/** What `advance` needs of the world around it. One world per process and job; the tests build a simulated one. */
import type { JobSpec, ProcessRef, Reading, Ref, Watch } from "../core/index.ts";
import type { Folder } from "../host/index.ts";
import type { AttemptPlace, TaskPlace } from "../journal/index.ts";
import type { Scheduler } from "../schedulers/index.ts";

export interface Clock {
  /** Epoch milliseconds. */
  nowMs(): number;
  /** This host's monotonic clock; time-outs between processes run on it alone. */
  monotonicMs(): number;
  sleep(ms: number): Promise<void>;
}

export interface World {
  readonly folder: Folder;
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly self: ProcessRef;
  /** Is that process still there? "elsewhere": this machine can't tell. */
  aliveHere(ref: ProcessRef): "alive" | "gone" | "elsewhere";
  /** Unique among all processes and machines. */
  nonce(): string;
  /** The text of an attempt's script. */
  script(place: AttemptPlace, spec: JobSpec): string;
  readCheckpoint(task: TaskPlace, spec: JobSpec): Promise<Reading>;
  /** One line for whoever debugs; never needed for correctness. */
  log(line: string): void;
  /** Uid of the user whose cancel counts as the user's own. */
  readonly ownerUid: number;
  readonly memory: Memory;
}

/** What a process remembers between its looks. Losing it costs time, never safety. */
export interface Memory {
  /** By attempt folder. */
  readonly watches: Map<string, Watch & { readonly heartbeat: string | null }>;
  /** Attempts that this process is handing to the scheduler right now. */
  readonly submitting: Set<string>;
  /** Attempts whose submit got no clear answer: never submitted again by this process, only looked for. */
  readonly unclear: Set<string>;
  /** What the scheduler has accepted and is not on file yet: never submitted again, only put on file. */
  readonly accepted: Map<string, { readonly ref: Ref; readonly cluster: string | null; readonly id: string }>;
  /** Refusals, to ask again later with growing waits. */
  readonly refusals: Map<string, Refusal>;
  /** Refused claims on other tasks that this process keeps to try them again, by attempt folder. */
  readonly kept: Set<string>;
  /** Whether any task of a job has run, by job folder: a yes stays one, a no is good for a while. */
  readonly ran: Map<string, { readonly any: boolean; readonly atMs: number }>;
}

export interface Refusal {
  readonly error: string;
  /** False: a clear no that stays one; asking again only helps when somebody mends the cause. */
  readonly transient: boolean;
  readonly count: number;
  /** On the monotonic clock. */
  readonly againAtMs: number;
}

export function newMemory(): Memory {
  return {
    watches: new Map(),
    submitting: new Set(),
    unclear: new Set(),
    accepted: new Map(),
    refusals: new Map(),
    kept: new Set(),
    ran: new Map(),
  };
}
