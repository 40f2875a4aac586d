/**
 * One finished task's time from its start to its end, cut exactly (design §6):
 *
 *   finished − started = Σ attempts + gaps + missing − overlaps − outside
 *   each attempt       = lead-in + sampled span + tail, or all of it without samples, − excess
 *
 * Every part is found by its own rule, none as the rest of the others; all in integer ms.
 */
import { type AttemptEvidence, type AttemptTime, attemptTime } from "./attempt-time.ts";

/** Causes by which the task table counts more (or, outside, overlap and clock, less) than the samples. */
export type TimelineCause =
  | "before-first"
  | "between"
  | "after-last"
  | "lead-in"
  | "tail"
  | "one-sample"
  | "no-samples"
  | "overlap"
  | "outside"
  | "clock"
  /** Time of which records that are missing could tell more. */
  | "missing-end"
  | "missing-start"
  | "missing-attempt";

/** `ms` is what it adds to the task's time beyond its sampled spans; negative for overlap, outside and clock. */
export interface TimelinePart {
  readonly cause: TimelineCause;
  readonly ms: number;
  /** The attempt behind (of a gap: before) it; null: none. */
  readonly attempt: number | null;
}

export interface Timeline {
  readonly parts: readonly TimelinePart[];
  /** Attempts whose samples lie outside of their record, with the least shift that would mend it. */
  readonly offsets: readonly { readonly attempt: number; readonly offsetMs: number }[];
}

/** `firstAttempt`: the number that the source gives to the first one. Throws RangeError unless it ends after it starts. */
export function taskTimeline(
  task: { readonly startedAtMs: number; readonly finishedAtMs: number },
  attempts: readonly AttemptEvidence[],
  firstAttempt: number,
): Timeline {
  const { startedAtMs, finishedAtMs } = task;
  if (!(finishedAtMs > startedAtMs)) throw new RangeError("a task's time line needs an end after its start");
  const times = attempts.map(attemptTime).filter((time) => time !== null);
  const parts = [
    ...times.flatMap(partsOf),
    ...times.flatMap((time) => {
      const inside = clip(time, startedAtMs, finishedAtMs);
      return part("outside", time.toMs - time.fromMs - (inside.toMs - inside.fromMs), time.attempt, -1);
    }),
    ...sweep(
      startedAtMs,
      finishedAtMs,
      times.map((time) => clip(time, startedAtMs, finishedAtMs)),
      { recorded: new Set(attempts.flatMap((each) => (each.record === null ? [] : each.attempt))), firstAttempt },
    ),
  ];
  const offsets = times.flatMap(({ attempt, clockOffsetMs }) =>
    clockOffsetMs === 0 ? [] : { attempt, offsetMs: clockOffsetMs },
  );
  return { parts, offsets };
}

function partsOf(time: AttemptTime): TimelinePart[] {
  const unsampled = time.samples === 0 ? "no-samples" : "one-sample";
  return [
    ...part("lead-in", time.leadInMs, time.attempt),
    ...part("tail", time.tailMs, time.attempt),
    ...part(unsampled, time.unsampledMs, time.attempt),
    ...part("clock", time.excessMs, time.attempt, -1),
  ];
}

function part(cause: TimelineCause, ms: number, attempt: number | null, sign: 1 | -1 = 1): TimelinePart[] {
  return ms === 0 ? [] : [{ cause, ms: sign * ms, attempt }];
}

function clip(time: AttemptTime, startedAtMs: number, finishedAtMs: number): AttemptTime {
  const within = (atMs: number): number => Math.min(finishedAtMs, Math.max(startedAtMs, atMs));
  return { ...time, fromMs: within(time.fromMs), toMs: within(time.toMs) };
}

interface Numbering {
  readonly recorded: ReadonlySet<number>;
  readonly firstAttempt: number;
}

/** Gaps are where no attempt is, overlaps where more than one is: each further one counts. */
function sweep(
  startedAtMs: number,
  finishedAtMs: number,
  times: readonly AttemptTime[],
  numbering: Numbering,
): TimelinePart[] {
  const parts: TimelinePart[] = [];
  let left: AttemptTime | null = null;
  let coveredToMs = startedAtMs;
  const inOrder = [...times].sort((a, b) => a.fromMs - b.fromMs || a.toMs - b.toMs || a.attempt - b.attempt);
  for (const time of inOrder) {
    parts.push(...part(gapCause(left, time, numbering), Math.max(0, time.fromMs - coveredToMs), left?.attempt ?? null));
    const overlapMs = Math.max(0, Math.min(coveredToMs, time.toMs) - time.fromMs);
    parts.push(...part("overlap", overlapMs, time.attempt, -1));
    // Of several that end together, one that may have gone on decides about what comes after.
    if (left === null || time.toMs > left.toMs || (time.toMs === left.toMs && left.endKnown)) left = time;
    coveredToMs = Math.max(coveredToMs, time.toMs);
  }
  const restMs = Math.max(0, finishedAtMs - coveredToMs);
  return [...parts, ...part(gapCause(left, null, numbering), restMs, left?.attempt ?? null)];
}

function gapCause(left: AttemptTime | null, right: AttemptTime | null, numbering: Numbering): TimelineCause {
  if (left?.recordKnown === false || right?.recordKnown === false) return "missing-attempt";
  if (left?.endKnown === false) return "missing-end";
  if (right?.startKnown === false) return "missing-start";
  if (right !== null && numberMissing(left?.attempt ?? numbering.firstAttempt - 1, right.attempt, numbering.recorded))
    return "missing-attempt";
  if (left === null) return "before-first";
  return right === null ? "after-last" : "between";
}

/** Attempts are numbered without holes, so a hole is a record that is gone. */
function numberMissing(below: number, above: number, recorded: ReadonlySet<number>): boolean {
  for (let number = below + 1; number < above; number += 1) if (!recorded.has(number)) return true;
  return false;
}
