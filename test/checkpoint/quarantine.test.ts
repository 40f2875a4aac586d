import { spawnSync } from "node:child_process";
import { access, chmod, mkdir, readdir, readFile, rename, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  type CheckpointSpec,
  makeQuarantine,
  moveAside,
  planQuarantine,
  type QuarantinePlan,
} from "../../src/checkpoint/index.ts";
import type { QuarantineMove } from "../../src/core/index.ts";
import { bundleProgram, scratchFolder, startProgram } from "./run-program.ts";

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
let folder = "";
let count = 0;

const number = (path: string): CheckpointSpec => ({ path, progress: { kind: "number" } });
const files = (path: string, glob: string): CheckpointSpec => ({ path, progress: { kind: "files", glob } });

const DONE = { kind: "done" };
const move = (moves: readonly QuarantineMove[]) => moveAside(moves, async () => true);

beforeAll(async () => {
  scratch = await scratchFolder();
});
beforeEach(async () => {
  folder = join(scratch.path, `case-${++count}`);
  await mkdir(folder);
});
afterAll(() => scratch.remove());

/** Writes files, each a minute after the one before. */
async function write(...names: readonly string[]): Promise<void> {
  for (const [index, name] of names.entries()) {
    await writeFile(join(folder, name), `content of ${name}\n`);
    await utimes(join(folder, name), 1_000_000 + index * 60, 1_000_000 + index * 60);
  }
}

async function planned(checkpoint: CheckpointSpec, attempt = 3): Promise<Extract<QuarantinePlan, { kind: "plan" }>> {
  const plan = await planQuarantine(checkpoint, folder, attempt);
  if (plan.kind === "nothing") throw new Error(plan.why);
  return plan;
}

async function carryOut(checkpoint: CheckpointSpec, attempt = 3) {
  const plan = await planned(checkpoint, attempt);
  expect(await makeQuarantine(plan.folder)).toBeNull();
  expect(await move(plan.moves)).toEqual(DONE);
  return plan;
}

test("a single checkpoint is moved into a hidden folder beside it, whole, and one mv brings it back", async () => {
  await write("state.txt", "other.txt");
  const { moves, notes } = await carryOut(number("state.txt"));
  expect(moves).toMatchObject([
    { from: join(folder, "state.txt"), to: join(folder, ".state.txt.stint-quarantine/0003-state.txt") },
  ]);
  expect(notes).toEqual([]);
  expect((await readdir(folder)).sort()).toEqual([".state.txt.stint-quarantine", "other.txt"]);
  const [moved] = moves;
  expect(await readFile(moved?.to ?? "", "utf8")).toBe("content of state.txt\n");
  await rename(moved?.to ?? "", moved?.from ?? "");
  expect(await readFile(join(folder, "state.txt"), "utf8")).toBe("content of state.txt\n");
});

test("a second call finds it done, and what the application has written since stays where it is", async () => {
  await write("state.txt");
  const { moves } = await carryOut(number("state.txt"));
  expect(await move(moves)).toEqual(DONE);
  await writeFile(join(folder, "state.txt"), "new\n");
  expect(await move(moves)).toEqual(DONE);
  expect(await readFile(join(folder, "state.txt"), "utf8")).toBe("new\n");
  expect(await readFile(moves[0]?.to ?? "", "utf8")).toBe("content of state.txt\n");
});

test("whoever died between two moves is gone on from", async () => {
  await write("c-8-a", "c-8-b", "c-9-a", "c-9-b");
  const plan = await planned(files(".", "c-*"));
  expect(plan.moves.map(({ from }) => from)).toEqual([join(folder, "c-9-a"), join(folder, "c-9-b")]);
  expect(await makeQuarantine(plan.folder)).toBeNull();
  expect(await move(plan.moves.slice(0, 1))).toEqual(DONE);
  expect(await makeQuarantine(plan.folder)).toBeNull();
  expect(await move(plan.moves)).toEqual(DONE);
  expect((await readdir(folder)).sort()).toEqual([".files.stint-quarantine", "c-8-a", "c-8-b"]);
  expect((await readdir(plan.folder)).sort()).toEqual(["0003-c-9-a", "0003-c-9-b"]);
});

test("what a person has moved meanwhile is out of the way, too", async () => {
  await write("state.txt");
  const plan = await planned(number("state.txt"));
  expect(await makeQuarantine(plan.folder)).toBeNull();
  await rename(join(folder, "state.txt"), join(folder, "my-own-place"));
  expect(await move(plan.moves)).toEqual(DONE);
  expect(await readdir(plan.folder)).toEqual([]);
});

test("the same name twice is never moved upon", async () => {
  await write("state.txt");
  await carryOut(number("state.txt"));
  await writeFile(join(folder, "state.txt"), "second\n");
  const { moves } = await carryOut(number("state.txt"));
  expect(moves[0]?.to).toMatch(/0003-state\.txt\.2$/);
  const inside = join(folder, ".state.txt.stint-quarantine");
  expect(await readFile(join(inside, "0003-state.txt"), "utf8")).toBe("content of state.txt\n");
  expect(await readFile(join(inside, "0003-state.txt.2"), "utf8")).toBe("second\n");
});

