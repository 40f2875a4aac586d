import { describe, expect, it } from "vitest";
import { readNumber } from "./read-number.ts";

describe("a checkpoint that is one number", () => {
  it.each([
    ["300", 300],
    ["300\n", 300],
    ["  300\r\n\n", 300],
    ["\ufeff300", 300],
    ["0", 0],
    ["-0", 0],
    ["12.5", 12.5],
    [".5", 0.5],
    ["12.", 12],
    ["1e3", 1000],
    ["1e-05", 0.00001],
    ["-1", -1],
    ["+7", 7],
    ["9007199254740991", 9007199254740991],
  ])("%j is read as %d", (text, value) => {
    expect(readNumber(text)).toEqual({ kind: "value", value });
  });

  // T11 of the failure stories.
  it.each([
    ["0000099", 99],
    ["08", 8],
    ["010\n", 10],
  ])("the zero-padded counter %j is decimal, never octal", (text, value) => {
    expect(readNumber(text)).toEqual({ kind: "value", value });
  });

  // T10 of the failure stories.
  it.each([
    ["iter=12 of 500", "progress: {pattern: 'iter=(\\d+)'}"],
    ["iter 12 of 300", "progress: {pattern: 'iter\\s+(\\d+)'}"],
    ["12 of 300", "progress: {pattern:"],
    ["12/300", "pattern"],
    ["12\n13", "pattern"],
    ["twelve", "pattern"],
    ["0x1f", "pattern"],
    ["1_000", "pattern"],
    ["1,000", "pattern"],
    ["NaN", "pattern"],
    ["Infinity", "pattern"],
    ["--5", "pattern"],
    ["1e", "pattern"],
    ['{"step": 3}', "--progress json:.step (YAML: progress: {json: .step})"],
  ])("the wordy checkpoint %j is invalid, is quoted, and names the way out", (text, hint) => {
    const reading = readNumber(text);
    expect(reading.kind).toBe("invalid");
    if (reading.kind !== "invalid") return;
    expect(reading.why).toContain("is not one number");
    expect(reading.why).toContain(hint);
    expect(reading.why).toContain(JSON.stringify(text));
  });

  // T12 of the failure stories.
  it.each([
    ["", "empty"],
    ["\n", "blanks"],
    [" \t\r\n ", "blanks"],
    ["\0\0\0\0", "NUL"],
    ["12\0", "NUL"],
    ["\u007fELF\u0002", "\\x7fELF\\x02"],
    ["\u001b[31m12", "\\x1b[31m12"],
    ["9007199254740993", "larger than"],
    ["1e999", "larger than"],
  ])("the empty, torn or binary checkpoint %j is invalid and never 0", (text, part) => {
    const reading = readNumber(text);
    expect(reading.kind).toBe("invalid");
    if (reading.kind !== "invalid") return;
    expect(reading.why).toContain(part);
    expect(reading.why).not.toMatch(/[\u0000-\u001f\u007f]/);
  });

  it.each([
    ["\u0080\u0004F12\ufffd\u0001", "no text"],
    ["\u0000".repeat(500), "NUL"],
    [`PK\u0003\u0004${"\ufffd7".repeat(90)}`, "no text"],
  ])("binary content %j is quoted in a few characters, and no pattern is guessed from it", (text, what) => {
    const reading = readNumber(text);
    const why = reading.kind === "invalid" ? reading.why : "";
    expect(why).toContain(what);
    expect(why).not.toContain("progress");
    expect((/^"(.*)"/.exec(why)?.[1] ?? "x".repeat(99)).length).toBeLessThanOrEqual(21);
  });

  it("a guessed pattern finds the number in the text it was guessed from", () => {
    const text = "saved at  step: 41 of 50";
    const reading = readNumber(text);
    const pattern = reading.kind === "invalid" ? /pattern: '(.*)'\}/.exec(reading.why)?.[1] : undefined;
    expect(new RegExp(pattern ?? "nothing").exec(text)?.[1]).toBe("41");
  });
});
