import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jobTree } from "./leaves.ts";
import { type Ledgers, ledgersOf, type UsageRows } from "./ledgers.ts";
import { TASK_STATES, type TaskState } from "./task-state.ts";
import { usageGroups } from "./usage-groups.ts";
import type { AttemptTimes, JobNode, SampleSpan, TaskTimes } from "./usage-rows.ts";
import type { CauseId } from "./usage-terms.ts";

const OPTIONS = { includeFailed: false, innerJobs: false, firstAttempt: 0 };

function job(jobId: string, more: Partial<JobNode> = {}): JobNode {
  return {
    jobId,
    parentJobId: jobId.split("/").length > 3 ? jobId.slice(0, jobId.lastIndexOf("/")) : null,
    state: "succeeded",
    user: jobId.split("/")[1] ?? null,
    isReservationHolder: false,
    requestedCpuMillicores: null,
    ...more,
  };
}

function task(taskId: string, state: TaskState, startedAtMs: number | null, finishedAtMs: number | null): TaskTimes {
  return { taskId, jobId: taskId.slice(0, taskId.lastIndexOf("/")), state, startedAtMs, finishedAtMs };
}

function attempt(
  taskId: string,
  number: number,
  startedAtMs: number | null,
  finishedAtMs: number | null,
  state: TaskState = "preempted",
): AttemptTimes {
  return { taskId, attempt: number, state, startedAtMs, finishedAtMs };
}

function span(
  taskId: string,
  number: number,
  firstAtMs: number,
  lastAtMs: number,
  more: Partial<SampleSpan> = {},
): SampleSpan {
  return {
    taskId,
    attempt: number,
    samples: firstAtMs === lastAtMs ? 1 : 10,
    firstAtMs,
    lastAtMs,
    remainderUs: 0,
    meanCpuMillicores: 500,
    integral: null,
    memoryPeakBytes: null,
    hosts: null,
    ...more,
  };
}

/** Root `/u/r` with leaves a (two attempts, done), b (fails), c (under way), d (a task of each odd kind). */
const ROWS: UsageRows = {
  tree: jobTree("/u/r", [job("/u/r"), job("/u/r/a"), job("/u/r/b"), job("/u/r/c"), job("/u/r/d"), job("/u/r2")]),
  tasks: [
    task("/u/r/0", "succeeded", 0, 9_000),
    task("/u/r/a/0", "succeeded", 1_000, 11_000),
    task("/u/r/b/0", "failed", 1_000, 5_000),
    task("/u/r/c/0", "running", 1_000, null),
    task("/u/r/d/0", "succeeded", 4_000, 4_000),
    task("/u/r/d/1", "killed", 4_000, null),
    task("/u/r/d/2", "killed", null, 9_000),
  ],
  attempts: [
    attempt("/u/r/a/0", 0, 1_200, 5_000),
    attempt("/u/r/a/0", 1, 6_000, 10_900, "succeeded"),
    attempt("/u/r/b/0", 0, 1_100, 5_000, "failed"),
    attempt("/u/r/c/0", 0, 1_100, null, "running"),
    attempt("/u/r/d/0", 0, 4_000, 4_000),
    attempt("/u/r/d/1", 0, 4_100, null, "killed"),
  ],
  spans: [
    span("/u/r/0", 0, 0, 8_000),
    span("/u/r/a/0", 0, 1_500, 4_800),
    span("/u/r/a/0", 1, 6_100, 10_600),
    span("/u/r/b/0", 0, 1_150, 4_900),
    span("/u/r/c/0", 0, 2_000, 7_500),
    span("/u/r/d/0", 0, 4_000, 4_010),
    span("/u/r/d/1", 0, 4_200, 4_900),
    span("/u/r/d/2", 0, 5_000, 5_070),
    span("/u/r/d/3", 0, 5_000, 5_600),
    span("/u/r/gone/0", 0, 5_000, 6_000),
  ],
};

function terms({ explanation: { causes, missing } }: Ledgers): Partial<Record<CauseId, number>> {
  return Object.fromEntries([...causes, ...missing].flatMap(({ id, ms }) => (ms === 0n ? [] : [[id, Number(ms)]])));
}

