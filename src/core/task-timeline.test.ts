import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AttemptEvidence } from "./attempt-time.ts";
import { type TimelineCause, taskTimeline } from "./task-timeline.ts";
import type { SampleSpan } from "./usage-rows.ts";

/** `[number, started, finished, first sample, last sample, samples]`; null: not told. Samples of 0: none. */
type Row = readonly [number, number | null, number | null, number, number, number];

function evidence([attempt, startedAtMs, finishedAtMs, firstAtMs, lastAtMs, samples]: Row): AttemptEvidence {
  const record = { taskId: "/u/j/0", attempt, state: "preempted", startedAtMs, finishedAtMs } as const;
  return { attempt, record, span: samples === 0 ? null : spanOf(attempt, firstAtMs, lastAtMs, samples) };
}

function spanOf(attempt: number, firstAtMs: number, lastAtMs: number, samples: number): SampleSpan {
  return {
    taskId: "/u/j/0",
    attempt,
    samples,
    firstAtMs,
    lastAtMs,
    remainderUs: 0,
    meanCpuMillicores: null,
    integral: null,
    memoryPeakBytes: null,
    hosts: null,
  };
}

function cut(startedAtMs: number, finishedAtMs: number, rows: readonly (Row | AttemptEvidence)[]) {
  const attempts = rows.map((row) => (isRow(row) ? evidence(row) : row));
  const { parts } = taskTimeline({ startedAtMs, finishedAtMs }, attempts, 0);
  const sums: Partial<Record<TimelineCause, number>> = {};
  for (const { cause, ms } of parts) sums[cause] = (sums[cause] ?? 0) + ms;
  return sums;
}

function isRow(row: Row | AttemptEvidence): row is Row {
  return Array.isArray(row);
}

describe("a task's time line", () => {
  const first: Row = [0, 110, 400, 117, 395, 40];
  const second: Row = [1, 450, 700, 456, 691, 35];

  it("has gaps, lead-ins and tails", () => {
    expect(cut(100, 720, [first, second])).toEqual({
      "before-first": 10,
      between: 50,
      "after-last": 20,
      "lead-in": 7 + 6,
      tail: 5 + 9,
    });
  });

  it("a first sample dropped moves the lead-in alone, by the interval", () => {
    expect(cut(100, 720, [[0, 110, 400, 124, 395, 39], second])["lead-in"]).toBe(14 + 6);
  });

  it("an attempt's end dropped: what came after its last sample is missing, not a gap", () => {
    expect(cut(100, 720, [[0, 110, null, 117, 395, 40], second])).toEqual({
      "before-first": 10,
      "missing-end": 55,
      "after-last": 20,
      "lead-in": 7 + 6,
      tail: 9,
    });
  });

  it("an attempt's start dropped: what came before its first sample is missing", () => {
    expect(cut(100, 720, [first, [1, null, 700, 456, 691, 35]])).toEqual({
      "before-first": 10,
      "missing-start": 56,
      "after-last": 20,
      "lead-in": 7,
      tail: 5 + 9,
    });
  });

  it("an attempt's record dropped: its samples stand, and what lies between them and its neighbours is missing", () => {
    expect(cut(100, 720, [first, { attempt: 1, record: null, span: spanOf(1, 456, 691, 35) }])).toEqual({
      "before-first": 10,
      "missing-attempt": 56 + 29,
      "lead-in": 7,
      tail: 5,
    });
  });

  it("a number that nobody has on record is a missing attempt", () => {
    const third: Row = [2, 450, 700, 456, 691, 35];
    expect(cut(100, 720, [first, third])["missing-attempt"]).toBe(50);
    expect(cut(100, 720, [first, [1, null, 440, 0, 0, 0], third]).between).toBe(50);
    expect(cut(100, 720, [[1, 110, 400, 117, 395, 40]])["missing-attempt"]).toBe(10);
  });

  it("an overlap counts once, with a minus", () => {
    const early: Row = [1, 380, 700, 386, 691, 35];
    expect(cut(100, 720, [first, early])).toEqual({
      "before-first": 10,
      "after-last": 20,
      overlap: -20,
      "lead-in": 7 + 6,
      tail: 5 + 9,
    });
  });

  it("attempts with one sample or none count whole", () => {
    expect(
      cut(100, 720, [
        [0, 110, 400, 250, 250, 1],
        [1, 450, 700, 0, 0, 0],
      ]),
    ).toMatchObject({
      "one-sample": 290,
      "no-samples": 250,
    });
  });

  it("time outside of the task's own is taken off", () => {
    expect(cut(120, 720, [first, second])).toMatchObject({ outside: -10, "lead-in": 13 });
    expect(cut(120, 720, [first, second])["before-first"]).toBeUndefined();
  });

  it("a clock that is early is shifted back: lead-in and tail stay what they would be, and the offset is told", () => {
    const rows: Row[] = [[0, 110, 400, 110, 395, 40]];
    const shifted: Row[] = [[0, 110, 400, 80, 365, 40]];
    expect(cut(110, 400, shifted)).toEqual(cut(110, 400, rows));
    const task = { startedAtMs: 110, finishedAtMs: 400 };
    expect(taskTimeline(task, rows.map(evidence), 0).offsets).toEqual([]);
    expect(taskTimeline(task, shifted.map(evidence), 0).offsets).toEqual([{ attempt: 0, offsetMs: 30 }]);
  });

  it("samples that span more than the record leave an excess", () => {
    expect(cut(110, 400, [[0, 110, 400, 100, 430, 40]])).toEqual({ clock: -40 });
    expect(cut(100, 400, [[0, 300, 200, 210, 230, 4]])).toEqual({ "before-first": 200, "after-last": 100, clock: -20 });
  });

  it("refuses a task that does not end after its start", () => {
    expect(() => cut(100, 100, [])).toThrow(RangeError);
  });
});

