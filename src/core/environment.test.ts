import { expect, test } from "vitest";
import { definedVariables } from "./environment.ts";

test("what is set stays, under any name", () => {
  const environment = JSON.parse('{"A": "1", "__proto__": "x y", "constructor": ""}');
  const kept = definedVariables({ ...environment, B: undefined });
  expect(Object.entries(kept)).toEqual([
    ["A", "1"],
    ["__proto__", "x y"],
    ["constructor", ""],
  ]);
  expect(Object.keys(definedVariables(environment, (name) => name !== "A"))).toEqual(["__proto__", "constructor"]);
});
