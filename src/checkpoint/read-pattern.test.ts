import { describe, expect, it } from "vitest";
import { checkPattern, readPattern } from "./read-pattern.ts";

const whole = (text: string) => ({ text, cut: false });

describe("a checkpoint read by a pattern", () => {
  it.each([
    ["iter 12 of 300", "iter (\\d+)", 12],
    ["step 1\nstep 2\nstep 10\nbye", "step (\\d+)", 10],
    ["t = 0.5\nt = 1.25e1\n", "^t = (\\S+)$", 12.5],
    ["step 007", "step (\\d+) *$", 7],
    ["a 1 b 2", "(?:a|b) (\\d)", 2],
    ["x1y", "(\\d*)y|y", 1],
  ])("in %j, %s finds %d: the first group of the last match", (text, pattern, value) => {
    expect(readPattern(whole(text), pattern)).toEqual({ reading: { kind: "value", value }, searchOn: false });
  });

  it.each([
    ["", "step (\\d+)", "empty"],
    ["nothing here", "step (\\d+)", "no match"],
    ["step x", "step (\\w+)", '"x", which is not one number'],
    ["step ", "step (\\d*)", '"", which is not one number'],
    ["done", "step (\\d+)|done", "not one number"],
    ["step 1", "step \\d+", "no group"],
    ["step 1", "step (\\d+", "not a regular expression"],
  ])("%j with %s is invalid with the reason", (text, pattern, why) => {
    const { reading } = readPattern(whole(text), pattern);
    expect(reading.kind).toBe("invalid");
    expect(reading.kind === "invalid" && reading.why).toContain(why);
  });

  it("the cut first line of a long file is not taken for a number", () => {
    expect(readPattern({ text: "345\nother\n", cut: true }, "(\\d+)")).toMatchObject({
      reading: { kind: "invalid" },
      searchOn: true,
    });
    expect(readPattern({ text: "345\n7\n", cut: true }, "(\\d+)").reading).toEqual({ kind: "value", value: 7 });
  });

  it("a pattern that would search for ever is broken off, and the next search works", () => {
    const began = performance.now();
    const { reading } = readPattern(whole("a".repeat(40)), "(a+)+b", 50);
    expect(reading.kind === "invalid" && reading.why).toContain("took over 50 ms");
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(readPattern(whole("step 3"), "step (\\d+)").reading).toEqual({ kind: "value", value: 3 });
  });
});

describe("a pattern in a spec", () => {
  it.each([["step (\\d+)"], ["(?<n>\\d+)"], ["a|(b)"], ["()"]])("%s is accepted", (pattern) => {
    expect(checkPattern(pattern)).toBeNull();
  });

  it.each([
    ["step \\d+", "no group"],
    ["(?:\\d+)", "no group"],
    ["\\(\\d+\\)", "no group"],
    ["", "no group"],
    ["(", "not a regular expression: Unterminated group"],
    ["(a)\\", "not a regular expression"],
    ["[z-a](x)", "not a regular expression"],
  ])("%j is refused with the reason", (pattern, why) => {
    expect(checkPattern(pattern)).toContain(why);
  });
});
