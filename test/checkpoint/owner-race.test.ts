import { mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bundleProgram, scratchFolder, startProgram } from "./run-program.ts";

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
let program: string;

beforeAll(async () => {
  scratch = await scratchFolder();
  program = await bundleProgram(scratch.path);
});

afterAll(() => scratch.remove());

function task(name: string) {
  return { jobUuid: name, jobFolder: `/jobs/${name}`, taskIndex: 0, taskId: `/me/${name}/0`, by: name };
}

async function projectWithLinks(name: string): Promise<string> {
  const cwd = join(scratch.path, name);
  await mkdir(join(cwd, "data"), { recursive: true });
  await symlink("data", join(cwd, "link"));
  await symlink(join("data", "state.txt"), join(cwd, "other-name"));
  return cwd;
}

async function race(call: string, given: readonly object[]): Promise<readonly unknown[]> {
  const racers = given.map((one) => startProgram(program, call, one));
  await Promise.all(racers.map((racer) => racer.ready));
  for (const racer of racers) racer.go();
  return Promise.all(racers.map((racer) => racer.answer));
}

it("of eight processes that reach one checkpoint by different names at once, one owns it and the others are told who", async () => {
  const cwd = await projectWithLinks("race");
  const names = ["data/state.txt", "link/state.txt", "other-name", join(cwd, "data/../link/./state.txt")];
  const answers = await race(
    "claim",
    Array.from({ length: 8 }, (_, i) => ({
      checkpoint: { path: names[i % names.length], progress: { kind: "number" } },
      cwd,
      // Different projects: only what lies beside the checkpoint is common to them.
      project: join(cwd, `.stint-${i}`),
      me: task(`t${i}`),
      judgement: "alive",
    })),
  );
  const owners = answers.filter((answer) => (answer as { owned: boolean }).owned);
  expect(owners).toHaveLength(1);
  const records = (await readdir(join(cwd, "data"))).filter((name) => name.includes("stint-owner"));
  expect(records.sort()).toEqual([".state.txt.stint-owner.1.json", ".state.txt.stint-owner.2.json"]);
  const owner = JSON.parse(await readFile(join(cwd, "data", ".state.txt.stint-owner.2.json"), "utf8"));
  for (const answer of answers)
    if (!(answer as { owned: boolean }).owned) expect(answer).toMatchObject({ by: { taskId: owner.taskId } });
});

it("processes that take a finished owner's checkpoint over at once leave one owner", async () => {
  const cwd = await projectWithLinks("takeover");
  const given = (name: string, judgement: string) => ({
    checkpoint: { path: "link/state.txt", progress: { kind: "number" } },
    cwd,
    project: join(cwd, ".stint"),
    me: task(name),
    judgement,
  });
  expect(await race("claim", [given("old", "alive")])).toMatchObject([{ owned: true, number: 2 }]);
  // To each of them the old owner is over, and so is whoever else came first: all may win, but only one after another.
  const answers = await race(
    "claim",
    ["a", "b", "c", "d"].map((name) => given(name, "over")),
  );
  const numbers = answers.flatMap((answer) =>
    (answer as { owned: boolean }).owned ? [(answer as { number: number }).number] : [],
  );
  expect(numbers.length).toBeGreaterThan(0);
  expect(new Set(numbers).size).toBe(numbers.length);
});

it("three processes that pass one checkpoint on again and again never own it together", async () => {
  const cwd = await projectWithLinks("mutex");
  const log = join(cwd, "log");
  const names = ["data/state.txt", "link/state.txt", "other-name"];
  await race(
    "pass-on",
    names.map((path, i) => ({
      checkpoint: { path, progress: { kind: "number" } },
      cwd,
      project: join(cwd, ".stint"),
      me: task(`t${i}`),
      rounds: 8,
      log,
    })),
  );
  const lines = (await readFile(log, "utf8")).trimEnd().split("\n");
  expect(lines).toHaveLength(48);
  for (let i = 0; i < lines.length; i += 2) {
    expect(lines[i]).toMatch(/ in$/);
    expect(lines[i + 1]).toBe(lines[i]?.replace(/ in$/, " out"));
  }
});
