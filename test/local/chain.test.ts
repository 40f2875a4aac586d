import { describe, expect, it } from "vitest";
import { expectExactlyOnce } from "./exactly-once.ts";
import { COUNTER, eventually, Project } from "./harness.ts";

describe("a local chain", () => {
  for (const ahead of [0, 1, 2])
    it(`goes on by itself to the total, each step once, in order and never two at a time (ahead ${ahead})`, async () => {
      const project = await Project.make(COUNTER, { total: 60, limitMs: 2_200, marginMs: 1_200, ahead });
      expect(await project.advance()).toMatchObject({ kind: "going", attempt: 1 });
      const settled = await project.watchToEnd();
      expect(settled.decision).toEqual({ kind: "finish" });
      expectExactlyOnce(project.steps(), 60);
      const attempts = await project.attempts();
      const ran = attempts.filter((attempt) => attempt.settled?.verdict !== "never-ran");
      expect(ran.length).toBeGreaterThanOrEqual(4);
      expect(new Set(project.steps().map(({ attempt }) => attempt)).size).toBe(ran.length);
      for (const attempt of ran.slice(0, -1)) expect(attempt.settled?.verdict).toBe("checkpointed");
      expect(ran.at(-1)?.settled?.verdict).toBe("completed");
      await eventually("that nothing runs any more", () => project.processes().length === 0);
      // The scheduler's own record of each.
      for (const { number } of ran) {
        const record = await project.localRecord(number);
        expect(record).toMatchObject({ phase: "over", state: "COMPLETED", exitCode: 0, signal: null, survivors: [] });
        expect((record?.cpuUserMs ?? 0) + (record?.cpuSystemMs ?? 0)).toBeGreaterThan(0);
        expect(record?.elapsedMs).toBeGreaterThan(0);
      }
      const records = await Promise.all(ran.map(({ number }) => project.localRecord(number)));
      expect(Math.max(...records.map((record) => record?.memoryPeakBytes ?? 0))).toBeGreaterThan(1_000_000);
    });

  it("runs nothing when the total is reached, and nothing again when it is finished", async () => {
    const project = await Project.make(COUNTER, { total: 5 });
    await project.advance();
    await project.watchToEnd();
    expectExactlyOnce(project.steps(), 5);
    expect(await project.advance()).toMatchObject({ kind: "over", verdict: "completed" });
    expect(await project.attempts()).toHaveLength(1);
  });
});
