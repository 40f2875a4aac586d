import { expect, it } from "vitest";
import { quoteSeen, sizeText } from "./quote-seen.ts";

it("short text is quoted whole, with control characters and tricks of direction escaped", () => {
  expect(quoteSeen('a "b"\n\t\\\u0000\u001b\u202e')).toBe('"a \\"b\\"\\n\\t\\\\\\0\\x1b\\u202e"');
});

it("long text is cut at the side that was asked for, never within a character", () => {
  expect(quoteSeen("😀".repeat(50), 3)).toBe('"😀😀😀…"');
  expect(quoteSeen(`${"x".repeat(100)}end`, 5, "end")).toBe('"…xxend"');
  expect(quoteSeen("x".repeat(40), 40)).toBe(`"${"x".repeat(40)}"`);
  expect(quoteSeen("x".repeat(41), 40)).toBe(`"${"x".repeat(40)}…"`);
});

it("what is escaped counts as it is shown", () => {
  expect(quoteSeen("\u0001".repeat(9), 20)).toBe(`"${"\\x01".repeat(5)}…"`);
  expect(quoteSeen("\u0001".repeat(9), 20, "end")).toBe(`"…${"\\x01".repeat(5)}"`);
});

it("sizes are shown in binary units", () => {
  expect([0, 1023, 1024, 1536, 5 * 1024 ** 3].map(sizeText)).toEqual([
    "0 bytes",
    "1023 bytes",
    "1 KiB",
    "1.5 KiB",
    "5 GiB",
  ]);
});
