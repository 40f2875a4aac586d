import { expect, it } from "vitest";
import { nearest } from "./nearest.ts";

const KNOWN = ["limit", "margin", "partition", "total", "name"];

it.each([
  ["limti", "limit"],
  ["lmit", "limit"],
  ["Limit", "limit"],
  ["partitoin", "partition"],
  ["naem", "name"],
  ["totals", "total"],
])("takes %s for a mistyped %s", (word, meant) => {
  expect(nearest(word, KNOWN)).toBe(meant);
});

it.each(["gpus", "x", "partisan-work", ""])("finds nothing near to %j", (word) => {
  expect(nearest(word, KNOWN)).toBeNull();
});
