/** The words and numbers of usage, as people read them. */
import type { CauseId, Explanation, Ledgers, Term } from "../core/index.ts";

/** `190,310,743`. */
export function thousands(value: bigint | number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** `52h51m50s`: the seed's form, seconds rounded down. */
export function hoursText(ms: bigint): string {
  if (ms < 0n) return `-${hoursText(-ms)}`;
  const seconds = ms / 1000n;
  const two = (value: bigint): string => String(value).padStart(2, "0");
  return `${seconds / 3600n}h${two((seconds / 60n) % 60n)}m${two(seconds % 60n)}s`;
}

export const CAUSE_WORDS: Readonly<Record<CauseId, string>> = {
  "before-first": "before the first attempt began",
  between: "gaps between attempts",
  "after-last": "after the last attempt ended",
  "lead-in": "start of attempt to first sample",
  tail: "last sample to end of attempt",
  "one-sample": "attempts with a single sample",
  "no-samples": "attempts without samples",
  overlap: "attempts that overlap",
  outside: "attempt time outside the task's own",
  clock: "samples spanning more than the attempt",
  "in-flight": "tasks in flight: in B only",
  "without-end": "ended tasks without an end: in B only",
  "without-start": "tasks without a start: in B only",
  "filtered-state": "tasks that did not succeed: in B only",
  "not-positive": "tasks ending before they start: in B only",
  "without-task": "samples without a task: in B only",
  fractions: "fractions of a millisecond",
  "missing-end": "after attempts without an end on record",
  "missing-start": "before attempts without a start on record",
  "missing-attempt": "where an attempt's record is gone",
};

/** Rows of the explanation: cause, milliseconds with their sign, records. Causes of 0 ms are named together at the end. */
export function explanationLines({ explanation, slack, clockOffsets, samples }: Ledgers): readonly string[] {
  const { differenceMs, causes, residualMs, missing, unexplainedMs } = explanation;
  const shown = causes.filter(({ from }) => from.length > 0);
  const lacking = missing.filter(({ from }) => from.length > 0);
  return [
    row("A - B", differenceMs),
    ...shown.map((term) => row(CAUSE_WORDS[term.id], term.ms, recordsText(term))),
    row("residual", residualMs, residualMs === 0n ? "nothing is left unexplained" : ""),
    ...lacking.map((term) => row(`  of it ${CAUSE_WORDS[term.id]}`, term.ms, recordsText(term))),
    ...(unexplainedMs === 0n ? [] : [row("  of it unexplained: please report this", unexplainedMs)]),
    ...noneLines(causes),
    ...slackLines(slack),
    ...(samples.oneSample + samples.noSamples === 0
      ? []
      : [`  attempts with one sample: ${samples.oneSample}, with none: ${samples.noSamples}`]),
    ...(clockOffsets.attempts === 0
      ? []
      : [
          `  clocks: the samples of ${count(clockOffsets.attempts, "attempt")} lie outside of its record, by up to ${thousands(clockOffsets.largestMs)} ms`,
        ]),
  ];
}

export function count(number: number, word: string): string {
  return `${thousands(number)} ${word}${number === 1 ? "" : "s"}`;
}

/** A name and what it is, as one line of a list. */
export function field(name: string, value: string): string {
  return `${name.padEnd(13)} ${value}`;
}

/** The terms that records stand behind, in the order in which they are shown. */
export function termsOf({ causes, missing }: Explanation): readonly Term[] {
  return [...causes, ...missing].filter(({ from }) => from.length > 0);
}

function row(words: string, ms: bigint, more = ""): string {
  return `  ${words.padEnd(WORDS_WIDTH)} ${signed(ms).padStart(NUMBER_WIDTH)}${more === "" ? "" : `  ${more}`}`;
}

function signed(ms: bigint): string {
  return ms > 0n ? `+${thousands(ms)}` : thousands(ms);
}

function recordsText({ from }: Term): string {
  return count(from.length, "record");
}

function noneLines(causes: readonly Term[]): readonly string[] {
  const none = causes.filter(({ from }) => from.length === 0);
  return none.length === 0 ? [] : [`  none of: ${none.map(({ id }) => id).join(", ")}`];
}

function slackLines({ intervalMs, estimateMs, trueMs }: Ledgers["slack"]): readonly string[] {
  if (intervalMs === null || estimateMs === null) return [];
  const seconds = (ms: number): string => (ms / 1000).toFixed(1);
  const attempts = Math.round(estimateMs / intervalMs);
  return [
    `  sampling slack: ${seconds(intervalMs)} s x ${count(attempts, "attempt")} = ${seconds(estimateMs)} s by the seed's estimate; truly ${seconds(Number(trueMs))} s`,
  ];
}

const WORDS_WIDTH = 44;
const NUMBER_WIDTH = 15;
