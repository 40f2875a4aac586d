/**
 * A clock that somebody sets while a chain runs: spans, windows and waits are counted by clocks that nobody can set. The runner and
 * the shepherd get a `Date` that a file (or a moment in the attempt's life) moves; the applications and these tests see the
 * true time.
 */
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RECORD_VERSION } from "../../src/core/index.ts";
import { aliveHere, thisProcess } from "../../src/host/index.ts";
import { expectChain, lines, loggedSteps, PATIENT, STEPS } from "../ill-behaved/step-log.ts";
import { eventually, Project, signal } from "../local/harness.ts";
import { projectOn, workFolder } from "./disks.ts";

const HOUR_MS = 3_600_000;
const SAVES = `${STEPS} trap 'echo "$STINT_ATTEMPT $EPOCHREALTIME" >>told.txt; save; exit 99' TERM
  set_clock() { echo "$1" >clock.tmp && mv clock.tmp clock.txt; }
`;

/** A node whose clock is off by so many ms: an expression for `import`ed code, asked at each look. */
function nodeWithClock(work: string, offsetMs: string): string {
  const preload = join(work, "clock.mjs");
  writeFileSync(
    preload,
    `import { existsSync, readFileSync } from "node:fs";
const True = Date;
const inFile = () => (existsSync(${JSON.stringify(join(work, "clock.txt"))}) ? Number(readFileSync(${JSON.stringify(join(work, "clock.txt"))}, "utf8")) : 0);
const hasStarted = () => existsSync(process.argv.at(-1) + "/started.json");
const now = () => True.now() + (${offsetMs});
globalThis.Date = class extends True {
  constructor(...args) { if (args.length === 0) super(now()); else super(...args); }
  static now() { return now(); }
};
`,
  );
  const node = join(work, "node");
  writeFileSync(node, `#!/bin/sh\nexec '${process.execPath}' --import '${preload}' "$@"\n`, { mode: 0o755 });
  return node;
}

