/** Ids and records as odd as Iris lets them be, on both eras of its servers. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openIrisSource, UsageError, usage } from "../../src/usage/index.ts";
import type { Era } from "./double/rows.ts";
import { type Double, startDouble } from "./double/start-double.ts";
import {
  ODD_CAUSES_SEC,
  ODD_MISSING_SEC,
  ODD_ROOT,
  ODD_ROWS,
  ODD_SAMPLES_SEC,
  ODD_TASKS_SEC,
} from "./golden/odd-tree.ts";

describe.each<Era>(["may-2026", "newer"])("odd ids and records on a server of the era %s", (era) => {
  let double: Double;

  beforeAll(async () => {
    double = await startDouble({ era });
    await double.insert(ODD_ROWS);
  });
  afterAll(() => double.close());

  const ask = (job: string, more: object = {}) => usage({ source: openIrisSource({ url: double.url }), job, ...more });
  const seconds = (ms: bigint): number => Number(ms) / 1000;

  it("are told apart, and every second is explained", async () => {
    const { tree, ledgers } = await ask(ODD_ROOT);
    expect(tree.leaves).toEqual(
      ["7", "create-index;drop", "gone/orphan", "it's", "odd"].map((name) => `${ODD_ROOT}/${name}`),
    );
    expect(tree.inner).toEqual([ODD_ROOT]);
    expect(tree.holders).toEqual([`${ODD_ROOT}/:reservation:`]);
    expect(tree.cutOff).toEqual([`${ODD_ROOT}/gone/orphan`]);
    expect(seconds(ledgers.tasks.wallMs)).toBe(ODD_TASKS_SEC);
    expect(seconds(ledgers.samples.wallMs)).toBe(ODD_SAMPLES_SEC);
    const { causes, missing, residualMs, unexplainedMs } = ledgers.explanation;
    const named = (terms: typeof causes) =>
      Object.fromEntries(terms.flatMap(({ id, ms }) => (ms === 0n ? [] : [[id, seconds(ms)]])));
    expect(named(causes)).toEqual(ODD_CAUSES_SEC);
    expect(named(missing)).toEqual(ODD_MISSING_SEC);
    expect(seconds(residualMs)).toBe(150);
    expect(unexplainedMs).toBe(0n);
    // The root's own task, and samples of a job that no table knows.
    expect(ledgers.leftOut.innerJobs).toMatchObject({ tasks: 1, attempts: 1, tasksMs: 500_000n, samplesMs: 450_000n });
    expect(ledgers.leftOut.unknownJobs).toMatchObject({ tasks: 1, attempts: 1, samplesMs: 77_000n });
    expect(ledgers.samples).toMatchObject({ oneSample: 1, noSamples: 1 });
  });

  it("with the tasks of inner jobs, and those that failed", async () => {
    const { ledgers } = await ask(ODD_ROOT, { innerJobs: true, includeFailed: true });
    expect(seconds(ledgers.tasks.wallMs)).toBe(ODD_TASKS_SEC + 500 + 50);
    expect(seconds(ledgers.samples.wallMs)).toBe(ODD_SAMPLES_SEC + 450);
    expect(ledgers.explanation.unexplainedMs).toBe(0n);
  });

  it("a root that is a leaf, a job without tasks, and one that is not there", async () => {
    expect(seconds((await ask(`${ODD_ROOT}/it's`)).ledgers.tasks.wallMs)).toBe(100);
    const { tree, ledgers } = await ask(`${ODD_ROOT}2`);
    expect(tree.leaves).toEqual([`${ODD_ROOT}2/a`]);
    expect(seconds(ledgers.tasks.wallMs)).toBe(40_000);
    await expect(ask(`${ODD_ROOT}/gone`)).resolves.toMatchObject({ tree: { leaves: [`${ODD_ROOT}/gone/orphan`] } });
    await expect(ask("/an_n/nobody")).rejects.toThrow(UsageError);
  });

  it("as of an earlier moment nothing later counts", async () => {
    const { ledgers } = await ask(ODD_ROOT, { asOfMs: Date.parse("2026-06-01T00:02:30Z") });
    // it's alone has ended by then, at 100; the others are in flight, with what was sampled up to 150.
    expect(seconds(ledgers.tasks.wallMs)).toBe(100);
    expect(ledgers.explanation.unexplainedMs).toBe(0n);
    const inFlight = ledgers.explanation.causes.find(({ id }) => id === "in-flight");
    expect(inFlight?.from.map(({ taskId, ms }) => [taskId.slice(ODD_ROOT.length), ms / 1000])).toEqual([
      ["/7/0", 0],
      ["/create-index;drop/0", 0],
      ["/gone/orphan/0", 0],
      ["/odd/4", -145],
    ]);
  });

  it("integrals beside the plain mean", async () => {
    const { cpu } = await ask(`${ODD_ROOT}/it's`, { integral: true });
    expect(cpu).toMatchObject({ holes: 0, longestIntervalMs: 49_000 });
    expect(cpu?.figures.map(({ by, cpuMs }) => [by, Math.round(cpuMs)])).toEqual([
      ["mean-span", 97_000],
      ["weighted", 97_000],
    ]);
  });
});
