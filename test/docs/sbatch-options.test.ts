/** docs/sbatch-options.md says of every option what becomes of it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sbatchOptions } from "../../src/spec/index.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/sbatch-options.md"), "utf8");
const HEADINGS = {
  setting: "Settings of the job",
  passed: "Handed on to the sbatch of every attempt",
  dropped: "Understood, and not handed on",
  refused: "Refused",
} as const;

test("the page on sbatch's options is the table that is used", () => {
  const shown = Object.entries(HEADINGS).flatMap(([what, heading]) => {
    const section = page.split(`## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
    return [...section.matchAll(/^\| `(--[\w-]+)`(?: `(-\w)`)? \|(.*)\|$/gm)].map(
      ([, long, short, rest = ""]) =>
        `${what} ${long} ${short ?? ""} ${[...rest.matchAll(/`(\w+_\w+)`/g)].map(([, name]) => name).join(" ")}`,
    );
  });
  const used = sbatchOptions.map(
    ({ long, short, becomes, environment }) => `${becomes.what} ${long} ${short ?? ""} ${environment.join(" ")}`,
  );
  expect(shown.toSorted()).toEqual(used.toSorted());
  for (const { becomes } of sbatchOptions)
    if ("why" in becomes && becomes.why !== null) expect(page).toContain(becomes.why);
});
