/** Checkpoints that are not what they should be: held with a clear reason, never read as a number that nobody wrote. */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JobSpec } from "../../src/core/index.ts";
import { createSpec } from "../../src/journal/index.ts";
import { Project } from "../local/harness.ts";
import { expectChain, loggedSteps, STEPS } from "./step-log.ts";

const FIVE_STEPS = `${STEPS} for i in 1 2 3 4 5; do step; ((n >= MAX_ITER)) && exit 0; done; exit 99`;

const UNUSABLE: readonly { readonly what: string; readonly text: string; readonly why: string }[] = [
  { what: "an empty checkpoint", text: "", why: "the checkpoint can't be used: the file is empty" },
  {
    what: "a checkpoint of blanks",
    text: " \n\n",
    why: "the checkpoint can't be used: the file holds only blanks",
  },
  {
    what: "a checkpoint that a crash has filled with zeros",
    text: "12\0\0\0\0",
    why: `the checkpoint can't be used: "12\\0\\0\\0\\0" holds NUL bytes: a torn or a binary file`,
  },
  {
    what: "a wordy checkpoint",
    text: "iter 12 of 300\n",
    why: `the checkpoint can't be used: "iter 12 of 300" is not one number; use progress: {pattern: 'iter\\s+(\\d+)'}`,
  },
];

describe("an unusable checkpoint", () => {
  for (const { what, text, why } of UNUSABLE)
    it(`(${what}) holds the chain before anything starts`, async () => {
      const project = await Project.make(FIVE_STEPS, { total: 300 });
      writeFileSync(join(project.folder, "state.txt"), text);
      await project.advance();
      const settled = await project.watchToEnd();
      expect(settled).toMatchObject({ verdict: "never-ran", decision: { kind: "hold", why } });
      expect(settled.decision).toMatchObject({ advice: expect.stringContaining("stint resume JOB") });
      expect(existsSync(join(project.folder, "log.txt"))).toBe(false);
      expect(readFileSync(join(project.folder, "state.txt"), "utf8")).toBe(text);
    });

  it("left by an attempt holds the chain, forgets nothing, and a mended one is gone on with", async () => {
    const tears = `${FIVE_STEPS.replace("exit 99", "((STINT_ATTEMPT == 2)) && : >state.txt; exit 99")}`;
    const project = await Project.make(tears, { total: 20 });
    await project.advance();
    const settled = await project.watchToEnd();
    expect(settled.decision).toMatchObject({
      kind: "hold",
      why: "the checkpoint can't be used: the file is empty",
    });
    const [first, second, third] = await project.attempts();
    expect(first?.settled?.evidence.progress).toEqual({ state: "above", value: 5 });
    expect(second?.settled?.evidence.progress).toEqual({ state: "invalid", why: "the file is empty" });
    expect(second?.settled?.carry.highWater).toBe(5);
    expect(third?.go).toMatchObject({ what: "withdrawn", reason: "checkpoint-unusable" });
    // A person puts the last good one back.
    writeFileSync(join(project.folder, "state.txt"), "10\n");
    await project.stop("resume");
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(project.folder, 20, "once");
  });

  it("that is gone is not a start from nothing", async () => {
    const project = await Project.make(
      FIVE_STEPS.replace("exit 99", "((STINT_ATTEMPT == 2)) && rm state.txt; exit 99"),
      {
        total: 20,
      },
    );
    await project.advance();
    const { decision } = await project.watchToEnd();
    expect(decision).toMatchObject({ kind: "hold", why: "the checkpoint is gone, yet progress had reached 5" });
    writeFileSync(join(project.folder, "state.txt"), "10\n");
    await project.stop("resume");
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(project.folder, 20, "once");
  });

  it("with words is gone on with once a rule says which number counts", async () => {
    const wordy = `
      n=0; [ -e state.txt ] && read -r _ n _ <state.txt
      ${STEPS.replace(/n=0; .*\n/, "").replace('echo "$n"', 'echo "iter $n of $MAX_ITER"')}
      for i in 1 2 3 4 5; do step; ((n >= MAX_ITER)) && exit 0; done; exit 99`;
    const project = await Project.make(wordy, { total: 12 });
    await project.advance();
    const held = await project.watchToEnd();
    expect(held.decision).toMatchObject({ kind: "hold" });
    // Neither finished (512 is past the total) nor begun again.
    expect(loggedSteps(project.folder).map(({ step }) => step)).toEqual([1, 2, 3, 4, 5]);
    const spec: JobSpec = {
      ...project.spec,
      checkpoint: { path: "state.txt", progress: { kind: "pattern", pattern: "iter\\s+(\\d+)" } },
    };
    const record = { version: 1, nonce: randomUUID(), atMs: Date.now(), by: "tester", spec, origins: {} };
    await createSpec(project.files, project.job, 2, record);
    await project.stop("resume");
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(project.folder, 12, "once");
  });
});

