import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quoteCommand, quoteShell, splitWords } from "./quote.ts";

describe("quoteShell", () => {
  it.each([
    ["python3", "python3"],
    ["/opt/a-b_c/x.sh", "/opt/a-b_c/x.sh"],
    ["--gres=gpu:1", "--gres=gpu:1"],
    ["", "''"],
    ["a b", "'a b'"],
    ["it's", "'it'\\''s'"],
    ["A=b", "'A=b'"],
    ["~", "'~'"],
    ["$HOME", "'$HOME'"],
    ["a\nb", "'a\nb'"],
    ["größe", "'größe'"],
  ])("writes %j as %s", (argument, text) => {
    expect(quoteShell(argument)).toBe(text);
  });

  it("refuses NUL", () => {
    expect(() => quoteShell("a\0b")).toThrow(RangeError);
  });
});

describe("quoteCommand", () => {
  it("joins the words and guards a first word that is a keyword", () => {
    expect(quoteCommand(["time", "time", "a b"])).toBe("'time' time 'a b'");
  });
});

describe("splitWords", () => {
  it.each([
    ["", []],
    ["  a  b\tc\n", ["a", "b", "c"]],
    ["-n 1", ["-n", "1"]],
    ["'a b' \"c d\" e\\ f", ["a b", "c d", "e f"]],
    ["a'b'\"c\"", ["abc"]],
    ["'' \"\"", ["", ""]],
    ['"a\\"b\\$c\\d"', ['a"b$c\\d']],
    ["$HOME *", ["$HOME", "*"]],
  ])("cuts %j", (text, words) => {
    expect(splitWords(text)).toEqual(words);
  });

  it.each(["'a", '"a', "a\\"])("answers null for the unfinished %j", (text) => {
    expect(splitWords(text)).toBeNull();
  });

  it("gets back what quoteCommand wrote", () => {
    const argument = fc.string({ unit: "binary" }).map((text) => text.replaceAll("\0", ""));
    fc.assert(
      fc.property(fc.array(argument), (argv) => {
        expect(splitWords(quoteCommand(argv))).toEqual(argv);
      }),
    );
  });
});
