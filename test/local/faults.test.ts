/** Real kills: whoever of our own processes dies, no saved step is lost and no two applications ever run at a time. */
import { describe, expect, it } from "vitest";
import { expectNothingLost } from "./exactly-once.ts";
import { COUNTER, eventually, Project, signal } from "./harness.ts";

describe("a local chain whose runner is killed", () => {
  it("is swept and testified by the shepherd, and goes on by itself", async () => {
    const project = await Project.make(COUNTER, { total: 25 });
    await project.advance();
    await project.untilSteps(4);
    signal(await project.runnerOf(1), "SIGKILL");
    const settled = await project.watchToEnd();
    expect(settled.verdict).toBe("completed");
    expectNothingLost(project.steps(), 25);
    const [first, second] = await project.attempts();
    expect(first?.exited).toMatchObject({ by: "guardian", survivors: [], exitCode: null });
    expect(first?.settled).toMatchObject({ verdict: "node-failed", evidence: { proof: { by: "B" }, state: "FAILED" } });
    expect(second?.go).toMatchObject({ what: "start", proofs: [{ attempt: 1, by: "B" }] });
    expect(await project.localRecord(1)).toMatchObject({ state: "FAILED", exitCode: null, signal: "SIGKILL" });
  });
});

describe("a local chain whose shepherd is killed", () => {
  for (const ahead of [0, 1])
    it(`goes on: its runner ends the attempt itself and hands over (ahead ${ahead})`, async () => {
      const project = await Project.make(COUNTER, { total: 25, limitMs: 2_000, marginMs: 1_000, ahead });
      await project.advance();
      await project.untilSteps(4);
      const shepherd = await project.shepherdOf(1);
      signal(shepherd, "SIGKILL");
      // Somebody looks meanwhile: the living runner is left alone.
      expect(await project.advance()).not.toMatchObject({ kind: "over" });
      const settled = await project.watchToEnd();
      expect(settled.decision).toEqual({ kind: "finish" });
      expectNothingLost(project.steps(), 25);
      const [first] = await project.attempts();
      expect(first?.exited?.by).toBe("body");
      expect(first?.settled?.verdict).toBe("checkpointed");
    });
});

describe("a local chain whose shepherd and runner are killed together", () => {
  it("has its orphans ended by the next driver, with proof E, and goes on", async () => {
    const project = await Project.make(COUNTER, { total: 25 });
    await project.advance();
    await project.untilSteps(4);
    const [shepherd, runner] = [await project.shepherdOf(1), await project.runnerOf(1)];
    signal(shepherd, "SIGKILL");
    signal(runner, "SIGKILL");
    // The application lives on, alone.
    await project.untilSteps(7);
    expect(await project.driveToEnd()).toMatchObject({ kind: "over", verdict: "completed" });
    expectNothingLost(project.steps(), 25);
    const [first, second] = await project.attempts();
    expect(first?.exited).toBeNull();
    expect(first?.settled).toMatchObject({ verdict: "node-failed", evidence: { proof: { by: "E" }, state: "LOST" } });
    expect(second?.go).toMatchObject({ what: "start", proofs: [{ attempt: 1, by: "E" }] });
  });

  it("is gone on with by a queued successor without any driver (ahead 1)", async () => {
    const project = await Project.make(COUNTER, { total: 25, ahead: 1 });
    await project.advance();
    await project.untilSteps(4);
    await project.shepherdOf(2);
    const [shepherd, runner] = [await project.shepherdOf(1), await project.runnerOf(1)];
    signal(runner, "SIGKILL");
    signal(shepherd, "SIGKILL");
    const settled = await project.watchToEnd();
    expect(settled.decision).toEqual({ kind: "finish" });
    expectNothingLost(project.steps(), 25);
    expect((await project.attempts())[0]?.settled?.evidence.proof.by).toBe("E");
  });
});

describe("a pending local attempt whose shepherd is killed", () => {
  it("never ran, and the chain goes on with the next number", async () => {
    const project = await Project.make(COUNTER, { total: 30, limitMs: 2_000, marginMs: 1_000, ahead: 1 });
    await project.advance();
    await project.untilSteps(2);
    signal(await project.shepherdOf(2), "SIGKILL");
    const settled = await project.watchToEnd();
    expect(settled.decision).toEqual({ kind: "finish" });
    expectNothingLost(project.steps(), 30);
    const [, second] = await project.attempts();
    expect(second?.settled?.verdict).toBe("never-ran");
    expect(second?.started).toBeNull();
  });
});

describe("the job of a script", () => {
  it("is found by its processes, whatever they are just becoming, and not when it is gone", async () => {
    const project = await Project.make(COUNTER, { total: 10 });
    const { scheduler } = await project.world();
    const script = `${project.attemptFolder(1)}/script.sh`;
    expect(await scheduler.find(script)).toBe("none");
    await project.advance();
    const [{ submitted } = { submitted: null }] = await project.attempts();
    expect(await scheduler.find(script)).toMatchObject({ ref: submitted?.ref, id: submitted?.id });
    await project.watchToEnd();
    await eventually("that it is gone", async () => (await scheduler.find(script)) === "none");
  });
});