describe("any time line", () => {
  const at = fc.integer({ min: 0, max: 60 });
  const maybe = fc.option(at, { nil: null, freq: 4 });
  const row = fc.record({
    started: maybe,
    finished: maybe,
    a: at,
    b: at,
    samples: fc.integer({ min: 0, max: 3 }),
    record: fc.boolean(),
  });
  const rows = fc.array(row, { maxLength: 6 }).map((all) =>
    all.map((each, attempt): AttemptEvidence => {
      const [first, last] =
        each.samples === 1 ? [each.a, each.a] : [Math.min(each.a, each.b), Math.max(each.a, each.b)];
      const made = evidence([attempt, each.started, each.finished, first, last, each.samples]);
      return each.record || made.span === null ? made : { ...made, record: null };
    }),
  );

  it("adds up to the task's time less its sampled spans, in any order of its attempts", () => {
    fc.assert(
      fc.property(rows, fc.integer({ min: 0, max: 30 }), fc.integer({ min: 31, max: 60 }), (attempts, from, to) => {
        const { parts } = taskTimeline({ startedAtMs: from, finishedAtMs: to }, attempts, 0);
        const sampled = attempts.reduce(
          (sum, { span }) => sum + (span === null ? 0 : span.lastAtMs - span.firstAtMs),
          0,
        );
        expect(parts.reduce((sum, { ms }) => sum + ms, 0)).toBe(to - from - sampled);
        const turned = taskTimeline({ startedAtMs: from, finishedAtMs: to }, attempts.toReversed(), 0);
        expect(byText(turned.parts)).toEqual(byText(parts));
      }),
      { numRuns: 3000 },
    );
  });

  it("with complete records nothing is missing, and gaps and overlaps are those of a count of each single millisecond", () => {
    const complete = fc
      .array(fc.tuple(at, at), { maxLength: 6 })
      .map((all) => all.map(([a, b], attempt) => evidence([attempt, Math.min(a, b), Math.max(a, b), 0, 0, 0])));
    fc.assert(
      fc.property(complete, fc.integer({ min: 0, max: 30 }), fc.integer({ min: 31, max: 60 }), (attempts, from, to) => {
        const { parts } = taskTimeline({ startedAtMs: from, finishedAtMs: to }, attempts, 0);
        const counted = { gap: 0, overlap: 0 };
        for (let ms = from; ms < to; ms += 1) {
          const depth = attempts.filter(
            ({ record }) => (record?.startedAtMs ?? 0) <= ms && ms < (record?.finishedAtMs ?? 0),
          ).length;
          if (depth === 0) counted.gap += 1;
          else counted.overlap -= depth - 1;
        }
        const sum = (...causes: TimelineCause[]): number =>
          parts.reduce((total, { cause, ms }) => total + (causes.includes(cause) ? ms : 0), 0);
        expect(sum("before-first", "between", "after-last")).toBe(counted.gap);
        expect(sum("overlap")).toBe(counted.overlap);
        expect(sum("missing-end", "missing-start", "missing-attempt")).toBe(0);
      }),
      { numRuns: 1500 },
    );
  });
});

function byText(parts: readonly object[]): string[] {
  return parts.map((part) => JSON.stringify(part)).sort();
}
