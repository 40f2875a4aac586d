/** Looking at an attempt ends nothing; only who moves its chain does, and never a runner that is alive. */
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { advance, openWorld } from "../../src/chain/index.ts";
import { aliveHere } from "../../src/host/index.ts";
import { jobPlace, taskPlace } from "../../src/journal/index.ts";
import { expectNothingLost } from "./exactly-once.ts";
import { COUNTER, Project, signal } from "./harness.ts";

describe("an application that nobody tends any more", () => {
  it("is left alone by whoever only looks, which proves nothing, and ended by who moves the chain", async () => {
    const project = await Project.make(COUNTER, { total: 60 });
    await project.advance();
    await project.untilSteps(3);
    const [shepherd, runner] = [await project.shepherdOf(1), await project.runnerOf(1)];
    const ref = (await project.attempts())[0]?.started?.ref ?? "";
    for (const process of [shepherd, runner]) signal(process, "SIGKILL");
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
    signal(await project.shepherdOf(1), "SIGKILL");
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
