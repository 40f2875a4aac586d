import { describe, expect, it } from "vitest";
import { expectExactlyOnce } from "./exactly-once.ts";
import { COUNTER, eventually, Project } from "./harness.ts";

describe("a stop while a local attempt runs", () => {
  for (const kind of ["drain", "cancel"] as const)
    for (const ahead of [0, 1])
      it(`${kind}: the application is told and the chain stops, with nothing left (ahead ${ahead})`, async () => {
        const project = await Project.make(COUNTER, { total: 1_000, ahead });
        await project.advance();
        await project.untilSteps(3);
        await project.stop(kind);
        expect(await project.driveToEnd()).toMatchObject({
          kind: "over",
          decision: { kind: "stop", why: kind === "cancel" ? "cancelled" : "drained" },
        });
        await eventually("that nothing runs any more", () => project.processes().length === 0);
        const [first] = await project.attempts();
        expect(first?.exited).toMatchObject({ by: "body", endedBy: kind, exitCode: 99 });
        expect(first?.settled?.verdict).toBe(kind === "cancel" ? "cancelled" : "checkpointed");
        const steps = project.steps();
        expectExactlyOnce(steps, steps.length);
      });

  it("cancel through the scheduler ends the attempt at once, and a resume goes on where it was", async () => {
    const project = await Project.make(COUNTER, { total: 25, sampleIntervalMs: 5_000 });
    await project.advance();
    await project.untilSteps(3);
    await project.stop("cancel");
    const [running] = await project.attempts();
    const world = await project.world();
    await world.scheduler.kill(running?.submitted?.ref ?? "");
    expect(await project.driveToEnd()).toMatchObject({ kind: "over", verdict: "cancelled" });
    await eventually("its record", async () => (await project.localRecord(1))?.state === "CANCELLED");
    await project.stop("resume");
    await project.advance();
    expect((await project.watchToEnd()).verdict).toBe("completed");
    expectExactlyOnce(project.steps(), 25);
  });

  it("takes back an attempt that waits for its time", async () => {
    const project = await Project.make("exit 7", { checkpoint: null, backoffFirstMs: 60_000, backoffMaxMs: 60_000 });
    // The first failure without progress holds; a resume lets it fail once more, and then it waits.
    await project.advance();
    await project.watchToEnd();
    await project.stop("resume");
    await project.advance();
    await eventually("a waiting attempt 3", async () => (await project.localRecord(3))?.phase === "pending");
    await project.stop("cancel");
    expect(await project.driveToEnd()).toMatchObject({ kind: "over" });
    await eventually("that nothing runs any more", () => project.processes().length === 0);
    expect(await project.localRecord(3)).toMatchObject({ phase: "over", state: "CANCELLED", startedAtMs: null });
    expect((await project.attempts())[2]?.started).toBeNull();
  });
});