describe("both ledgers of a tree", () => {
  const ledgers = ledgersOf(ROWS, OPTIONS);

  it("count the leaves' tasks, and their samples", () => {
    expect(ledgers.tasks).toEqual({ tasks: 1, wallMs: 10_000n, attempts: 2, attemptsWallMs: 3_800n + 4_900n });
    expect(ledgers.samples).toMatchObject({
      tasks: 7,
      attempts: 8,
      wallMs: 3_300n + 4_500n + 3_750n + 5_500n + 10n + 700n + 70n + 600n,
    });
    expect(ledgers.samples.cpuSec).toBeCloseTo(18.43 / 2, 9);
  });

  it("differ by these causes and by nothing else", () => {
    expect(terms(ledgers)).toEqual({
      "before-first": 200,
      between: 1_000,
      "after-last": 100,
      "lead-in": 300 + 100,
      tail: 200 + 300,
      "in-flight": -5_500,
      "without-end": -700,
      "without-start": -70,
      "filtered-state": -3_750,
      "not-positive": -10,
      "without-task": -600,
    });
    expect(ledgers.explanation).toMatchObject({ differenceMs: 10_000n - 18_430n, residualMs: 0n, unexplainedMs: 0n });
  });

  it("name what is left out", () => {
    expect(ledgers.leftOut).toEqual({
      innerJobs: { tasks: 1, attempts: 1, tasksMs: 9_000n, samplesMs: 8_000n },
      holders: { tasks: 0, attempts: 0, tasksMs: 0n, samplesMs: 0n },
      unknownJobs: { tasks: 1, attempts: 1, tasksMs: 0n, samplesMs: 1_000n },
    });
    const all = ledgersOf(ROWS, { ...OPTIONS, innerJobs: true });
    expect(all.tasks.wallMs).toBe(19_000n);
    expect(all.leftOut.innerJobs.tasks).toBe(0);
  });

  it("with failed tasks move that one from its term into A", () => {
    const failed = ledgersOf(ROWS, { ...OPTIONS, includeFailed: true });
    expect(failed.tasks.wallMs).toBe(14_000n);
    expect(terms(failed)["filtered-state"]).toBeUndefined();
    expect(terms(failed)).toMatchObject({ "before-first": 300, "lead-in": 450, tail: 600 });
  });

  it("a task's end that is lost: it leaves A, and its samples are named", () => {
    const tasks = ROWS.tasks.map((each) => (each.taskId === "/u/r/a/0" ? { ...each, finishedAtMs: null } : each));
    const lost = ledgersOf({ ...ROWS, tasks }, OPTIONS);
    expect(lost.tasks.wallMs).toBe(0n);
    expect(terms(lost)).toMatchObject({ "without-end": -700 - 7_800 });
    expect(terms(lost).between).toBeUndefined();
    expect(lost.explanation.residualMs).toBe(0n);
  });

  it("an attempt's end that is lost: the residual is what that record could have told, and says so", () => {
    const attempts = ROWS.attempts.map((each) =>
      each.taskId === "/u/r/a/0" && each.attempt === 0 ? { ...each, finishedAtMs: null } : each,
    );
    const { explanation } = ledgersOf({ ...ROWS, attempts }, OPTIONS);
    expect(explanation.residualMs).toBe(1_200n);
    expect(explanation.missing.find(({ id }) => id === "missing-end")?.from).toEqual([
      { taskId: "/u/r/a/0", attempt: 0, ms: 1_200 },
    ]);
    expect(explanation.unexplainedMs).toBe(0n);
  });

  it("round B once, and show what that makes", () => {
    const spans = ROWS.spans.map((each) => ({ ...each, remainderUs: 700 }));
    const fine = ledgersOf({ ...ROWS, spans }, OPTIONS);
    expect(fine.samples.wallMs).toBe(18_430n + 6n);
    expect(terms(fine).fractions).toBe(-6);
    expect(fine.explanation.residualMs).toBe(0n);
  });

  it("set the seed's estimate of the sampling slack beside the true one", () => {
    // 18,430 ms in 8 × 9 intervals, once for each of 8 attempts; lead-ins and tails of the one task in A.
    expect(ledgers.slack.intervalMs).toBeCloseTo(18_430 / 72, 9);
    expect(ledgers.slack.estimateMs).toBeCloseTo((18_430 / 72) * 8, 9);
    expect(ledgers.slack.trueMs).toBe(900n);
  });

  it("are cut by leaf and by user", () => {
    const leaves = usageGroups(ROWS, OPTIONS, "leaf");
    expect(leaves.map(({ key, attempts, samplesWallMs }) => [key, attempts, samplesWallMs])).toEqual([
      ["/u/r/a", 2, 7_800n],
      ["/u/r/c", 1, 5_500n],
      ["/u/r/b", 1, 3_750n],
      ["/u/r/d", 4, 1_380n],
    ]);
    expect(leaves[0]).toMatchObject({ tasks: 1, tasksWallMs: 10_000n, meanCores: 0.5, state: "succeeded" });
    expect(usageGroups(ROWS, OPTIONS, "user")).toMatchObject([{ key: "u", tasks: 7, samplesWallMs: 18_430n }]);
  });
});

