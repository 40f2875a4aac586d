/** Two shepherds for one attempt: the second one is nothing beside the first. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { readLocalRecord, writeLocalRecord } from "../../src/schedulers/index.ts";
import { expectExactlyOnce } from "./exactly-once.ts";
import { COUNTER, eventually, Project, signal } from "./harness.ts";

describe("a second shepherd of a running attempt", () => {
  for (const [what, environment] of [
    ["that would start at once", {}],
    ["that waits for another attempt", { STINT_LOCAL_AFTER: "local/another/1/2" }],
    ["that waits for its time", { STINT_LOCAL_BEGIN_MS: String(Date.now() + 60_000) }],
  ] as const)
    it(`${what} leaves, says nothing of it, and moves nothing`, async () => {
      const project = await Project.make(COUNTER, { total: 40 });
      await project.advance();
      await project.untilSteps(2);
      const ref = (await project.attempts())[0]?.started?.ref ?? "";
      await eventually("the record of the first", async () => (await project.localRecord(1))?.phase === "running");
      const twin = await startTwin(project, environment);
      expect(twin).toContain("the attempt belongs to another shepherd; left alone");
      expect(await project.localRecord(1)).toMatchObject({ phase: "running", ref });
      expect(await project.attempts()).toHaveLength(1);
      expect((await project.watchToEnd()).verdict).toBe("completed");
      expectExactlyOnce(project.steps(), 40);
      expect(await project.attempts()).toHaveLength(1);
      await eventually("its last word", async () => (await project.localRecord(1))?.phase === "over");
      expect(await project.localRecord(1)).toMatchObject({ state: "COMPLETED", ref });
    });
});

describe("the scheduler's record of an attempt", () => {
  it("says nothing of a shepherd that has not written it", async () => {
    const project = await Project.make(COUNTER, { total: 30 });
    await project.advance();
    await project.untilSteps(2);
    const ref = (await project.attempts())[0]?.started?.ref ?? "";
    const own = await eventually("the record", async () => {
      const record = await project.localRecord(1);
      return record?.phase === "running" ? record : null;
    });
    const folder = project.attemptFolder(1);
    const other = { ...own, ref: `${ref}1`, phase: "over", state: "CANCELLED", endedAtMs: Date.now() } as const;
    await writeLocalRecord(project.files, folder, other);
    const { scheduler } = await project.world();
    expect((await scheduler.observe([ref])).get(ref)).toMatchObject({ kind: "active" });
    expect(await project.advance()).toMatchObject({ kind: "waiting", why: "attempt 1 is running" });
    expect(await project.attempts()).toHaveLength(1);
    expect((await project.watchToEnd()).verdict).toBe("completed");
    expectExactlyOnce(project.steps(), 30);
    await eventually("its last word", async () => (await readLocalRecord(project.files, folder))?.ref === ref);
  });
});

describe("an attempt whose shepherd was killed while it waited", () => {
  it("is not taken over by one that is not on file", async () => {
    const project = await Project.make(COUNTER, { total: 30, limitMs: 60_000, ahead: 1 });
    await project.advance();
    await project.untilSteps(2);
    const first = await project.shepherdOf(2);
    const environment = { STINT_LOCAL_AFTER: (await project.attempts())[0]?.started?.ref ?? "" };
    const second = startTwin(project, environment, 2);
    signal(first, "SIGKILL");
    expect(await second).toContain("belongs to another shepherd");
    expect((await project.watchToEnd()).decision).toEqual({ kind: "finish" });
    expectExactlyOnce(project.steps(), 30);
    expect((await project.attempts())[1]?.started).toBeNull();
  });
});

/** Starts the attempt's script once more, with its mark, and returns what it has said when it has ended. */
async function startTwin(project: Project, environment: Record<string, string>, attempt = 1): Promise<string> {
  const mark = { STINT_MARK: `${project.uuid}/0/${attempt}`, STINT_LOCAL_KILL_WAIT_MS: "500" };
  const twin = spawn("/bin/sh", [`${project.attemptFolder(attempt)}/script.sh`], {
    env: { PATH: process.env.PATH ?? "", ...mark, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let said = "";
  for (const stream of [twin.stdout, twin.stderr])
    stream.on("data", (data: Buffer) => {
      said += data.toString();
    });
  await once(twin, "close");
  return said;
}