test("of files only the newest generation goes, a folder as a whole, by what was written in it last", async () => {
  for (const step of ["step-1", "step-2"]) await mkdir(join(folder, step));
  await write("step-1/model", "step-2/model");
  // The folders' own times say the opposite.
  await utimes(join(folder, "step-2"), 1, 1);
  await utimes(join(folder, "step-1"), 2, 2);
  await carryOut(files(".", "step-*"));
  expect((await readdir(folder)).sort()).toEqual([".files.stint-quarantine", "step-1"]);
  expect(await readdir(join(folder, ".files.stint-quarantine/0003-step-2"))).toEqual(["model"]);
});

test("the file that links lead to is moved, not the link, and that is said", async () => {
  await mkdir(join(folder, "big"));
  await write("big/state.txt");
  await symlink("big/state.txt", join(folder, "state.txt"));
  const { moves, notes } = await carryOut(number("state.txt"));
  expect(moves[0]?.from).toBe(join(folder, "big/state.txt"));
  expect(notes).toEqual([expect.stringContaining("state.txt stays, and leads to nothing until it is written anew")]);
  await write("step-1", "step-2");
  await symlink("step-2", join(folder, "step-latest"));
  const some = await carryOut(files(".", "step-*"));
  expect(some.moves.map(({ from }) => from)).toEqual([join(folder, "step-2")]);
  expect(some.notes).toEqual([
    `the link ${join(folder, "step-latest")} stays, and leads to step-2, which is not there any more`,
  ]);
});

test("what cannot be moved is said in one line, before anything is", async () => {
  await write("plain", "a.bin", "b.bin");
  spawnSync("mkfifo", [join(folder, "pipe")]);
  await symlink("round-b", join(folder, "round-a"));
  await symlink("round-a", join(folder, "round-b"));
  const cases: readonly (readonly [CheckpointSpec, string])[] = [
    [number("gone.txt"), "there is no checkpoint at"],
    [number("plain/x"), "there is no checkpoint at"],
    [number("pipe"), "neither a file nor a folder"],
    [number("round-a"), "round in a circle"],
    [files("nowhere", "*"), "is not there"],
    [files("plain", "*"), "is not a folder"],
    [files(".", "restart.*"), 'matches "restart.*"'],
    [files(".", "*.bin"), "cannot be told: no number in their names"],
  ];
  for (const [checkpoint, why] of cases) {
    const plan = await planQuarantine(checkpoint, folder, 1);
    expect(plan.kind === "nothing" ? plan.why : plan, checkpoint.path).toContain(why);
    expect(plan.kind === "nothing" && plan.why.includes("\n")).toBe(false);
  }
  await write("state.txt");
  await writeFile(join(folder, ".state.txt.stint-quarantine"), "mine\n");
  const { folder: taken } = await planned(number("plain"));
  expect(taken).toMatch(/\.plain\.stint-quarantine$/);
  expect(await makeQuarantine(join(folder, ".state.txt.stint-quarantine"))).toContain("is in the way");
});

test("a checkpoint that cannot be read can still be moved; a folder that cannot be written is named", async (context) => {
  if (process.getuid?.() !== 0) context.skip("only root can run a process as another user");
  const program = await bundleProgram(scratch.path);
  const ask = (call: string, given: object): Promise<unknown> =>
    startProgram(program, call, given, { uid: 65_534, gid: 65_534 }).answer;
  const asked = { checkpoint: number("state.txt"), cwd: folder, attempt: 3 };
  await write("state.txt");
  await chmod(join(folder, "state.txt"), 0o000);
  const plan = await planned(number("state.txt"));
  expect(await ask("plan", asked)).toEqual(plan);
  expect(await ask("make", plan)).toMatch(/its folder may not be written \(EACCES.*make it writable/);
  await chmod(folder, 0o777);
  expect(await ask("make", plan)).toBeNull();
  expect(await ask("move", plan)).toEqual(DONE);
  await expect(access(join(folder, "state.txt"))).rejects.toThrow("ENOENT");
  await chmod(folder, 0o700);
  expect(await ask("plan", asked)).toMatchObject({
    kind: "nothing",
    why: expect.stringContaining("EACCES"),
  });
});

test("a folder without room for one more name, or on a read-only disk, is named before anything is moved", async (context) => {
  if (process.getuid?.() !== 0) context.skip("mounting a file system takes root");
  const mount = (...args: readonly string[]) => spawnSync("mount", [...args, folder]).status;
  if (mount("-t", "tmpfs", "-o", "size=64k,nr_inodes=8", "stint-test") !== 0)
    context.skip("a file system cannot be mounted here");
  try {
    await write("state.txt");
    const plan = await planned(number("state.txt"));
    for (let files = 0, full = false; !full && files < 20; files++)
      full = (await writeFile(join(folder, `filler-${files}`), "").catch(() => "full")) === "full";
    expect(await makeQuarantine(plan.folder)).toMatch(/no room for one more name \(ENOSPC.*free some, then try again$/);
    expect(mount("-o", "remount,ro")).toBe(0);
    expect(await makeQuarantine(plan.folder)).toMatch(/may not be written \(EROFS.*make it writable, then try again$/);
    expect(await move(plan.moves)).toMatchObject({
      kind: "failed",
      why: expect.stringMatching(/cannot be set aside .*\(EROFS|cannot be set aside .*ENOENT/),
    });
    expect(await readFile(join(folder, "state.txt"), "utf8")).toBe("content of state.txt\n");
  } finally {
    spawnSync("umount", [folder]);
  }
});
