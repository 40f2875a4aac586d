import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { eventually, Project, signal } from "./harness.ts";

/** Notes that it was told to end, and works on for ever. */
const DEAF = `trap 'touch told' TERM; touch ready; while :; do sleep 0.1; done`;
/** Leaves with 0 when it is told to, long before its work is done. */
const POLITE = `trap 'exit 0' TERM; touch ready; while :; do sleep 0.1; done`;
const ENDLESS = { checkpoint: null, total: null, limitMs: null } as const;

function is(project: Project, name: "ready" | "told"): Promise<true> {
  return eventually(`the application is ${name}`, () => existsSync(join(project.folder, name)) || null);
}

describe("wishes that meet", () => {
  it("a cancel during a drain shortens the wait for the application to the kill wait", async () => {
    const project = await Project.make(DEAF, { ...ENDLESS, marginMs: 600_000, killWaitMs: 1_000 });
    await project.advance();
    await is(project, "ready");
    await project.stop("drain");
    await is(project, "told");
    await project.stop("cancel");
    // The test's own time is far shorter than the margin that a drain waits.
    expect(await project.driveToEnd()).toMatchObject({
      kind: "over",
      verdict: "cancelled",
      decision: { kind: "stop" },
    });
    const [first] = await project.attempts();
    expect(first?.exited).toMatchObject({ by: "body", endedBy: "cancel", signal: "SIGKILL", stopNumber: 2 });
  });

  it("a resume that comes while a cancel is carried out lets the chain go on", async () => {
    const project = await Project.make(DEAF, { ...ENDLESS, killWaitMs: 2_000 });
    await project.advance();
    await is(project, "ready");
    await project.stop("cancel");
    await is(project, "told");
    await project.stop("resume");
    await eventually("attempt 2 at work, without anybody's help", async () => {
      const [, second] = await project.attempts();
      return second?.go?.what === "start" || null;
    });
    const [first] = await project.attempts();
    expect(first?.settled).toMatchObject({ verdict: "cancelled", stopNumber: 1 });
    await project.stop("cancel");
    expect(await project.driveToEnd()).toMatchObject({ kind: "over", verdict: "cancelled" });
  });
});

describe("a signal from outside", () => {
  it("to the runner of an application that then leaves with 0 is saved work, and never finished work", async () => {
    const project = await Project.make(POLITE, ENDLESS);
    await project.advance();
    await is(project, "ready");
    signal(await project.runnerOf(1), "SIGTERM");
    const first = await eventually("the settlement", async () => {
      const [attempt] = await project.attempts();
      return attempt?.settled == null ? null : attempt;
    });
    expect(first.exited).toMatchObject({ exitCode: 0 });
    expect(first.settled?.verdict).toBe("checkpointed");
    await project.stop("cancel");
    expect(await project.driveToEnd()).toMatchObject({ kind: "over" });
  });
});
