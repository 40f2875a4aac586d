/** Applications that crash, and the numbers with which they say how they ended. */
import { describe, expect, it } from "vitest";
import { Project } from "../local/harness.ts";
import { expectChain, STEPS } from "./step-log.ts";

const ADVICE = "look at the logs, mend the cause, then: stint resume JOB";

describe("an application that crashes at once", () => {
  it("with exit 1 in the first attempt holds the chain at once", async () => {
    const project = await Project.make("echo no licence >&2; exit 1", { total: 10 });
    await project.advance();
    const settled = await project.watchToEnd();
    expect(settled.verdict).toBe("failed");
    expect(settled.decision).toMatchObject({
      kind: "hold",
      why: "exit 1: the first attempt failed without any progress",
      advice: expect.stringContaining("stint resume JOB"),
    });
    expect(await project.attempts()).toHaveLength(1);
  });

  for (const code of [126, 127])
    it(`with exit ${code} holds the chain at once, even after progress`, async () => {
      const project = await Project.make(`${STEPS} [ "$STINT_ATTEMPT" = 2 ] && exit ${code}; step; step; exit 99`, {
        total: 10,
      });
      await project.advance();
      const settled = await project.watchToEnd();
      expect(settled).toMatchObject({
        verdict: "failed",
        decision: { kind: "hold", why: `exit ${code}`, advice: ADVICE },
        carry: { highWater: 2 },
      });
      expect(await project.attempts()).toHaveLength(2);
      expectChain(project.folder, 2, "once");
    });

  it("by a signal of its own in the first attempt holds the chain at once", async () => {
    const project = await Project.make("kill -SEGV $$", { total: 10 });
    await project.advance();
    const settled = await project.watchToEnd();
    expect(settled).toMatchObject({ verdict: "failed", evidence: { signal: "SIGSEGV" } });
    expect(settled.decision).toMatchObject({
      kind: "hold",
      why: "killed by SIGSEGV: the first attempt failed without any progress",
    });
  });

  it("after progress is tried three times, each later than the one before, then held", async () => {
    const project = await Project.make(`${STEPS} [ "$STINT_ATTEMPT" = 1 ] && { step; step; exit 99; }; exit 3`, {
      total: 10,
      backoffFirstMs: 200,
    });
    await project.advance();
    const settled = await project.watchToEnd();
    expect(settled.decision).toMatchObject({ kind: "hold", why: "exit 3 (3 failures without new progress)" });
    const attempts = await project.attempts();
    expect(attempts.map((attempt) => attempt.settled?.verdict)).toEqual([
      "checkpointed",
      ...["failed", "failed", "failed"],
    ]);
    const pauses = [2, 3].map((i) => (attempts[i]?.go?.atMs ?? 0) - (attempts[i - 1]?.settled?.atMs ?? 0));
    expect(pauses[0]).toBeGreaterThanOrEqual(200);
    expect(pauses[1]).toBeGreaterThanOrEqual(400);
    expectChain(project.folder, 2, "once");
  });

  it("that exits with 0 and has not finished is no success", async () => {
    const project = await Project.make("exit 0", { total: 10 });
    await project.advance();
    const settled = await project.watchToEnd();
    expect(settled).toMatchObject({ verdict: "failed", decision: { kind: "hold" } });
    expect(settled.evidence.why).toBe("exit 0, but the total of 10 is not reached and the checkpoint is not there");
  });
});

describe("an application that says by its exit code", () => {
  for (const [code, savedExitCodes] of [
    [99, [99, 124]],
    [124, [99, 124]],
    [75, [99, 124, 75]],
  ] as const)
    it(`${code}: saved, more to do (among ${savedExitCodes.join(", ")}) is gone on with`, async () => {
      const project = await Project.make(`${STEPS} step; step; step; ((n >= MAX_ITER)) && exit 0; exit ${code}`, {
        total: 9,
        savedExitCodes,
      });
      await project.advance();
      expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
      expectChain(project.folder, 9, "once");
      const attempts = await project.attempts();
      expect(attempts.map((attempt) => attempt.exited?.exitCode)).toEqual([code, code, 0]);
      expect(attempts[0]?.settled?.evidence.why).toBe(`exit ${code}: saved, more to do`);
    });

  it("75 without the setting has failed", async () => {
    const project = await Project.make("exit 75", { total: 9 });
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "failed", decision: { kind: "hold" } });
  });

  it("76: nothing to gain stops the chain, whatever it has reached", async () => {
    const project = await Project.make(`${STEPS} step; step; [ "$STINT_ATTEMPT" = 2 ] && exit 76; exit 99`, {
      total: 100,
    });
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({
      verdict: "failed",
      decision: { kind: "stop", why: "exit 76: nothing more to gain", advice: null },
      carry: { highWater: 4 },
    });
    expectChain(project.folder, 4, "once");
    expect(await project.advance()).toMatchObject({ kind: "over", decision: { kind: "stop" } });
  });
});
