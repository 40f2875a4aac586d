/** Rows of Iris' tables as rows of usage. */
import {
  type AttemptTimes,
  type JobNode,
  type SampleSpan,
  type SpanIntegral,
  type TaskTimes,
  taskStateOf,
} from "../../core/index.ts";
import { numberIn, type Row, requiredNumber, requiredText, requiredUs, textIn } from "./cells.ts";

/** Of `jobsSql`. */
export function jobOf(row: Row): JobNode {
  const jobId = requiredText(row, 0, "a job's id");
  const holder = numberIn(row, 4);
  return {
    jobId,
    parentJobId: textIn(row, 1),
    state: taskStateOf(requiredNumber(row, 2, "a job's state")),
    user: textIn(row, 3),
    // Newer controllers have no such jobs and no such column.
    isReservationHolder: holder !== null ? holder !== 0 : jobId.endsWith("/:reservation:"),
    requestedCpuMillicores: numberIn(row, 5),
  };
}

/** Of `tasksSql`. */
export function taskOf(row: Row): TaskTimes {
  return {
    taskId: requiredText(row, 0, "a task's id"),
    jobId: requiredText(row, 1, "a task's job"),
    state: taskStateOf(requiredNumber(row, 2, "a task's state")),
    startedAtMs: numberIn(row, 3),
    finishedAtMs: numberIn(row, 4),
  };
}

/** Of `attemptsSql`. */
export function attemptOf(row: Row): AttemptTimes {
  return {
    taskId: requiredText(row, 0, "a task's id"),
    attempt: requiredNumber(row, 1, "an attempt's number"),
    state: taskStateOf(requiredNumber(row, 2, "an attempt's state")),
    startedAtMs: numberIn(row, 3),
    finishedAtMs: numberIn(row, 4),
  };
}

/** Of `spansSql`. */
export function spanOf(row: Row): SampleSpan {
  const firstUs = requiredUs(row, 3, "the time of a sample");
  const lastUs = requiredUs(row, 4, "the time of a sample");
  const firstAtMs = floorMs(firstUs);
  const lastAtMs = floorMs(lastUs);
  const peakMib = numberIn(row, 6);
  return {
    taskId: requiredText(row, 0, "a task's id"),
    attempt: requiredNumber(row, 1, "an attempt's number"),
    samples: requiredNumber(row, 2, "a number of samples"),
    firstAtMs,
    lastAtMs,
    remainderUs: Number(lastUs - firstUs - BigInt(lastAtMs - firstAtMs) * 1000n),
    meanCpuMillicores: numberIn(row, 5),
    integral: null,
    // The collectors of some versions leave it at 0.
    memoryPeakBytes: peakMib === null || peakMib === 0 ? null : peakMib * 1_048_576,
    hosts: null,
  };
}

/** Of `integralSql`; millicore seconds are ms of CPU. */
export function integralOf(row: Row, holeMs: number): SpanIntegral {
  return {
    weightedCpuMs: numberIn(row, 2) ?? 0,
    lowCpuMs: numberIn(row, 3) ?? 0,
    highCpuMs: numberIn(row, 4) ?? 0,
    counterCpuMs: null,
    holes: numberIn(row, 5) ?? 0,
    holesMs: Math.round((numberIn(row, 6) ?? 0) * 1000),
    longestIntervalMs: Math.round((numberIn(row, 7) ?? 0) * 1000),
    holeMs,
  };
}

function floorMs(us: bigint): number {
  return Number((us - (((us % 1000n) + 1000n) % 1000n)) / 1000n);
}
