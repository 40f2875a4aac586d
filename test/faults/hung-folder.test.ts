/** A job folder that does not answer (a stopped FUSE daemon): nobody who matters waits for it. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aliveHere } from "../../src/host/index.ts";
import { expectChain, loggedSteps, PATIENT, STEPS } from "../ill-behaved/step-log.ts";
import { eventually, Project } from "../local/harness.ts";
import { hangingDisk, projectOn, whyNoFuse, workFolder } from "./disks.ts";

const COUNTS = `${STEPS} while ((n < MAX_ITER)); do step; done; exit 0`;
const SAVES = `trap 'echo "$EPOCHREALTIME" >>told.txt; save; exit 99' TERM\n${COUNTS}`;
const DEAF = `trap '' TERM\n${COUNTS}`;

/** A busy machine may look this much later. */
const SLACK_MS = 700;

/**
 * All of the application lies elsewhere: a process that holds a file of a FUSE folder open cannot even end while the folder
 * hangs, since its last close waits too.
 */
function outputIn(folder: string) {
  return { stdout: join(folder, "out.log"), stderr: join(folder, "err.log") };
}

describe("a job folder that hangs", () => {
  it("to the end of the window: TERM comes in time, the runner ends within the limit by KILL, and later the chain goes on", async (context) => {
    context.skip(whyNoFuse() !== null, whyNoFuse() ?? "");
    const disk = await hangingDisk();
    const work = workFolder();
    const timing = { total: 70, limitMs: 4_000, marginMs: 1_500, budgets: PATIENT, output: outputIn(work) };
    const project = await projectOn(disk.path, work, SAVES, timing);
    const other = await Project.make(COUNTS, { total: 15 });
    await project.advance();
    await eventually("three steps", () => loggedSteps(work).length >= 3);
    const runner = await project.runnerOf(1);
    const shepherd = await project.shepherdOf(1);
    const [before] = await project.attempts();
    await disk.hang();
    await other.advance();
    await eventually("that the application is told", () => existsSync(join(work, "told.txt")));
    await eventually("the end of the runner", () => aliveHere(runner) === "gone");
    const goneAtMs = Date.now();
    const told = Number(readFileSync(join(work, "told.txt"), "utf8")) * 1000;
    expect(Math.abs(told - (before?.started?.windowEndAtMs ?? 0))).toBeLessThan(SLACK_MS);
    expect(goneAtMs).toBeLessThan((before?.started?.limitEndAtMs ?? 0) + SLACK_MS);
    expect(aliveHere(shepherd)).toBe("alive");
    // Nothing could be put on file meanwhile.
    const beside = project.attemptFolder(1).replace(disk.path, disk.source);
    expect(existsSync(join(beside, "exited.json"))).toBe(false);
    expect(await other.watchToEnd()).toMatchObject({ verdict: "completed" });
    disk.goOn();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(work, 70, "once");
    const [first] = await project.attempts();
    expect(first?.exited).toMatchObject({ by: "guardian", survivors: [] });
    expect(first?.settled).toMatchObject({ verdict: "node-failed", decision: { kind: "retry" } });
    expect(await project.localRecord(1)).toMatchObject({ phase: "over", signal: "SIGKILL" });
  });

  it("while the application is deaf to TERM: KILL comes before the limit all the same", async (context) => {
    context.skip(whyNoFuse() !== null, whyNoFuse() ?? "");
    const disk = await hangingDisk();
    const work = workFolder();
    const timing = { total: 90, limitMs: 3_500, marginMs: 1_500, budgets: PATIENT, output: outputIn(work) };
    const project = await projectOn(disk.path, work, DEAF, timing);
    await project.advance();
    await eventually("three steps", () => loggedSteps(work).length >= 3);
    const runner = await project.runnerOf(1);
    const limitEndAtMs = (await project.attempts())[0]?.started?.limitEndAtMs ?? 0;
    await disk.hang();
    await eventually("the end of the runner", () => aliveHere(runner) === "gone");
    const last = loggedSteps(work).at(-1);
    expect((last?.to ?? 0) * 1000).toBeGreaterThan(limitEndAtMs - 1_500);
    expect((last?.to ?? Number.POSITIVE_INFINITY) * 1000).toBeLessThan(limitEndAtMs);
    disk.goOn();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(work, 90);
  });

  it("for a while: the attempt goes on as if nothing had been", async (context) => {
    context.skip(whyNoFuse() !== null, whyNoFuse() ?? "");
    const disk = await hangingDisk();
    const work = workFolder();
    const project = await projectOn(disk.path, work, COUNTS, { total: 30, output: outputIn(work) });
    await project.advance();
    await eventually("three steps", () => loggedSteps(work).length >= 3);
    await disk.hang();
    await eventually("fifteen steps more", () => loggedSteps(work).length >= 18);
    disk.goOn();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(work, 30, "once");
    const [only, ...more] = await project.attempts();
    expect(more).toEqual([]);
    expect(only?.exited).toMatchObject({ by: "body", exitCode: 0, signalsSent: [] });
  });
});
