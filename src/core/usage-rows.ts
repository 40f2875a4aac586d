/**
 * What a source of usage tells, as plain rows: jobs, tasks, attempts, and one row of samples for each attempt. Instants are
 * epoch milliseconds UTC (`…AtMs`). Null is "not told" or "not yet", and never 0 (design law 6).
 */
import type { TaskState } from "./task-state.ts";

/** One job of a tree: `/user/name[/child…]`. */
export interface JobNode {
  readonly jobId: string;
  /** As the source says it; null for roots, and also where the parent's record is gone. */
  readonly parentJobId: string | null;
  readonly state: TaskState;
  readonly user: string | null;
  /** A child that holds machines for its parent and computes nothing. */
  readonly isReservationHolder: boolean;
  /** Asked for by each of its tasks; null: not told. */
  readonly requestedCpuMillicores: number | null;
}

/** `taskId` is `<jobId>/<index>`. */
export interface TaskTimes {
  readonly taskId: string;
  readonly jobId: string;
  readonly state: TaskState;
  readonly startedAtMs: number | null;
  readonly finishedAtMs: number | null;
}

/** `attempt` counts as its source counts: Iris from 0, a job folder from 1. */
export interface AttemptTimes {
  readonly taskId: string;
  readonly attempt: number;
  readonly state: TaskState;
  readonly startedAtMs: number | null;
  readonly finishedAtMs: number | null;
}

/** All samples of one attempt in one row. */
export interface SampleSpan {
  readonly taskId: string;
  readonly attempt: number;
  /** How many samples; at least 1. */
  readonly samples: number;
  /** Whole milliseconds, rounded down from what the source holds. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** Exact span less (lastAtMs − firstAtMs), in microseconds: −999 to 999. 0 where the source holds milliseconds. */
  readonly remainderUs: number;
  /** Plain mean over the samples; null: no sample tells it. */
  readonly meanCpuMillicores: number | null;
  readonly integral: SpanIntegral | null;
  /** Highest that a sample tells. */
  readonly memoryPeakBytes: number | null;
  /** On how many of the attempt's hosts samples were taken; null: not told. */
  readonly hosts: { readonly sampled: number; readonly of: number } | null;
}

/** CPU time of one attempt between its first and its last sample, by each way that the source allows. All in ms of CPU. */
export interface SpanIntegral {
  /** Each interval counts with the mean of the two readings at its ends (trapezoid rule). */
  readonly weightedCpuMs: number;
  /** Σ interval × the smaller, the larger reading at its ends, intervals that are holes left out. */
  readonly lowCpuMs: number;
  readonly highCpuMs: number;
  /** Last less first value of a counter that never goes back: exact. Null: the source has none. */
  readonly counterCpuMs: number | null;
  /** Intervals longer than `holeMs`. */
  readonly holes: number;
  /** Their time together. */
  readonly holesMs: number;
  readonly longestIntervalMs: number;
  /** What counted as a hole: three times the usual interval. */
  readonly holeMs: number;
}