describe("a clock that is set", () => {
  for (const [how, offsetMs] of [
    ["back by an hour", -HOUR_MS],
    ["forward by an hour", HOUR_MS],
  ] as const)
    it(`${how} while the application works: its window ends on time and no span is wrong`, async () => {
      const work = workFolder();
      const script = `${SAVES}
        while ((n < MAX_ITER)); do step; ((n == 5)) && set_clock ${offsetMs}; done; exit 0`;
      const limits = { limitMs: 2_800, marginMs: 1_200, budgets: PATIENT };
      const node = nodeWithClock(work, "inFile()");
      const project = await projectOn(tmpdir(), work, script, { total: 50, node, sampleIntervalMs: 50, ...limits });
      await project.advance();
      const settled = await project.watchToEnd();
      expect(settled.verdict).toBe("completed");
      expectChain(work, 50);
      const ran = (await project.attempts()).filter((attempt) => attempt.go?.what === "start");
      expect(ran.length).toBeGreaterThan(1);
      for (const { number, exited } of ran) {
        const steps = loggedSteps(work).filter(({ attempt }) => attempt === number);
        const workedMs = ((steps.at(-1)?.to ?? 0) - (steps[0]?.from ?? 0)) * 1000;
        expect(exited?.ranMs).toBeGreaterThanOrEqual(Math.floor(workedMs));
        expect(exited?.ranMs).toBeLessThan(limits.limitMs);
        const record = await eventually("the scheduler's record", async () => {
          const local = await project.localRecord(number);
          return local?.phase === "over" ? local : null;
        });
        expect(record.elapsedMs).toBeGreaterThanOrEqual(exited?.ranMs ?? 0);
        expect(record.elapsedMs).toBeLessThan(limits.limitMs + 700);
      }
      expect(settled.carry.ranMs).toBe(ran.reduce((sum, { exited }) => sum + (exited?.ranMs ?? 0), 0));
      // The attempt that went step 5 saw its clock being set, and its rows go on by the other one.
      const setIn = loggedSteps(work).find(({ step }) => step === 5)?.attempt ?? 0;
      const first = await project.localRecord(setIn);
      const acrossMs = (first?.endedAtMs ?? 0) - (first?.startedAtMs ?? 0);
      expect(Math.abs(acrossMs - offsetMs)).toBeLessThan(10_000);
      const rows = lines(readFileSync(join(project.attemptFolder(setIn), "samples.csv"), "utf8"))
        .slice(1)
        .map((row) => row.split(",").map(Number));
      const elapsed = rows.map(([, ms]) => ms ?? 0);
      expect(elapsed).toEqual([...elapsed].sort((a, b) => a - b));
      const jumps = rows.slice(1).map(([at], i) => Math.abs((at ?? 0) - (rows[i]?.[0] ?? 0)));
      expect(Math.max(...jumps)).toBeGreaterThan(HOUR_MS / 2);
      // Told by the true clock, too.
      const told = lines(readFileSync(join(work, "told.txt"), "utf8")).find((line) => line.startsWith(`${setIn} `));
      const firstStep = loggedSteps(work).find(({ attempt }) => attempt === setIn);
      const afterMs = (Number(told?.split(" ")[1]) - (firstStep?.from ?? 0)) * 1000;
      expect(afterMs).toBeLessThan(limits.limitMs - limits.marginMs + 500);
    });

  for (const [how, offsetMs] of [
    ["back", -HOUR_MS],
    ["forward", HOUR_MS],
  ] as const)
    it(`${how} between the start of the runner and of the application: the window stays what it is`, async () => {
      const work = workFolder();
      const node = nodeWithClock(work, `hasStarted() ? ${offsetMs} : 0`);
      const script = `${SAVES} while ((n < MAX_ITER)); do step; done; exit 0`;
      const limits = { limitMs: 2_800, marginMs: 1_200, budgets: PATIENT };
      const project = await projectOn(tmpdir(), work, script, { total: 40, node, ...limits });
      await project.advance();
      expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
      expectChain(work, 40);
      const ran = (await project.attempts()).filter((attempt) => attempt.go?.what === "start");
      expect(ran[0]?.exited).toMatchObject({ by: "body", endedBy: "window", exitCode: 99 });
      expect(ran[0]?.exited?.ranMs).toBeGreaterThan(300);
      expect(await project.localRecord(ran[0]?.number ?? 0)).toMatchObject({ state: "COMPLETED", signal: null });
    });

  it("forward by an hour before the runner is killed: the guardian counts by the kernel's clock", async () => {
    const work = workFolder();
    const node = nodeWithClock(work, "inFile()");
    const script = `${SAVES} while ((n < MAX_ITER)); do step; ((n == 5)) && set_clock ${HOUR_MS}; done; exit 0`;
    const project = await projectOn(tmpdir(), work, script, { total: 20, node });
    await project.advance();
    await eventually("seven steps", () => loggedSteps(work).length >= 7);
    await eventually("application.json", () =>
      project.files.identity(join(project.attemptFolder(1), "application.json")),
    );
    signal(await project.runnerOf(1), "SIGKILL");
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(work, 20);
    const [first] = await project.attempts();
    expect(first?.exited?.by).toBe("guardian");
    const steps = loggedSteps(work).filter(({ attempt }) => attempt === 1);
    const workedMs = ((steps.at(-1)?.to ?? 0) - (steps[0]?.from ?? 0)) * 1000;
    expect(first?.exited?.ranMs).toBeGreaterThanOrEqual(Math.floor(workedMs) - 20);
    expect(first?.exited?.ranMs).toBeLessThan(workedMs + 10_000);
  });

  it("so that the limit of a runner without its shepherd seems long gone: it is left alone until its limit has come", async () => {
    const work = workFolder();
    const node = nodeWithClock(work, String(-HOUR_MS));
    const script = `${SAVES} while ((n < MAX_ITER)); do step; done; exit 0`;
    const project = await projectOn(tmpdir(), work, script, { total: 20, node, limitMs: 20_000 });
    await project.advance();
    await eventually("three steps", () => loggedSteps(work).length >= 3);
    const runner = await project.runnerOf(1);
    signal(await project.shepherdOf(1), "SIGKILL");
    expect(await project.advance()).toMatchObject({ kind: "waiting", why: "attempt 1 is running" });
    expect(aliveHere(runner)).toBe("alive");
    expect(await project.driveToEnd()).toMatchObject({ kind: "over", verdict: "completed" });
    expectChain(work, 20, "once");
    expect((await project.attempts())[0]?.exited).toMatchObject({ by: "body", signalsSent: [] });
  });

  it("back while an attempt waits for its time: it never waits longer than the longest back-off", async () => {
    const project = await Project.make(`${STEPS} step; exit 0`, { total: 1, backoffMaxMs: 300 });
    await project.files.makeFolder(project.attemptFolder(1));
    const claim = { version: RECORD_VERSION, nonce: randomUUID(), atMs: Date.now(), by: thisProcess() };
    const rest = { specRevision: 1, basis: "after", after: 0, notBeforeMs: Date.now() + HOUR_MS };
    await project.files.replace(join(project.attemptFolder(1), "claim.json"), JSON.stringify({ ...claim, ...rest }));
    expect(await project.advance()).toMatchObject({ kind: "going", attempt: 1 });
    expect(await project.watchToEnd(15_000)).toMatchObject({ verdict: "completed" });
  });
});
