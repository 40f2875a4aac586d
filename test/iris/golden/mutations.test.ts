/** The published tree, changed in one place at a time: the terms that this concerns move, by as much, and no other. */
import { expect, it } from "vitest";
import { type UsageReport, usage } from "../../../src/usage/index.ts";
import type { IrisRows, SampleRow } from "../double/rows.ts";
import { goldenRows } from "./data.ts";
import { rowsSource } from "./rows-source.ts";
import { ROOT } from "./table.ts";

const ROWS = goldenRows();
const BEFORE = await report(ROWS);

function report(rows: IrisRows): Promise<UsageReport> {
  return usage({ source: rowsSource(rows), job: ROOT, includeFailed: true });
}

function figures({ ledgers: { explanation, tasks, samples } }: UsageReport): Record<string, number> {
  const terms = [...explanation.causes, ...explanation.missing].map(({ id, ms }) => [id, Number(ms)] as const);
  return Object.fromEntries([["A", Number(tasks.wallMs)], ["B", Number(samples.wallMs)], ...terms]);
}

/** What has moved, and by how much. */
async function moved(rows: IrisRows): Promise<Record<string, number>> {
  const after = await report(rows);
  expect(after.ledgers.explanation.unexplainedMs).toBe(0n);
  const before = figures(BEFORE);
  return Object.fromEntries(
    Object.entries(figures(after)).flatMap(([id, ms]) => (ms === before[id] ? [] : [[id, ms - (before[id] ?? 0)]])),
  );
}

const is = (id: string) => (row: { readonly task_id: string }) => row.task_id.includes(id);
const samplesOf = (id: string, attempt = 0) => ROWS.samples.filter((row) => is(id)(row) && row.attempt_id === attempt);
const without = (dropped: SampleRow | undefined): IrisRows => ({
  ...ROWS,
  samples: ROWS.samples.filter((row) => row !== dropped),
});

it("nothing changed, nothing moved", async () => {
  expect(await moved(ROWS)).toEqual({});
});

it("the first sample of an attempt dropped: its lead-in, by the interval", async () => {
  const [first, second] = samplesOf("31d3c8a3");
  const ms = (second?.ts ?? 0) - (first?.ts ?? 0);
  expect(await moved(without(first))).toEqual({ B: -ms, "lead-in": ms });
});

it("the last sample dropped: its tail", async () => {
  const [before, last] = samplesOf("31d3c8a3").slice(-2);
  const ms = (last?.ts ?? 0) - (before?.ts ?? 0);
  expect(await moved(without(last))).toEqual({ B: -ms, tail: ms });
});

it("a sample in the middle dropped: no time at all", async () => {
  expect(await moved(without(samplesOf("31d3c8a3")[100]))).toEqual({});
});

it("all samples of an attempt dropped: all of it is unsampled", async () => {
  const gone = new Set(samplesOf("f57f421f"));
  const spans = 10_680_149;
  expect(await moved({ ...ROWS, samples: ROWS.samples.filter((row) => !gone.has(row)) })).toEqual({
    B: -spans,
    "lead-in": -5_115,
    tail: -1_900,
    "no-samples": 5_115 + spans + 1_900,
  });
});

it("a task's end dropped: it leaves A with all of its terms", async () => {
  const tasks = ROWS.tasks.map((task) => (is("851a0962")(task) ? { ...task, finished_at_ms: null } : task));
  const spans = 34_162_204;
  expect(await moved({ ...ROWS, tasks })).toEqual({
    A: -(52_900 + 3_330 + spans + 4_790 + 420),
    "before-first": -52_900,
    "lead-in": -3_330,
    tail: -4_790,
    "after-last": -420,
    "without-end": -spans,
  });
});

it("an attempt's end dropped: its tail and the gap behind it are what is missing", async () => {
  const attempts = ROWS.attempts.map((row) =>
    is("4cc0011d")(row) && row.attempt_id === 2 ? { ...row, finished_at_ms: null } : row,
  );
  expect(await moved({ ...ROWS, attempts })).toEqual({ tail: -2_940, between: -95_420, "missing-end": 98_360 });
});

it("an attempt's record dropped: what lies around its samples is missing", async () => {
  const attempts = ROWS.attempts.filter((row) => !(is("4cc0011d")(row) && row.attempt_id === 3));
  expect(await moved({ ...ROWS, attempts })).toEqual({
    "lead-in": -5_540,
    tail: -640,
    between: -(95_420 + 300_030),
    "missing-attempt": 5_540 + 640 + 95_420 + 300_030,
  });
});

it("an attempt that begins 10 s before the one below has ended: an overlap instead of the gap", async () => {
  const attempts = ROWS.attempts.map((row) =>
    is("4cc0011d")(row) && row.attempt_id === 1 ? { ...row, started_at_ms: (row.started_at_ms ?? 0) - 191_300 } : row,
  );
  expect(await moved({ ...ROWS, attempts })).toEqual({ "lead-in": 191_300, between: -181_300, overlap: -10_000 });
});

it("a worker's clock: within the record it moves lead-in and tail, beyond it is found and named", async () => {
  const shifted = (ms: number): IrisRows => ({
    ...ROWS,
    samples: ROWS.samples.map((row) => (is("851a0962")(row) ? { ...row, ts: row.ts + ms } : row)),
  });
  expect(await moved(shifted(2_000))).toEqual({ "lead-in": 2_000, tail: -2_000 });
  expect(await moved(shifted(-13_330))).toEqual({ "lead-in": -3_330, tail: 3_330 });
  expect((await report(shifted(-13_330))).ledgers.clockOffsets).toEqual({ attempts: 1, largestMs: 10_000 });
  expect(BEFORE.ledgers.clockOffsets).toEqual({ attempts: 0, largestMs: 0 });
  // Further away nothing but the offset changes.
  expect(figures(await report(shifted(-3_600_000)))).toEqual(figures(await report(shifted(-13_330))));
});

it("the controller's clock at a task's end: what comes after its last attempt", async () => {
  const tasks = ROWS.tasks.map((task) =>
    is("f57f421f")(task) ? { ...task, finished_at_ms: (task.finished_at_ms ?? 0) + 60_000 } : task,
  );
  expect(await moved({ ...ROWS, tasks })).toEqual({ A: 60_000, "after-last": 60_000 });
});
