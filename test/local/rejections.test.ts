/** What nobody waits for may fail; the processes that tend an application go on. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { expectExactlyOnce } from "./exactly-once.ts";
import { COUNTER, eventually, Project } from "./harness.ts";

/** Loaded before the bundle: the runner's close of the application's output is refused, as by a full or sick disk. */
const REFUSING = `
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
const { open } = promises;
promises.open = async (path, ...rest) => {
  const file = await open(path, ...rest);
  const { close } = file;
  if (String(path).endsWith("/stdout.log"))
    file.close = async () => {
      await close();
      throw Object.assign(new Error("EIO: i/o error, close"), { code: "EIO" });
    };
  return file;
};
syncBuiltinESMExports();
// And something that fails later, with nobody to hear of it.
if (process.argv.at(-2) === "body") setTimeout(() => void Promise.reject(new Error("nobody hears this")), 800);
`;

describe("a runner", () => {
  it("goes on when the close of its application's output fails, and when a promise fails that nobody waits for", async () => {
    const folder = mkdtempSync(join(tmpdir(), "stint-refusing-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [patch, node] = [join(folder, "refusing.mjs"), join(folder, "node.sh")];
    writeFileSync(patch, REFUSING);
    writeFileSync(node, `#!/bin/sh\nexec '${process.execPath}' --import '${patch}' "$@"\n`);
    chmodSync(node, 0o755);
    const project = await Project.make(COUNTER, { total: 30, node });
    await project.advance();
    expect((await project.watchToEnd()).verdict).toBe("completed");
    expectExactlyOnce(project.steps(), 30);
    const attempts = await project.attempts();
    expect(attempts.map(({ exited }) => exited?.by)).toEqual(["body"]);
    const log = readFileSync(join(project.attemptFolder(1), "runner.log"), "utf8");
    expect(log).toContain("output: Error: EIO: i/o error, close");
    expect(log).toContain("went on after: Error: nobody hears this");
  });
});

describe("a shepherd", () => {
  it("goes on when its record cannot be written, and writes it when it can", async () => {
    const project = await Project.make(COUNTER, { total: 30 });
    const inTheWay = join(project.attemptFolder(1), "local.json");
    mkdirSync(inTheWay, { recursive: true });
    await project.advance();
    await project.untilSteps(5);
    const log = join(project.attemptFolder(1), "scheduler.log");
    await eventually("its complaint", () => readFileSync(log, "utf8").includes("local.json") || null);
    rmdirSync(inTheWay);
    expect((await project.watchToEnd()).verdict).toBe("completed");
    await eventually("its last word", async () => (await project.localRecord(1))?.phase === "over");
    expect(await project.localRecord(1)).toMatchObject({ state: "COMPLETED", exitCode: 0 });
    expectExactlyOnce(project.steps(), 30);
  });
});
