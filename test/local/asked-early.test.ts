/** TERM to a runner that has not started its application yet. */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aliveHere } from "../../src/host/index.ts";
import { COUNTER, eventually, Project, signal } from "./harness.ts";

describe("a runner that is asked to end before it has started anything", () => {
  it("starts nothing, withdraws its attempt, and the chain goes on with another", async () => {
    const project = await Project.make(COUNTER, { total: 10 });
    // The body reads who owns the checkpoint right before its gate: a pipe holds it there until somebody writes.
    const pipe = join(project.folder, ".state.txt.stint-owner.1.json");
    execFileSync("mkfifo", [pipe]);
    await project.advance();
    const runner = await project.runnerOf(1);
    const writer = await open(pipe, "w");
    signal(runner, "SIGTERM");
    await writer.write(ownerRecord(project));
    rmSync(pipe);
    await writer.close();
    await eventually("the end of the runner", () => aliveHere(runner) === "gone");
    const [first] = await project.attempts();
    expect(first?.go).toMatchObject({ what: "withdrawn", by: { pid: runner.pid } });
    expect((await project.watchToEnd()).verdict).toBe("completed");
    expect(project.steps().every(({ attempt }) => attempt === 2)).toBe(true);
    expect((await project.attempts())[0]?.settled?.verdict).toBe("never-ran");
  });
});

function ownerRecord({ uuid, job, task, folder }: Project): string {
  return JSON.stringify({
    version: 1,
    nonce: "1",
    atMs: 1,
    state: "owner",
    jobUuid: uuid,
    jobFolder: job.folder,
    taskIndex: 0,
    taskId: task.id,
    by: "tester",
    checkpoint: join(folder, "state.txt"),
    besideNumber: 0,
  });
}
