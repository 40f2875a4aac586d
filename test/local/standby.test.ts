/** The successor of a local attempt is ready before its turn: its processes start while the application still computes. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { ProcessRef } from "../../src/core/index.ts";
import { aliveHere, findMembers, readStat } from "../../src/host/index.ts";
import { MARK, memberRunning } from "../../src/schedulers/index.ts";
import { expectExactlyOnce } from "./exactly-once.ts";
import { COUNTER, eventually, Project, signal } from "./harness.ts";

describe("an attempt with a window and no successors", () => {
  it("gets one shortly before the window ends, and none sooner", async () => {
    const project = await Project.make(COUNTER, { total: 100, limitMs: 5_000, marginMs: 1_000 });
    await project.advance();
    await project.untilSteps(20);
    expect(await project.attempts()).toHaveLength(1);
    const [first, second] = await eventually("the second attempt", async () => {
      const all = await project.attempts();
      return all.length > 1 && all[1]?.submitted != null ? all : null;
    });
    expect(first?.exited).toBeNull();
    expect(second?.started).toBeNull();
    expect((await project.watchToEnd()).decision).toEqual({ kind: "finish" });
    expectExactlyOnce(project.steps(), 100);
    const claimedMs = second?.claim?.atMs ?? 0;
    const windowEndAtMs = first?.started?.windowEndAtMs ?? 0;
    expect(windowEndAtMs - claimedMs).toBeGreaterThan(0);
    expect(windowEndAtMs - claimedMs).toBeLessThanOrEqual(1_000);
  });
});

describe("an attempt that was queued before it was decided to try again later", () => {
  it("waits for that time outside its limit, and has its whole window then", async () => {
    // Deaf and never saving: stalled, and tried again after the back-off, which is longer than what a window leaves.
    const deaf = "trap '' TERM; while :; do sleep 0.05; done";
    const changes = { limitMs: 3_000, marginMs: 1_000, backoffFirstMs: 2_500, backoffMaxMs: 2_500, total: 10 };
    const project = await Project.make(deaf, changes);
    await project.advance();
    expect((await project.watchToEnd()).decision).toMatchObject({ kind: "hold" });
    const [first, second] = await project.attempts();
    expect(first?.settled).toMatchObject({ verdict: "stalled", decision: { kind: "retry" } });
    expect(second?.claim?.basis).toBe("ahead");
    expect(second?.settled?.verdict).toBe("stalled");
    const { started } = second ?? {};
    const notBeforeMs = first?.settled?.decision.kind === "retry" ? first.settled.decision.notBeforeMs : 0;
    expect(started?.atMs).toBeGreaterThanOrEqual(notBeforeMs - 50);
    expect((started?.limitEndAtMs ?? 0) - (started?.atMs ?? 0)).toBeGreaterThan(2_500);
  });
});

describe("a shepherd that waits", () => {
  it("is not woken up by what the application writes", async () => {
    const noisy = "while :; do for i in {1..400}; do echo line $i; done; sleep 0.1; done";
    const project = await Project.make(noisy, { ahead: 1, limitMs: 60_000 });
    await project.advance();
    await standbyOf(project, 2);
    const shepherd = await project.shepherdOf(2);
    const before = readStat(shepherd.pid)?.userTicks ?? 0;
    await pause(3_000);
    const after = readStat(shepherd.pid)?.userTicks ?? Number.NaN;
    // In ticks of 10 ms: a wake-up for each line took about a hundred.
    expect(after - before).toBeLessThan(30);
    await project.stop("cancel");
    await project.driveToEnd();
  });
});

describe("a runner that waits for its turn", () => {
  it("has begun nothing, and is the one that becomes the body", async () => {
    const project = await Project.make(COUNTER, { total: 60, limitMs: 60_000, ahead: 1 });
    await project.advance();
    const waiting = await standbyOf(project, 2);
    expect((await project.attempts())[1]?.started).toBeNull();
    expect(existsSync(join(project.attemptFolder(2), "runner.log"))).toBe(false);
    // The chain goes on to it when the first one's runner and shepherd are gone without a word.
    const [runner, shepherd] = [await project.runnerOf(1), await project.shepherdOf(1)];
    signal(shepherd, "SIGKILL");
    signal(runner, "SIGKILL");
    expect((await project.watchToEnd()).decision).toEqual({ kind: "finish" });
    expectExactlyOnce(project.steps(), 60);
    expect((await project.attempts())[1]?.started?.body.pid).toBe(waiting.pid);
  });

  it("leaves with its shepherd, and has done nothing", async () => {
    const project = await Project.make(COUNTER, { total: 40, limitMs: 60_000, ahead: 1 });
    await project.advance();
    const waiting = await standbyOf(project, 2);
    signal(await project.shepherdOf(2), "SIGKILL");
    await eventually("its end", () => aliveHere(waiting) === "gone");
    expect((await project.attempts())[1]?.started).toBeNull();
    expect((await project.watchToEnd()).decision).toEqual({ kind: "finish" });
    expectExactlyOnce(project.steps(), 40);
  });

  it("is replaced at its turn where it was killed", async () => {
    const project = await Project.make(COUNTER, { total: 60, limitMs: 2_500, marginMs: 500, ahead: 1 });
    await project.advance();
    const waiting = await standbyOf(project, 2);
    signal(waiting, "SIGKILL");
    expect((await project.watchToEnd()).decision).toEqual({ kind: "finish" });
    expectExactlyOnce(project.steps(), 60);
    const second = (await project.attempts())[1];
    expect(second?.started?.body.pid).not.toBe(waiting.pid);
    expect(second?.settled?.verdict).not.toBe("never-ran");
  });

  it("is gone when its attempt was taken back", async () => {
    const project = await Project.make(COUNTER, { total: 15, limitMs: 60_000, ahead: 1 });
    await project.advance();
    const waiting = await standbyOf(project, 2);
    expect((await project.watchToEnd()).decision).toEqual({ kind: "finish" });
    await eventually("its end", () => aliveHere(waiting) === "gone");
    await eventually("its shepherd's last word", async () => (await project.localRecord(2))?.phase === "over");
    const log = join(project.attemptFolder(2), "runner.log");
    expect(existsSync(log) ? readFileSync(log, "utf8") : "").not.toContain("failed");
    expect((await project.attempts())[1]?.started).toBeNull();
  });
});

/** The runner of an attempt that has not begun. */
function standbyOf(project: Project, attempt: number): Promise<ProcessRef> {
  const mark = `${project.uuid}/0/${attempt}`;
  return eventually(`the runner of attempt ${attempt} on standby`, async () => {
    const members = findMembers({
      roots: [],
      session: null,
      mark: { name: MARK, value: mark },
      cgroup: null,
      exclude: [],
    });
    const runner = memberRunning(members, "body", mark);
    return runner === null
      ? null
      : { ...(await project.shepherdOf(attempt)), pid: runner.pid, startTicks: runner.startTicks };
  });
}