describe("any tree", () => {
  const at = fc.integer({ min: 0, max: 100_000 });
  const maybe = fc.option(at, { nil: null, freq: 5 });
  const state = fc.constantFrom(...TASK_STATES);
  const place = fc.record({
    leaf: fc.constantFrom("/u/r/a", "/u/r/b", "/u/r", "/u/r/gone"),
    index: fc.integer({ min: 0, max: 3 }),
  });
  const rows = fc
    .record({
      tasks: fc.uniqueArray(fc.record({ place, state, a: maybe, b: maybe }), {
        selector: ({ place: { leaf, index } }) => `${leaf}/${index}`,
        maxLength: 8,
      }),
      attempts: fc.array(fc.record({ place, number: fc.integer({ min: 0, max: 4 }), state, a: maybe, b: maybe }), {
        maxLength: 20,
      }),
      spans: fc.array(
        fc.record({
          place,
          number: fc.integer({ min: 0, max: 4 }),
          a: at,
          b: at,
          samples: fc.integer({ min: 1, max: 5 }),
          us: fc.integer({ min: -999, max: 999 }),
        }),
        { maxLength: 20 },
      ),
    })
    .map(({ tasks, attempts, spans }): UsageRows => {
      const idOf = (p: { leaf: string; index: number }): string => `${p.leaf}/${p.index}`;
      const once = <T extends { taskId: string; attempt: number }>(all: T[]): T[] => [
        ...new Map(all.map((each) => [`${each.taskId}:${each.attempt}`, each])).values(),
      ];
      return {
        tree: jobTree("/u/r", [job("/u/r"), job("/u/r/a"), job("/u/r/b")]),
        tasks: tasks.map((each) => task(idOf(each.place), each.state, each.a, each.b)),
        attempts: once(attempts.map((each) => attempt(idOf(each.place), each.number, each.a, each.b, each.state))),
        spans: once(
          spans.map((each) => {
            const [from, to] =
              each.samples === 1 ? [each.a, each.a] : [Math.min(each.a, each.b), Math.max(each.a, each.b)];
            return span(idOf(each.place), each.number, from, to, {
              samples: each.samples,
              remainderUs: to > from ? each.us : 0,
            });
          }),
        ),
      };
    });
  const options = fc.record({
    includeFailed: fc.boolean(),
    innerJobs: fc.boolean(),
    firstAttempt: fc.constantFrom(0, 1),
  });

  it("is explained to the millisecond but for what missing records could tell, in whatever order it is read", () => {
    fc.assert(
      fc.property(rows, options, (tree, how) => {
        const ledgers = ledgersOf(tree, how);
        expect(ledgers.explanation.unexplainedMs).toBe(0n);
        const turned = {
          ...tree,
          tasks: tree.tasks.toReversed(),
          attempts: tree.attempts.toReversed(),
          spans: tree.spans.toReversed(),
        };
        expect(ledgersOf(turned, how)).toEqual(ledgers);
      }),
      { numRuns: 2000 },
    );
  });
});
