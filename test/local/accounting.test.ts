/** `accounting.json` of real local attempts: what their shepherds have written, gathered by the bodies above and by who looks. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { accountConflictsOf, attemptTable, gatherAccounting, gatherTask, type World } from "../../src/chain/index.ts";
import { attemptPlace, readAccounting } from "../../src/journal/index.ts";
import { COUNTER, eventually, Project, signal } from "./harness.ts";

const WINDOWS = { limitMs: 2_200, marginMs: 1_200 } as const;

function accountOf(project: Project, number: number) {
  return readAccounting(project.files, attemptPlace(project.task, number));
}

/** The world of a job with a scheduler that counts how often it is asked for accounts. */
async function counting(project: Project): Promise<{ readonly world: World; readonly asked: string[][] }> {
  const world = await project.world();
  const asked: string[][] = [];
  const account: World["scheduler"]["account"] = (refs, options) => {
    asked.push([...refs]);
    return world.scheduler.account(refs, options);
  };
  return { world: { ...world, scheduler: { ...world.scheduler, account } }, asked };
}

/** Null where one is not known. */
function sum(a: number | null | undefined, b: number | null | undefined): number | null {
  return typeof a === "number" && typeof b === "number" ? a + b : null;
}

it("is put on file by the bodies above, the rest by who looks, and equals the shepherd's record", async () => {
  const project = await Project.make(COUNTER, { total: 60, ...WINDOWS });
  await project.advance();
  await project.watchToEnd();
  await eventually("that nothing runs any more", () => project.processes().length === 0);
  const attempts = (await project.attempts()).filter(({ settled }) => settled !== null);
  const ran = attempts.filter(({ settled }) => settled?.verdict !== "never-ran");
  expect(ran.length).toBeGreaterThanOrEqual(4);

  // Nobody has asked from outside: a body has, in the middle of its window, for those below it.
  const byBodies = [];
  for (const { number } of attempts) if ((await accountOf(project, number)) !== null) byBodies.push(number);
  expect(byBodies).toContain(1);
  expect(byBodies).not.toContain(ran.at(-1)?.number);

  const settlements = () =>
    attempts.map(({ number }) => readFileSync(join(project.attemptFolder(number), "settled.json"), "utf8"));
  const before = settlements();
  const { world, asked } = await counting(project);
  const { gathered, missing } = await gatherTask(world, project.task);
  // A queued one that was taken back while its shepherd began has written nothing: there is no account of what never ran.
  const kept: typeof attempts = [];
  const unwritten: number[] = [];
  for (const attempt of attempts) {
    if ((await project.localRecord(attempt.number)) !== null) kept.push(attempt);
    else if (attempt.settled?.verdict === "never-ran") unwritten.push(attempt.number);
    else expect.fail(`attempt ${attempt.number} ran, and its shepherd has written nothing`);
  }
  const none = unwritten.map((attempt) => expect.objectContaining({ attempt, kind: "none" }));
  expect(missing).toEqual(none);
  expect([...byBodies, ...gathered].sort((a, b) => a - b)).toEqual(kept.map(({ number }) => number));
  expect(asked).toHaveLength(1);

  for (const { number, started, submitted } of kept) {
    const record = await project.localRecord(number);
    const accounting = await accountOf(project, number);
    expect(accounting).toMatchObject({ scheduler: "local", final: true });
    expect(accounting?.rows).toHaveLength(1);
    expect(accounting?.rows[0]).toMatchObject({
      ref: started?.ref ?? submitted?.ref,
      run: 0,
      state: record?.state,
      exitCode: record?.exitCode,
      signal: null,
      elapsedMs: record?.elapsedMs,
      startAtMs: record?.startedAtMs,
      endAtMs: record?.endedAtMs,
      cpuUserMs: record?.cpuUserMs,
      cpuSystemMs: record?.cpuSystemMs,
      cpuTotalMs: sum(record?.cpuUserMs, record?.cpuSystemMs),
      memoryPeakBytes: record?.memoryPeakBytes,
      memoryPeakIsLowerBound: record?.memoryPeakIsLowerBound,
    });
  }
  // What is on file is not asked for again, and no settlement has changed.
  expect(await gatherTask(world, project.task)).toEqual({ gathered: [], missing: none });
  expect(asked.slice(1).flat()).toHaveLength(unwritten.length);
  expect(settlements()).toEqual(before);

  const place = { stintFolder: project.job.stintFolder, folder: project.files, user: "tester" };
  expect(await accountConflictsOf(place, project.job)).toEqual([]);
  const [row] = await attemptTable(place, project.job);
  const first = await project.localRecord(1);
  expect(row?.accounting).toMatchObject({ runs: 1, state: "COMPLETED", elapsedMs: first?.elapsedMs, conflicts: [] });

  // A damaged one is as good as none. One that says otherwise is shown, and changes nothing.
  writeFileSync(join(project.attemptFolder(1), "accounting.json"), '{"version":1,');
  expect(await accountOf(project, 1)).toBeNull();
  expect(await gatherAccounting(place, project.job)).toEqual({ gathered: [1], missing: none });
  const path = join(project.attemptFolder(2), "accounting.json");
  writeFileSync(path, readFileSync(path, "utf8").replace('"COMPLETED"', '"TIMEOUT"'));
  expect(await accountConflictsOf(place, project.job)).toEqual([
    { attempt: 2, text: "accounting says TIMEOUT, the attempt was settled as checkpointed" },
  ]);
  expect(settlements()).toEqual(before);
});

