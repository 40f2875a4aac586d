/** Everything that docs/usage.md shows is run as it stands there: on a job, and on a double of the controller. */
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startDouble } from "../iris/double/start-double.ts";
import { goldenRows } from "../iris/golden/data.ts";
import { tourOf } from "./tour.ts";

const root = join(import.meta.dirname, "../..");
const dist = process.env.STINT_TEST_DIST ?? join(root, "dist");
const page = readFileSync(join(root, "docs/usage.md"), "utf8");

test("every command of the page prints what the page shows", { timeout: 120_000 }, async ({ onTestFinished }) => {
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), "stint-usage-")));
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
  mkdirSync(join(scratch, "bin"));
  symlinkSync(join(dist, "cli/main.js"), join(scratch, "bin/stint"));
  copyFileSync(join(root, "examples/count.sh"), join(scratch, "count.sh"));
  const double = await startDouble();
  onTestFinished(() => double.close());
  await double.insert(goldenRows());
  const bash = (command: string): Promise<string> =>
    new Promise((resolve) => {
      const env = { ...process.env, PATH: `${join(scratch, "bin")}:${process.env.PATH}`, TZ: "UTC" };
      execFile("bash", ["-c", `exec 2>&1; ${command}`], { cwd: scratch, env }, (_, stdout) => resolve(stdout));
    });
  // As the README's tour leaves it, but for its length.
  await bash(
    "stint run --scheduler local --name count --limit 8s --margin 3s --checkpoint state.txt --total 20 -- bash count.sh",
  );
  const steps = tourOf(page);
  expect(steps.length).toBe(4);
  for (const { command, output } of steps) {
    const isOfOthers = command.includes("http://");
    const ran = await bash(command.replace("http://localhost:10001", double.url));
    const same = isOfOthers ? (text: string) => text.trim() : alike;
    expect(`$ ${command}\n${same(ran)}`).toBe(`$ ${command}\n${same(output)}`);
  }
});

/** Figures differ from one run to the next, and so do the user's name and the columns that it makes wider. */
function alike(text: string): string {
  return text
    .trim()
    .replaceAll(`/${userInfo().username}/`, "/ann/")
    .replace(/(≥ )?\b[\d.]+ [KMG]iB/g, "SIZE")
    .replace(/≥ /g, "")
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "MOMENT")
    .replace(/[+-]?\d[\d,.]*(?:ms|s|h\d+m\d+s)?\b/g, "N")
    .replace(/ +/g, " ");
}
