import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EMPTY_CARRY } from "./decision.ts";
import type { AttemptRecords, Claim, Decision, Settled, Stop } from "./records.ts";
import { isLeft, mayBegin, type TaskPhase, taskPhase } from "./slots.ts";
import type { Stops } from "./stops.ts";

/** What can happen to a job of tasks, and in what order, is the generator's choice. */
type Event =
  /** Somebody looks, and begins later what was allowed then. */
  | { readonly do: "look"; readonly by: number }
  | { readonly do: "begin"; readonly by: number }
  /** A task that has begun comes to its end. */
  | { readonly do: "end"; readonly which: number }
  /** A person resumes what is over; all drivers look anew after it, as `beginTasks` does. */
  | { readonly do: "resume"; readonly which: number };

const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ do: fc.constant("look" as const), by: fc.nat(3) }),
  fc.record({ do: fc.constant("begin" as const), by: fc.nat(3) }),
  fc.record({ do: fc.constant("end" as const), which: fc.nat(20) }),
  fc.record({ do: fc.constant("resume" as const), which: fc.nat(20) }),
);

function nth<T>(list: readonly T[], which: number): T | undefined {
  return list[which % Math.max(1, list.length)];
}

function positions(phases: readonly TaskPhase[], of: TaskPhase): readonly number[] {
  return phases.flatMap((phase, position) => (phase === of ? [position] : []));
}

describe("at most K tasks at a time", () => {
  test("whoever looks when, and whatever ends in what order: never more than K have begun, and none starves", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 5 }),
        fc.array(event, { maxLength: 300 }),
        (count, most, events) => {
          const phases: TaskPhase[] = Array.from({ length: count }, () => "idle");
          const plans: number[][] = [[], [], [], []];
          const happen = (next: Event): void => {
            if (next.do === "look") plans[next.by] = [...mayBegin(phases, most)];
            if (next.do === "begin") {
              const position = plans[next.by]?.shift();
              // Two that begin one task make one claim.
              if (position !== undefined && phases[position] === "idle") phases[position] = "begun";
            }
            if (next.do === "end") {
              const position = nth(positions(phases, "begun"), next.which);
              if (position !== undefined) phases[position] = "over";
            }
            if (next.do === "resume") {
              const position = nth(positions(phases, "over"), next.which);
              if (position !== undefined) phases[position] = "idle";
              for (const plan of plans) plan.length = 0;
            }
            expect(positions(phases, "begun").length).toBeLessThanOrEqual(most);
          };
          for (const one of events) happen(one);
          // When people leave it alone, it comes to its end: somebody looks and begins, the oldest ends.
          for (let round = 0; round <= count && phases.some((phase) => phase !== "over"); round++) {
            happen({ do: "look", by: 0 });
            expect(mayBegin(phases, most).length + positions(phases, "begun").length).toBeGreaterThan(0);
            while ((plans[0]?.length ?? 0) > 0) happen({ do: "begin", by: 0 });
            happen({ do: "end", which: 0 });
          }
          expect(phases).toEqual(phases.map(() => "over"));
        },
      ),
      { numRuns: 500 },
    );
  });

  test("without a bound all may begin, and the first K where there is one", () => {
    const idle: TaskPhase[] = ["idle", "idle", "idle", "idle"];
    expect(mayBegin(idle, null)).toEqual([0, 1, 2, 3]);
    expect(mayBegin(idle, 2)).toEqual([0, 1]);
    expect(mayBegin(["over", "begun", "idle", "idle"], 2)).toEqual([2]);
    // Resumed while two others are at work: it waits for one of them, and none behind it begins before it.
    expect(mayBegin(["idle", "begun", "begun", "idle"], 2)).toEqual([]);
    expect(mayBegin(["idle", "over", "begun", "idle"], 2)).toEqual([0]);
  });
});

describe("how a task stands, from its records", () => {
  const frame = { version: 1, nonce: "n", atMs: 1 };
  const attempt: AttemptRecords = {
    number: 2,
    claim: { ...frame } as unknown as Claim,
    submitted: null,
    started: null,
    go: null,
    exited: null,
    settled: null,
  };
  const withdrawn = { ...attempt, go: { ...frame, what: "withdrawn" } as unknown as AttemptRecords["go"] };
  const stops = (kind: Stop["kind"], highest: number): Stops => ({
    lists: [{ highest, ruling: { ...frame, kind, by: "ann" } }],
    words: new Map(),
  });
  const none: Stops = { lists: [], words: new Map() };
  const settled = (
    decision: Decision,
    stopNumber = 0,
    verdict: Settled["verdict"] = "checkpointed",
  ): { readonly record: Settled } => ({
    record: { ...frame, verdict, decision, stopNumber, carry: EMPTY_CARRY } as unknown as Settled,
  });
  const hold: Decision = { kind: "hold", why: "w", advice: "a" };

  test.each([
    ["never begun", null, [], none, "idle"],
    ["never begun, and drained", null, [], stops("drain", 1), "over"],
    ["claimed", null, [attempt], none, "begun"],
    ["its claim was taken back", null, [withdrawn], none, "idle"],
    ["between two attempts", settled({ kind: "continue" }), [], none, "begun"],
    ["between two attempts, and cancelled", settled({ kind: "continue" }), [], stops("cancel", 1), "over"],
    ["its last attempt never ran", settled({ kind: "continue" }, 0, "never-ran"), [], none, "idle"],
    ["finished", settled({ kind: "finish" }), [], none, "over"],
    ["finished, and resumed all the same", settled({ kind: "finish" }), [], stops("resume", 1), "over"],
    ["held", settled(hold), [], none, "over"],
    ["held, with a successor that is not taken back yet", settled(hold), [attempt], none, "begun"],
    ["held, and resumed", settled(hold), [], stops("resume", 1), "idle"],
    ["held again after a resume", settled(hold, 1), [], stops("resume", 1), "over"],
    ["resumed, and begun again", settled(hold), [attempt], stops("resume", 1), "begun"],
  ] as const)("%s: %s", (_, last, open, wishes, phase) => {
    expect(taskPhase({ settled: last, open }, wishes)).toBe(phase);
  });

  test("is left where it has begun, has no job, and nobody is seen at work on its claim", () => {
    const job = { ...attempt, submitted: { ref: "slurm/c/7" } } as unknown as AttemptRecords;
    const nobody = () => false;
    expect(isLeft("begun", { open: [attempt] }, nobody)).toBe(true);
    expect(isLeft("begun", { open: [withdrawn, attempt] }, nobody)).toBe(true);
    expect(isLeft("begun", { open: [] }, nobody)).toBe(true);
    expect(isLeft("begun", { open: [attempt] }, () => true)).toBe(false);
    expect(isLeft("begun", { open: [attempt, job] }, nobody)).toBe(false);
    expect(isLeft("idle", { open: [] }, nobody)).toBe(false);
    expect(isLeft("over", { open: [] }, nobody)).toBe(false);
  });
});
