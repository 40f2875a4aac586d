import { expect, test } from "vitest";
import { jsonHint } from "./json-hint.ts";
import { readNumber } from "./read-number.ts";

test("a JSON checkpoint read as a number names the rule that reads it", () => {
  expect(readNumber('{"x": 1, "run": {"step": 12}}\n')).toEqual({
    kind: "invalid",
    why: '"{\\"x\\": 1, \\"run\\": …" is not one number; it is JSON: --progress json:.run.step (YAML: progress: {json: .run.step})',
  });
  expect(jsonHint('{"energy": -1.5}')).toContain("json:.energy ");
  expect(jsonHint('{"a": "b"}')).toContain("say which number counts");
  expect(jsonHint('["a"]')).toContain("say which number counts");
});

test("what only looks like JSON is not called so", () => {
  expect(["12 apples", '{"step": 1', '"12"', "step=12"].map(jsonHint)).toEqual([null, null, null, null]);
});

test("a path that a shell or YAML would cut is not proposed", () => {
  expect(jsonHint('{"odd key": 3, "n": 4}')).toContain("json:.n ");
});
