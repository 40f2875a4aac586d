import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quoteCommand } from "../../src/core/quote.ts";

// Code points without half surrogate pairs: an argument of the system is bytes, and these have none in UTF-8.
const ARGUMENT = fc
  .oneof(
    fc.string({ unit: "binary", maxLength: 30 }),
    fc.string({ unit: fc.constantFrom(..."'\"\\$`!*?[]{}()<>|&;#~=% \t\n\r-a"), maxLength: 30 }),
  )
  .map((text) => text.replaceAll("\0", ""));

describe.each(["sh", "bash"])("a quoted command read by a real %s", (shell) => {
  it("brings any arguments unchanged to the program", () => {
    fc.assert(
      fc.property(fc.array(ARGUMENT, { minLength: 1, maxLength: 40 }), (argv) => {
        const script = quoteCommand(["printf", "%s\\0", ...argv]);
        const run = spawnSync(shell, ["-c", script], { encoding: "buffer" });
        expect(run.stderr.toString()).toBe("");
        expect(run.stdout.toString().split("\0").slice(0, -1)).toEqual(argv);
      }),
      { numRuns: 150 },
    );
  });

  it.each(["if", "done", "A=b", "a b", "~"])("takes a first word like %s for a program's name", (word) => {
    const run = spawnSync(shell, ["-c", quoteCommand([word, "x"])], { encoding: "utf8" });
    expect(run.status).toBe(127);
    expect(run.stderr).toContain("not found");
  });
});
