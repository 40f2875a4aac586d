/** One attempt's time as its record and its samples show it, cut into parts that add up to it exactly. All in integer ms. */
import type { AttemptTimes, SampleSpan } from "./usage-rows.ts";

/** What is known of one attempt: its record, its samples, or both. */
export interface AttemptEvidence {
  readonly attempt: number;
  /** Null: only samples know of it. */
  readonly record: AttemptTimes | null;
  readonly span: SampleSpan | null;
}

/** When it ran at least, and what that time is made of. `toMs` − `fromMs` = `leadInMs` + span + `tailMs` + `unsampledMs` − `excessMs`. */
export interface AttemptTime {
  readonly attempt: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** False: the record says no start (no end), and the samples bound it. */
  readonly startKnown: boolean;
  readonly endKnown: boolean;
  readonly recordKnown: boolean;
  readonly samples: number;
  /** From the start to the first of at least two samples, and from the last one to the end. */
  readonly leadInMs: number;
  readonly tailMs: number;
  /** Of an attempt with one sample or none: all of it. */
  readonly unsampledMs: number;
  /** By how much the samples span more time than the record does: their clocks do not agree. */
  readonly excessMs: number;
  /** The least by which the clock of the samples must be shifted for them to lie within the record. 0: they do, or never will. */
  readonly clockOffsetMs: number;
}

/** Null: nothing says that it ever ran, as with an attempt that waits, or was withdrawn before it began. */
export function attemptTime(evidence: AttemptEvidence): AttemptTime | null {
  const { attempt, record, span } = evidence;
  const startedAtMs = record?.startedAtMs ?? null;
  const finishedAtMs = record?.finishedAtMs ?? null;
  const known = {
    attempt,
    startKnown: startedAtMs !== null,
    endKnown: finishedAtMs !== null,
    recordKnown: record !== null,
    samples: span?.samples ?? 0,
  };
  if (startedAtMs !== null && finishedAtMs !== null)
    return { ...known, ...within(startedAtMs, Math.max(startedAtMs, finishedAtMs), span) };
  if (startedAtMs !== null) {
    // It was alive at its last sample; what came after is not on record.
    const toMs = span === null ? startedAtMs : startedAtMs + (span.lastAtMs - Math.min(startedAtMs, span.firstAtMs));
    return { ...known, ...within(startedAtMs, toMs, span) };
  }
  if (finishedAtMs !== null && span !== null) {
    const fromMs = finishedAtMs - (Math.max(finishedAtMs, span.lastAtMs) - span.firstAtMs);
    return { ...known, ...within(fromMs, finishedAtMs, span) };
  }
  // Without a start it never got that far, unless it is said to have done its work.
  if (finishedAtMs !== null && record?.state === "succeeded")
    return { ...known, ...within(finishedAtMs, finishedAtMs, null) };
  return span === null ? null : { ...known, ...within(span.firstAtMs, span.lastAtMs, span) };
}

type Cut = Pick<AttemptTime, "fromMs" | "toMs" | "leadInMs" | "tailMs" | "unsampledMs" | "excessMs" | "clockOffsetMs">;

/**
 * Samples that lie outside of the record come from another clock. Shifted by the least that brings them inside, they leave
 * lead-in and tail as they would be with one clock; what still does not fit is excess.
 */
function within(fromMs: number, toMs: number, span: SampleSpan | null): Cut {
  const none = { fromMs, toMs, leadInMs: 0, tailMs: 0, unsampledMs: 0, excessMs: 0, clockOffsetMs: 0 };
  const lengthMs = toMs - fromMs;
  if (span === null) return { ...none, unsampledMs: lengthMs };
  const earlyMs = Math.max(0, fromMs - span.firstAtMs);
  const lateMs = Math.max(0, span.lastAtMs - toMs);
  if (span.samples < 2) return { ...none, unsampledMs: lengthMs, clockOffsetMs: Math.max(earlyMs, lateMs) };
  const excessMs = Math.max(0, span.lastAtMs - span.firstAtMs - lengthMs);
  if (excessMs > 0) return { ...none, excessMs };
  const shiftMs = earlyMs - lateMs;
  return {
    ...none,
    leadInMs: span.firstAtMs + shiftMs - fromMs,
    tailMs: toMs - (span.lastAtMs + shiftMs),
    clockOffsetMs: earlyMs + lateMs,
  };
}
