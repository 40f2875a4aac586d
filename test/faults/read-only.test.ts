/** Folders that cannot be written: mounted read-only, or another user's. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { expectChain, loggedSteps, STEPS } from "../ill-behaved/step-log.ts";
import { eventually, Project } from "../local/harness.ts";
import { asNobody, giveToNobody, isRoot, makeReadOnly, needsRoot, projectOn, workFolder } from "./disks.ts";

const FIVE = `${STEPS} for i in 1 2 3 4 5; do step || exit 1; ((n >= MAX_ITER)) && exit 0; done; exit 99`;
/** Without root a folder is only made so by its mode. */
const REFUSED = isRoot
  ? "the file system is mounted read-only (EROFS); use a folder that can be written, or have it remounted"
  : "permission denied (EACCES); check who owns it and its mode";

describe("a read-only job folder", () => {
  it("before anything was claimed: one clear line, nothing changed, and all well later", async () => {
    const project = await Project.make(FIVE, { total: 5 });
    await project.files.makeFolder(project.attemptFolder(1));
    const undo = makeReadOnly(isRoot ? project.folder : project.attemptFolder(1));
    await expect(project.advance()).rejects.toThrow(
      `cannot create ${join(project.attemptFolder(1), "claim.json")}: ${REFUSED}`,
    );
    undo();
    expect(await project.files.list(project.attemptFolder(1))).toEqual([]);
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(project.folder, 5, "once");
  });

  it("while the application works: it is told in time all the same, and the chain goes on when the folder does", async () => {
    const work = workFolder();
    const script = `${STEPS} trap 'save; echo "$EPOCHREALTIME" >>told.txt; exit 99' TERM
      while ((n < MAX_ITER)); do step; done; exit 0`;
    const project = await projectOn(tmpdir(), work, script, { total: 50, limitMs: 3_000, marginMs: 1_200 });
    const other = await Project.make(FIVE, { total: 15 });
    await project.advance();
    await eventually("three steps", () => loggedSteps(work).length >= 3);
    const runner = await project.runnerOf(1);
    const undo = makeReadOnly(isRoot ? project.folder : project.attemptFolder(1));
    await other.advance();
    await eventually("the end of the runner", () => !project.processes().includes(runner.pid));
    const exited = join(project.attemptFolder(1), "exited.json");
    expect(readFileSync(join(project.attemptFolder(1), "scheduler.log"), "utf8")).toContain(
      `stint runner: cannot create ${exited}: ${REFUSED}`,
    );
    const [first] = await project.attempts();
    const told = Number(readFileSync(join(work, "told.txt"), "utf8")) * 1000;
    expect(Math.abs(told - (first?.started?.windowEndAtMs ?? 0))).toBeLessThan(700);
    expect(await other.watchToEnd()).toMatchObject({ verdict: "completed" });
    undo();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(work, 50);
    expect((await project.attempts())[0]?.exited).toMatchObject({ by: "guardian", survivors: [] });
  });
});

describe("a checkpoint folder that cannot be written", () => {
  it("read-only: held before the start with one clear line", async () => {
    const work = workFolder();
    const disk = join(work, "disk");
    mkdirSync(disk);
    const script = FIVE.replaceAll("state.", "disk/state.");
    const checkpoint = { path: "disk/state.txt", progress: { kind: "number" as const } };
    const project = await projectOn(tmpdir(), work, script, { total: 10, checkpoint });
    const undo = makeReadOnly(disk);
    await project.advance();
    const settled = await project.watchToEnd();
    expect(settled.verdict).toBe("never-ran");
    expect(settled.decision).toEqual({
      kind: "hold",
      why: `the checkpoint folder ${disk} cannot be written: ${isRoot ? "EROFS: read-only file system" : "EACCES: permission denied"}, access`,
      advice: "mend it, then: stint resume JOB",
    });
    expect(loggedSteps(work)).toEqual([]);
    undo();
    await project.stop("resume");
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(work, 10, "once");
  });

  it("another user's: held before the start with one clear line", async (context) => {
    needsRoot(context);
    const work = workFolder();
    const disk = join(work, "disk");
    mkdirSync(disk, { mode: 0o755 });
    const script = FIVE.replaceAll("state.", "disk/state.");
    const checkpoint = { path: "disk/state.txt", progress: { kind: "number" as const } };
    const project = await projectOn(tmpdir(), work, script, { total: 10, checkpoint });
    giveToNobody(project.folder);
    chmodSync(work, 0o777);
    const moved = await asNobody(project);
    expect(moved).toMatchObject({ status: 0 });
    const settled = await project.watchToEnd();
    expect(settled.decision).toMatchObject({
      kind: "hold",
      why: `the checkpoint folder ${disk} cannot be written: EACCES: permission denied, access`,
    });
    chownSync(disk, 65534, 65534);
    await project.stop("resume");
    giveToNobody(project.folder);
    expect(await asNobody(project)).toMatchObject({ status: 0 });
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(work, 10, "once");
  });
});

describe("another user's job", () => {
  it("is not moved: one clear line, and nothing is changed", async (context) => {
    needsRoot(context);
    const project = await Project.make(FIVE, { total: 5 });
    for (const part of [project.folder, project.job.stintFolder, project.job.folder]) chmodSync(part, 0o755);
    const { status, stderr } = await asNobody(project);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^cannot \S+.* \/.*: permission denied \(EACCES\); check who owns it and its mode\n$/);
    expect(await project.attempts()).toEqual([]);
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
  });
});

describe("a program that may not be run", () => {
  it("holds the chain with one clear line", async () => {
    const folder = mkdtempSync(join(tmpdir(), "stint-program-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const program = join(folder, "program");
    writeFileSync(program, "#!/bin/sh\nexit 0\n", { mode: 0o644 });
    const project = await Project.make("", { command: { kind: "argv", argv: [program] }, checkpoint: null });
    await project.advance();
    const held = await project.watchToEnd();
    expect(held.decision).toMatchObject({
      kind: "hold",
      why: `the application could not be started: cannot start ${program}: permission denied; is it executable? (EACCES)`,
    });
    chmodSync(program, 0o755);
    await project.stop("resume");
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
  });
});
