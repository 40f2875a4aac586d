/** Things that are not where the specification says. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectChain, loggedSteps, STEPS } from "../ill-behaved/step-log.ts";
import { Project } from "../local/harness.ts";
import { projectOn, workFolder } from "./disks.ts";

const FIVE = `${STEPS} for i in 1 2 3 4 5; do step || exit 1; ((n >= MAX_ITER)) && exit 0; done; exit 99`;

describe("a missing command", () => {
  it("holds the chain at once with its name, and the chain goes on when it is there", async () => {
    const work = workFolder();
    const command = { kind: "argv" as const, argv: [join(work, "program")] };
    const project = await Project.make("", { cwd: work, command, total: 10 });
    await project.advance();
    const held = await project.watchToEnd();
    expect(held.decision).toMatchObject({
      kind: "hold",
      why: `the application could not be started: ${join(work, "program")} was not found (ENOENT)`,
      advice: "look at the logs, mend the cause, then: stint resume JOB",
    });
    expect(await project.attempts()).toHaveLength(1);
    writeFileSync(join(work, "program"), `#!/bin/bash\n${FIVE}`, { mode: 0o755 });
    await project.stop("resume");
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(work, 10, "once");
  });

  it("in a line of text holds the chain at once, and the shell's words are in stderr.log", async () => {
    const project = await Project.make("", { command: { kind: "shell", text: "no-such-program --now" }, total: 10 });
    await project.advance();
    const held = await project.watchToEnd();
    expect(held).toMatchObject({ verdict: "failed", decision: { kind: "hold", why: "exit 127" } });
    expect(readFileSync(join(project.attemptFolder(1), "stderr.log"), "utf8")).toMatch(
      /no-such-program: command not found/,
    );
  });
});

describe("a working folder that goes away", () => {
  it("between two attempts holds the chain with its name, and nothing is lost when it is back", async () => {
    const [work, kept] = [workFolder(), workFolder()];
    const script = FIVE.replaceAll("state.", `${kept}/state.`).replace(
      "exit 99",
      `[ "$STINT_ATTEMPT" = 2 ] && mv '${work}' '${work}.away'; exit 99`,
    );
    const checkpoint = { path: `${kept}/state.txt`, progress: { kind: "number" as const } };
    const project = await projectOn(kept, work, script, { total: 15, checkpoint });
    await project.advance();
    const held = await project.watchToEnd();
    expect(held).toMatchObject({ verdict: "failed", carry: { highWater: 10 } });
    expect(held.decision).toMatchObject({
      kind: "hold",
      why: `the application could not be started: the working folder ${work} is not there (ENOENT)`,
    });
    renameSync(`${work}.away`, work);
    await project.stop("resume");
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(work, 15, "once");
  });
});

describe("a missing checkpoint folder", () => {
  const script = FIVE.replaceAll("state.", "deep/er/state.");
  const checkpoint = { path: "deep/er/state.txt", progress: { kind: "number" as const } };

  it("that the application makes is no fault", async () => {
    const project = await Project.make(`mkdir -p deep/er\n${script}`, { total: 10, checkpoint });
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(project.folder, 10, "once");
  });

  it("that it does not make holds the chain at its first failure, with a line that names the folder", async () => {
    const project = await Project.make(script, { total: 10, checkpoint });
    await project.advance();
    const held = await project.watchToEnd();
    expect(held.decision).toMatchObject({
      kind: "hold",
      why: "exit 1: the first attempt failed without any progress",
    });
    const folder = join(project.folder, "deep/er");
    expect(readFileSync(join(project.attemptFolder(1), "runner.log"), "utf8")).toContain(
      `the checkpoint folder ${folder} is not there; make it (mkdir -p) or correct checkpoint.path`,
    );
    expect(loggedSteps(project.folder)).toHaveLength(1);
    mkdirSync(folder, { recursive: true });
    await project.stop("resume");
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    // The step that could not be saved was done again: nothing that was saved is lost.
    expectChain(project.folder, 10);
  });
});