it("never comes of an attempt whose shepherd died without a word, and keeps no other from coming", async () => {
  const project = await Project.make(COUNTER, { total: 60, ...WINDOWS });
  await project.advance();
  await project.untilSteps(3);
  for (const ref of [await project.shepherdOf(1), await project.runnerOf(1)]) signal(ref, "SIGKILL");
  await project.driveToEnd();
  await eventually("that nothing runs any more", () => project.processes().length === 0);
  const { missing } = await gatherTask(await project.world(), project.task);
  const ran = await thatRan(project);
  expect(missing.filter(({ attempt }) => ran.includes(attempt))).toEqual([
    { attempt: 1, kind: "none", why: "its shepherd died without a last word" },
  ]);
  expect(existsSync(join(project.attemptFolder(1), "accounting.json"))).toBe(false);
  for (const number of ran.slice(1)) expect(await accountOf(project, number)).not.toBeNull();
});

/** A successor that was taken back while its shepherd was still starting has no last word of it: a signal was quicker. */
async function thatRan(project: Project): Promise<readonly number[]> {
  return (await project.attempts()).filter(({ go }) => go?.what === "start").map(({ number }) => number);
}

it("is asked for below a number, of the newest, of what was settled lately, and by one question", async () => {
  const project = await Project.make(COUNTER, { total: 45, ...WINDOWS });
  await project.advance();
  await project.watchToEnd();
  await eventually("that nothing runs any more", () => project.processes().length === 0);
  const numbers = (await project.attempts()).map(({ number }) => number);
  for (const number of numbers) await project.files.remove(join(project.attemptFolder(number), "accounting.json"));
  const { world, asked } = await counting(project);
  expect(await gatherTask(world, project.task, { settledWithinMs: -1 })).toEqual({ gathered: [], missing: [] });
  expect(asked).toEqual([]);
  expect(await gatherTask(world, project.task, { below: 3, newest: 1 })).toEqual({ gathered: [2], missing: [] });
  expect(asked).toHaveLength(1);
  const { gathered } = await gatherTask(world, project.task);
  const ran = await thatRan(project);
  expect(gathered.filter((number) => ran.includes(number))).toEqual(ran.filter((number) => number !== 2));
  expect(asked.map((refs) => refs.length)).toEqual([1, numbers.length - 1]);
});