describe("a zero-padded checkpoint", () => {
  for (const [text, total] of [
    ["0000099", 103],
    ["08", 11],
  ] as const)
    it(`(${text}) is a decimal number, and the work goes on behind it`, async () => {
      const project = await Project.make(FIVE_STEPS, { total });
      writeFileSync(join(project.folder, "state.txt"), `${text}\n`);
      await project.advance();
      const settled = await project.watchToEnd();
      expect(settled).toMatchObject({ verdict: "completed", carry: { highWater: total } });
      const first = Number.parseInt(text, 10) + 1;
      expect(loggedSteps(project.folder).map(({ step }) => step)).toEqual(
        Array.from({ length: total - first + 1 }, (_, i) => first + i),
      );
      expect((await project.attempts())[0]?.go).toMatchObject({
        what: "start",
        progressBefore: { state: "above", value: first - 1 },
      });
    });
});

describe("progress that saws", () => {
  it("up and down below what was reached once is no progress: held, with the highest still on file", async () => {
    // 5 by attempt 1; the others begin anew each time, save 4 at most, and say that all is well.
    const saws = `${STEPS} [ "$STINT_ATTEMPT" -gt 1 ] && n=0
      for ((i = 0; i < (STINT_ATTEMPT == 1 ? 5 : 1 + STINT_ATTEMPT % 4); i++)); do step; done; exit 99`;
    const project = await Project.make(saws, { total: 100, budgets: { ...budgets, inARow: 4 } });
    await project.advance();
    const settled = await project.watchToEnd();
    expect(settled.decision).toMatchObject({ kind: "hold", why: "4 attempts in a row without new progress" });
    expect(settled.carry).toMatchObject({ attempts: 5, inARow: 4, highWater: 5 });
    const states = (await project.attempts()).map((attempt) => attempt.settled?.evidence.progress.state);
    expect(states).toEqual(["above", "not-above", "not-above", "not-above", "not-above"]);
  });

  it("that falls back and rises above it once more is progress again", async () => {
    const saws = `${STEPS} [ "$STINT_ATTEMPT" = 2 ] && n=2
      for i in 1 2 3; do step; ((n >= MAX_ITER)) && exit 0; done; exit 99`;
    const project = await Project.make(saws, { total: 9 });
    await project.advance();
    const settled = await project.watchToEnd();
    expect(settled).toMatchObject({ verdict: "completed", carry: { inARow: 0, highWater: 9 } });
    // 3, then 2+3 = 5, then 8, then 9.
    const progress = (await project.attempts()).map((attempt) => attempt.settled?.evidence.progress);
    expect(progress.map((one) => (one !== undefined && "value" in one ? one.value : null))).toEqual([3, 5, 8, 9]);
  });
});

const budgets = {
  failures: 3,
  stalled: 2,
  preemptions: 100,
  infrastructure: 10,
  neverRan: 5,
  attempts: 1000,
  wallMs: 1e9,
};
