import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { countedTasks, formatIndices, MOST_TASKS, parseArray, taskIndices } from "./task-plan.ts";

describe("an array in sbatch's notation", () => {
  it.each([
    ["7", [7], null],
    ["0-3", [0, 1, 2, 3], null],
    ["1-10:3", [1, 4, 7, 10], null],
    ["1-10:2,15%3", [1, 3, 5, 7, 9, 15], 3],
    // As sbatch has it: any order, repeated ones once, and brackets as squeue prints them.
    ["15,1-3,2", [1, 2, 3, 15], null],
    ["[1-3]%2", [1, 2, 3], 2],
    ["08", [8], null],
  ])("%s", (text, indices, parallel) => {
    expect(parseArray(text)).toEqual({ kind: "array", indices, parallel });
  });

  it.each([
    ["", "expected indices"],
    ["a", '"a" is neither'],
    ["1-", '"1-" is neither'],
    ["-3", '"-3" is neither'],
    ["1,,2", '"" is neither'],
    ["1 2", '"1 2" is neither'],
    ["3-1", "3-1 ends below its beginning"],
    ["1-9:0", "the step in 1-9:0"],
    ["1-3%0", "behind % stands"],
    ["1-3%", "behind % stands"],
    ["1%2,3", "behind % stands"],
    ["4000001", "above the highest index"],
    ["0-10000", "at most 10000 tasks"],
    ["0-5000,5001-10001", "at most 10000 tasks"],
    ["0-999999999", "above the highest index"],
  ])("%s is refused", (text, why) => {
    expect(parseArray(text)).toMatchObject({ kind: "error", error: expect.stringContaining(why) });
  });

  test("what is written is read again, whatever the indices", () => {
    const indices = fc
      .uniqueArray(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 200 })
      .map((all) => all.toSorted((a, b) => a - b));
    fc.assert(
      fc.property(indices, (all) => {
        const text = formatIndices(all);
        expect(parseArray(text)).toEqual({ kind: "array", indices: all, parallel: null });
        expect(text.length).toBeLessThanOrEqual(all.join(",").length);
      }),
    );
  });

  test("a job of the most tasks is a short text, and in order", () => {
    const plan = countedTasks(MOST_TASKS, 4);
    expect(plan).toEqual({ kind: "tasks", indices: "0-9999", parallel: 4 });
    expect(taskIndices(plan)).toEqual(Array.from({ length: MOST_TASKS }, (_, index) => index));
    expect([1, 2, 3].map((count) => taskIndices(countedTasks(count, null)))).toEqual([[0], [0, 1], [0, 1, 2]]);
    expect(taskIndices(null)).toEqual([0]);
  });
});
