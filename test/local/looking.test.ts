/** Looking at an attempt ends nothing; only who moves its chain does, and never a runner that is alive. */
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { advance, openWorld } from "../../src/chain/index.ts";
import type { ProcessRef } from "../../src/core/index.ts";
import { aliveHere, processRef, readStat, signalMembers } from "../../src/host/index.ts";
import { jobPlace, taskPlace } from "../../src/journal/index.ts";
import { expectNothingLost } from "./exactly-once.ts";
import { COUNTER, eventually, Project, signal } from "./harness.ts";

describe("an application that nobody tends any more", () => {
  it("is left alone by whoever only looks, which proves nothing, and ended by who moves the chain", async () => {
    const project = await Project.make(COUNTER, { total: 60 });
    await project.advance();
    await project.untilSteps(3);
    const [shepherd, runner] = [await project.shepherdOf(1), await project.runnerOf(1)];
    const ref = (await project.attempts())[0]?.started?.ref ?? "";
    for (const process of [shepherd, runner]) signal(process, "SIGKILL");
    await eventually("their end", () => [shepherd, runner].every((process) => aliveHere(process) === "gone"));
    const { scheduler } = await project.world();
    const seen = (await scheduler.observe([ref])).get(ref);
    expect(seen).toMatchObject({ kind: "over", state: "LOST", final: false, proof: null });
    const steps = project.steps().length;
    await project.untilSteps(steps + 5);
    expect(project.steps().every(({ attempt }) => attempt === 1)).toBe(true);
    expect(await project.driveToEnd()).toMatchObject({ kind: "over", verdict: "completed" });
    expectNothingLost(project.steps(), 60);
    expect((await project.attempts())[0]?.settled?.evidence.proof).toMatchObject({ by: "E" });
  });
});

describe("a runner whose shepherd was killed", () => {
  it("lives on when the project is reached by another path", async () => {
    const project = await Project.make(COUNTER, { total: 40 });
    await project.advance();
    await project.untilSteps(3);
    const runner = await project.runnerOf(1);
    const shepherd = await project.shepherdOf(1);
    signal(shepherd, "SIGKILL");
    await eventually("its end", () => aliveHere(shepherd) === "gone");
    const link = join(project.folder, "link");
    symlinkSync(project.folder, link);
    const job = jobPlace(join(link, ".stint"), project.job.id);
    const world = await openWorld(job, project.spec, { folder: project.files });
    expect(await advance(world, taskPlace(job, 0))).toMatchObject({ kind: "waiting", why: "attempt 1 is running" });
    expect(aliveHere(runner)).toBe("alive");
    expect((await project.watchToEnd()).verdict).toBe("completed");
    expect((await project.attempts())[0]?.exited).toMatchObject({ by: "body", exitCode: 0 });
  });
});

describe("a process without the mark in the session of an application that has ended", () => {
  it("is neither ended nor taken for gone when nobody is left to know it", async () => {
    const script = `env -i sleep 1000 & echo $! >bare.tmp; mv bare.tmp bare.pid; while :; do sleep 0.05; done`;
    const project = await Project.make(script, { checkpoint: null });
    await project.advance();
    const bare = await eventually("its pid", () => {
      const file = join(project.folder, "bare.pid");
      return existsSync(file) ? processRef(Number(readFileSync(file, "utf8"))) : null;
    });
    onTestFinished(() => void signalMembers([bare], "SIGKILL"));
    const path = join(project.attemptFolder(1), "application.json");
    const application = await eventually("the note of its session", () =>
      existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as { process: ProcessRef }).process : null,
    );
    const ref = (await project.attempts())[0]?.started?.ref ?? "";
    for (const process of [await project.shepherdOf(1), await project.runnerOf(1), application]) {
      signal(process, "SIGKILL");
      await eventually("its end", () => aliveHere(process) === "gone");
    }
    // A zombie still holds the number of its session.
    await eventually("that its number is free", () => readStat(application.pid) === null);
    // The last sleep of its own has its mark.
    await eventually("the end of what is marked", () => project.processes().length === 0);
    const { scheduler } = await project.world();
    const look = async () => (await scheduler.observe([ref])).get(ref);
    expect(await look()).toEqual({ kind: "unreachable", error: expect.stringContaining(`process ${bare.pid} may be`) });
    await project.advance();
    expect(aliveHere(bare)).toBe("alive");
    expect((await project.attempts())[0]?.settled).toBeNull();
    signal(bare, "SIGKILL");
    await eventually("its end", () => aliveHere(bare) === "gone");
    expect(await look()).toMatchObject({ kind: "over", state: "LOST", proof: "E" });
  });
});
