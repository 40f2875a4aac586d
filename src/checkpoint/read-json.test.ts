import { describe, expect, it } from "vitest";
import { parseJsonPath, readJson } from "./read-json.ts";

const RUN = JSON.stringify({
  run: { step: 12, "odd key": 3, done: false, none: null, name: "x", text: " 0042 ", big: 2 ** 60 },
  steps: [{ n: 1 }, { n: 2 }, { n: 5 }],
  "a.b": { c: 9 },
});

describe("a JSON checkpoint", () => {
  it.each([
    [".run.step", 12],
    [".steps[1].n", 2],
    [".steps[-1].n", 5],
    ['.run["odd key"]', 3],
    ['["a.b"].c', 9],
    [".run.text", 42],
  ])("%s is found", (path, value) => {
    expect(readJson(RUN, path)).toEqual({ kind: "value", value });
  });

  it("the whole document may be the number, and a list may stand at the top", () => {
    expect(readJson("17\n", ".")).toEqual({ kind: "value", value: 17 });
    expect(readJson("[4, 5]", "[1]")).toEqual({ kind: "value", value: 5 });
    expect(readJson('\ufeff{"a": 1}', ".a")).toEqual({ kind: "value", value: 1 });
  });

  it.each([
    [".run.stop", ".run.stop is not in the file"],
    [".run.stop.deeper", ".run.stop is not in the file"],
    [".steps[3].n", ".steps[3] is not in the file"],
    [".steps.length", ".steps.length is not in the file"],
    [".run.constructor", ".run.constructor is not in the file"],
    [".run.done", ".run.done is false, not a number"],
    [".run.none", ".run.none is null, not a number"],
    [".run.name", '.run.name is "x", not a number'],
    [".run", ".run is an object, not a number"],
    [".steps", ".steps is a list, not a number"],
    [".run.big", ".run.big is larger than"],
  ])("%s is invalid with the reason", (path, why) => {
    const reading = readJson(RUN, path);
    expect(reading).toMatchObject({ kind: "invalid" });
    expect(reading.kind === "invalid" && reading.why).toContain(why);
  });

  // T12 of the failure stories.
  it("a JSON checkpoint torn at any byte is invalid and never a smaller number", () => {
    for (let length = 0; length < RUN.length; length++) {
      const reading = readJson(RUN.slice(0, length), ".run.step");
      expect(reading.kind, RUN.slice(0, length)).toBe("invalid");
    }
  });
});

describe("a JSON path", () => {
  it.each([
    [".", []],
    [".a.b", ["a", "b"]],
    [".a[0][-1].b", ["a", 0, -1, "b"]],
    ['.a["x.y"]', ["a", "x.y"]],
    ['."]', null],
    ["a.b", null],
    ["", null],
    [".a..b", null],
    [".a[", null],
    [".a[x]", null],
    [".a b", null],
    [".a.", null],
  ])("%j is understood or refused as a whole", (path, steps) => {
    const parsed = parseJsonPath(path);
    if (steps === null) expect(parsed).toHaveProperty("error");
    else expect(parsed).toEqual(steps);
  });
});
