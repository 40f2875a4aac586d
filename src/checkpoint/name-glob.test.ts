import { describe, expect, it } from "vitest";
import { checkGlob, matchesGlob } from "./name-glob.ts";

describe("a glob for names", () => {
  it.each([
    ["restart.*", "restart.100", true],
    ["restart.*", "restart.", true],
    ["restart.*", "restart", false],
    ["*", "anything", true],
    ["*.rst", "a.rst", true],
    ["*.rst", "a.rst.bak", false],
    ["a*b*c", "a-b-b-c", true],
    ["a*b*c", "a-c-b", false],
    ["r?", "r1", true],
    ["r?", "r", false],
    ["r?", "r😀", true],
    ["r[0-9]", "r5", true],
    ["r[0-9]", "rx", false],
    ["r[!0-9]", "rx", true],
    ["r[^0-9]", "r5", false],
    ["r[]x]", "r]", true],
    ["r[a-]", "r-", true],
    ["r[", "r[", true],
    ["r[ab", "r[ab", true],
    ["r\\*", "r*", true],
    ["r\\*", "rx", false],
    ["a.b", "axb", false],
    ["(a+)", "(a+)", true],
    ["**", "x", true],
  ])("%j and %j: %s", (glob, name, matches) => {
    expect(matchesGlob(name, glob)).toBe(matches);
  });

  it.each([".restart.1", "restart.1.tmp", "restart.1~", ".restart.+.stint-owner.1.json"])(
    "the hidden or unfinished file %s never counts",
    (name) => {
      expect(matchesGlob(name, "*")).toBe(false);
    },
  );

  it("takes little time on names made to be hard", () => {
    const began = performance.now();
    expect(matchesGlob("a".repeat(255), `${"*a".repeat(100)}b`)).toBe(false);
    expect(performance.now() - began).toBeLessThan(500);
  });

  it.each(["", "a/b", "../x", ".hidden*", "a\0b"])("%j is refused", (glob) => {
    expect(checkGlob(glob)).not.toBeNull();
  });
});
