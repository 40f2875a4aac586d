import { expect, test } from "vitest";
import { escapeControls, escapeLine } from "./escape.ts";

test("control and direction characters are shown, not obeyed", () => {
  expect(escapeControls("a\x1b[2Jb\x07\r\x7f\x9bc\u202ed", true)).toBe(
    "a\\u001b[2Jb\\u0007\\u000d\\u007f\\u009bc\\u202ed",
  );
  expect(escapeControls("\x1b]0;title\x07", true)).toBe("\\u001b]0;title\\u0007");
  expect(escapeControls("two\nlines, 9 → 18, naïve", true)).toBe("two\nlines, 9 → 18, naïve");
  expect(escapeLine("two\nlines")).toBe("two\\nlines");
});

test("our own colours stay where there are colours, and only they", () => {
  const red = "\x1b[31mheld\x1b[0m";
  expect(escapeControls(red, true)).toBe(red);
  expect(escapeControls(red, false)).toBe("\\u001b[31mheld\\u001b[0m");
  expect(escapeControls("\x1b[8mhidden", true)).toBe("\\u001b[8mhidden");
});

test("JSON means the same afterwards", () => {
  const value = { why: "a\x1b\x7f\x9b\u202e\n\t" };
  expect(JSON.parse(escapeControls(JSON.stringify(value, null, 2), false))).toEqual(value);
});
