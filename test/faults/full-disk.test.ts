/** Disks that become full while a chain runs. */
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stopJob } from "../../src/chain/index.ts";
import { expectChain, lines, loggedSteps, STEPS } from "../ill-behaved/step-log.ts";
import { eventually, Project } from "../local/harness.ts";
import { needsRoot, projectOn, smallDisk, workFolder } from "./disks.ts";

/** Ten steps an attempt. */
const TEN = `${STEPS} for i in 1 2 3 4 5 6 7 8 9 10; do step || exit 1; ((n >= MAX_ITER)) && exit 0; done; exit 99`;

describe("the disk of the job folder", () => {
  it("full while the application works: its end is on file by the reserve, and the chain is held with one clear line", async (context) => {
    needsRoot(context);
    const disk = smallDisk(3);
    const work = workFolder();
    const project = await projectOn(disk.path, work, TEN, { total: 25, sampleIntervalMs: 50 });
    await project.advance();
    await eventually("three steps", () => loggedSteps(work).length >= 3);
    disk.fill();
    const settled = await project.watchToEnd();
    expect(settled.verdict).toBe("never-ran");
    expect(settled.decision).toEqual({
      kind: "hold",
      why: `the disk of the job folder is full: free some space at ${project.task.folder}`,
      advice: "mend it, then: stint resume JOB",
    });
    const [first, second] = await project.attempts();
    expect(first?.exited).toMatchObject({ by: "body", exitCode: 99, progressAfter: { state: "above", value: 10 } });
    expect(first?.settled).toMatchObject({ verdict: "checkpointed", decision: { kind: "continue" } });
    expect(second?.go).toMatchObject({ what: "withdrawn", reason: "no-space" });
    expect(await project.files.identity(join(project.task.folder, "reserve"))).toBeNull();
    disk.empty();
    await project.stop("resume");
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(work, 25, "once");
    // There is a reserve again, for the next time.
    expect(readFileSync(join(project.task.folder, "reserve"))).toHaveLength(64 * 1024);
  });

  it("full for a while: no sample that was taken is lost, and no line is torn", async (context) => {
    needsRoot(context);
    const disk = smallDisk(3);
    const work = workFolder();
    const script = `${STEPS} while [ ! -e go-on ]; do step; done; exit 0`;
    const project = await projectOn(disk.path, work, script, { sampleIntervalMs: 20 });
    await project.advance();
    await eventually("three steps", () => loggedSteps(work).length >= 3);
    disk.fill();
    const said = async () => (await project.files.read(join(project.attemptFolder(1), "runner.log"))) ?? "";
    // The last page is filled to its end before the disk says no.
    const size = () => statSync(join(project.attemptFolder(1), "samples.csv")).size;
    await eventually("a sample that does not fit", () => size() > 0 && size() % 4096 === 0);
    const steps = loggedSteps(work).length;
    await eventually("five steps more", () => loggedSteps(work).length >= steps + 5);
    disk.empty();
    await eventually("the clear line", async () =>
      /heartbeat: .*no space left on the file system \(ENOSPC\); free some/.test(await said()),
    );
    await eventually("the end of the trouble", async () => (await said()).includes("heartbeat: well again"));
    writeFileSync(join(work, "go-on"), "");
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    const [header, ...rows] = lines(readFileSync(join(project.attemptFolder(1), "samples.csv"), "utf8"));
    const columns = (header ?? "").split(",").length;
    const whole = rows.filter((row) => row.split(",").length === columns);
    // What was written in part when the disk became full is a line of its own, at most one.
    expect(rows.length - whole.length).toBeLessThanOrEqual(1);
    const elapsed = whole.map((row) => Number(row.split(",")[1]));
    const gaps = elapsed.slice(1).map((ms, i) => ms - (elapsed[i] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...gaps)).toBeLessThan(500);
  });

  it("full and without a reserve: the shepherd waits for room, then testifies, and the chain goes on", async (context) => {
    needsRoot(context);
    const disk = smallDisk(3);
    const work = workFolder();
    const project = await projectOn(disk.path, work, TEN, { total: 15 });
    await project.advance();
    await eventually("three steps", () => loggedSteps(work).length >= 3);
    rmSync(join(project.task.folder, "reserve"));
    disk.fill();
    const runner = await project.runnerOf(1);
    await eventually("the end of the runner", () => !project.processes().includes(runner.pid));
    disk.empty();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(work, 15, "once");
    const [first] = await project.attempts();
    expect(first?.exited).toMatchObject({ by: "guardian", progressAfter: { state: "above", value: 10 } });
    expect(first?.settled).toMatchObject({ verdict: "node-failed", decision: { kind: "retry" } });
  });

  it("full while a chain is to be stopped: the stop gets on file by the reserve, and the chain ends", async (context) => {
    needsRoot(context);
    const disk = smallDisk(3);
    const work = workFolder();
    const script = `${STEPS} trap 'exit 99' TERM; while :; do step; done`;
    const project = await projectOn(disk.path, work, script, { sampleIntervalMs: 100 });
    await project.advance();
    await eventually("three steps", () => loggedSteps(work).length >= 3);
    disk.fill();
    const found = { stintFolder: project.job.stintFolder, folder: project.files, user: "tester" };
    const { kind, status } = await stopJob(found, project.job, { kind: "cancel" });
    expect(kind).toBe("stopped");
    expect(status).toMatchObject({ state: "over", reason: "cancelled" });
    expect(await project.files.identity(join(project.task.folder, "reserve"))).toBeNull();
    expect(await project.files.list(join(project.job.folder, "stops"))).toEqual(["0001.json"]);
  });

  it("full before anything was claimed: one clear line, nothing half made, and all well later", async (context) => {
    needsRoot(context);
    const disk = smallDisk(3);
    const work = workFolder();
    const project = await projectOn(disk.path, work, TEN, { total: 10 });
    disk.fill();
    const claim = join(project.attemptFolder(1), "claim.json");
    await expect(project.advance()).rejects.toThrow(
      `cannot create ${claim}: no space left on the file system (ENOSPC); free some space there, then try again`,
    );
    expect(await project.files.list(project.attemptFolder(1))).toEqual([]);
    disk.empty();
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(work, 10, "once");
  });
});

describe("the disk of the checkpoint", () => {
  it("full: the chain is held before the next start, loses nothing, and a job on another disk goes on", async (context) => {
    needsRoot(context);
    const disk = smallDisk(8);
    const work = workFolder();
    const script = TEN.replaceAll("state.", `${disk.path}/state.`);
    const checkpoint = { path: `${disk.path}/state.txt`, progress: { kind: "number" as const } };
    const project = await projectOn(work, work, script, { total: 25, checkpoint });
    const other = await Project.make(TEN, { total: 30 });
    await other.advance();
    await project.advance();
    await eventually("twelve steps", () => loggedSteps(work).length >= 12);
    disk.fill();
    const held = await project.watchToEnd();
    expect(held).toMatchObject({
      verdict: "never-ran",
      decision: { kind: "hold" },
      carry: { highWater: expect.any(Number) },
    });
    expect(held.decision).toMatchObject({
      why: expect.stringMatching(new RegExp(`^.*${disk.path}.*(free|room|space)`)),
    });
    expect(await other.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(other.folder, 30, "once");
    const saved = Number(readFileSync(join(disk.path, "state.txt"), "utf8"));
    expect(saved).toBeGreaterThanOrEqual(11);
    disk.empty();
    await project.stop("resume");
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(work, 25);
  });
});
