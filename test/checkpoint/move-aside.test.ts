/** Two that make the same moves at once, one that dies or stands still between two steps, and names that are taken. */
import fs from "node:fs";
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import {
  type CheckpointSpec,
  makeQuarantine,
  moveAside,
  movedAlready,
  planQuarantine,
} from "../../src/checkpoint/index.ts";
import { scratchFolder } from "./run-program.ts";

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
let folder = "";
let count = 0;
const real = { ...fs.promises };

beforeAll(async () => {
  scratch = await scratchFolder();
});
beforeEach(async () => {
  folder = join(scratch.path, `case-${++count}`);
  await mkdir(folder);
});
afterEach(() => {
  Object.assign(fs.promises, real);
  syncBuiltinESMExports();
});
afterAll(() => scratch.remove());

const always = async () => true;
const path = (...names: readonly string[]) => join(folder, ...names);
const text = (...names: readonly string[]) => readFile(path(...names), "utf8");
const quarantined = async () => (await readdir(path(".s.stint-quarantine"))).sort();

/** Something else happens in the middle of the first such call: `before` stands still in front of it. */
function atFirst(call: "rename" | "link", happens: () => Promise<void>): void {
  let first = true;
  const wrapped = async (from: string, to: string): Promise<void> => {
    if (first) {
      first = false;
      await happens();
    }
    return real[call](from, to);
  };
  Object.assign(fs.promises, { [call]: wrapped });
  syncBuiltinESMExports();
}

async function planned(checkpoint: CheckpointSpec = { path: "s", progress: { kind: "number" } }) {
  const plan = await planQuarantine(checkpoint, folder, 4);
  if (plan.kind === "nothing") throw new Error(plan.why);
  expect(await makeQuarantine(plan.folder)).toBeNull();
  return plan.moves;
}

test("who stands still in front of the move while another one makes it takes nothing of what was saved since", async () => {
  await writeFile(path("s"), "bad checkpoint\n");
  const moves = await planned();
  atFirst("rename", async () => {
    expect(await moveAside(moves, always)).toEqual({ kind: "done" });
    await writeFile(path("s"), "ten hours of work\n");
  });
  expect(await moveAside(moves, always)).toEqual({ kind: "changed", why: expect.stringContaining("it stays") });
  expect(await text("s")).toBe("ten hours of work\n");
  expect(await quarantined()).toEqual(["0004-s"]);
  expect(await text(".s.stint-quarantine", "0004-s")).toBe("bad checkpoint\n");
});

test("and so for a folder", async () => {
  await mkdir(path("s"));
  await writeFile(path("s", "state"), "bad\n");
  const moves = await planned();
  atFirst("rename", async () => {
    expect(await moveAside(moves, always)).toEqual({ kind: "done" });
    await mkdir(path("s"));
    await writeFile(path("s", "state"), "new\n");
  });
  expect(await moveAside(moves, always)).toMatchObject({ kind: "changed" });
  expect(await text("s", "state")).toBe("new\n");
  expect(await text(".s.stint-quarantine", "0004-s", "state")).toBe("bad\n");
  expect(await quarantined()).toEqual(["0004-s"]);
});

test("a checkpoint that was undone and written over in place is another one, though it is the same inode", async () => {
  await writeFile(path("s"), "bad\n");
  const moves = await planned();
  atFirst("rename", async () => {
    expect(await moveAside(moves, always)).toEqual({ kind: "done" });
    await real.rename(moves[0]?.to ?? "", path("s"));
    await writeFile(path("s"), "new, in place\n");
  });
  expect(await moveAside(moves, always)).toMatchObject({ kind: "changed" });
  expect(await text("s")).toBe("new, in place\n");
  expect(await quarantined()).toEqual([]);
});

test("of two that are saved one after the other in that very moment none is lost", async () => {
  await writeFile(path("s"), "bad\n");
  const moves = await planned();
  atFirst("rename", async () => {
    await rm(path("s"));
    await writeFile(path("s"), "first\n");
    atFirst("link", () => writeFile(path("s"), "second\n"));
  });
  const answer = await moveAside(moves, always);
  expect(answer).toEqual({ kind: "changed", why: expect.stringMatching(/twice: .* is kept as .*0004-s\.taken-/) });
  expect(await text("s")).toBe("second\n");
  const [kept = ""] = await quarantined();
  expect(await text(".s.stint-quarantine", kept)).toBe("first\n");
});

test("a name that somebody takes in between is not moved upon, and the checkpoint is back where it was", async () => {
  await writeFile(path("s"), "bad\n");
  const moves = await planned();
  atFirst("link", () => writeFile(moves[0]?.to ?? "", "of somebody else\n"));
  expect(await moveAside(moves, always)).toEqual({ kind: "changed", why: expect.stringContaining("is another file") });
  expect(await text("s")).toBe("bad\n");
  expect(await text(".s.stint-quarantine", "0004-s")).toBe("of somebody else\n");
  expect(await movedAlready(moves)).toEqual([]);
});

test("without hard links a look and a rename do it, and still nothing is overwritten", async () => {
  const refuse = async () => Promise.reject(Object.assign(new Error("EPERM"), { code: "EPERM" }));
  Object.assign(fs.promises, { link: refuse });
  syncBuiltinESMExports();
  await writeFile(path("s"), "bad\n");
  const moves = await planned();
  expect(await moveAside(moves, always)).toEqual({ kind: "done" });
  expect(await quarantined()).toEqual(["0004-s"]);
  await writeFile(path("s"), "second\n");
  const again = await planned();
  await writeFile(again[0]?.to ?? "", "of somebody else\n");
  expect(await moveAside(again, always)).toMatchObject({ kind: "changed" });
  expect(await text("s")).toBe("second\n");
});

test("only that very file is moved: one that was changed or put there since stays", async () => {
  await writeFile(path("s"), "bad\n");
  const moves = await planned();
  await chmod(path("s"), 0o600);
  expect(await moveAside(moves, always)).toMatchObject({ kind: "changed", why: expect.stringContaining("changed") });
  await rm(path("s"));
  await symlink("elsewhere", path("s"));
  expect(await moveAside(moves, always)).toMatchObject({ kind: "changed" });
  expect(await quarantined()).toEqual([]);
  expect(await readdir(folder)).toContain("s");
});

test("what one that died has taken is given its name by the next, and another's is given back", async () => {
  await writeFile(path("s"), "bad\n");
  const moves = await planned();
  const [move] = moves;
  await rename(path("s"), `${move?.to}.taken-00`);
  expect(await movedAlready(moves)).toEqual(moves);
  expect(await moveAside(moves, always)).toEqual({ kind: "done" });
  expect(await quarantined()).toEqual(["0004-s"]);
  await writeFile(`${move?.to}.taken-01`, "new\n");
  expect(await moveAside(moves, always)).toEqual({ kind: "done" });
  expect(await text("s")).toBe("new\n");
  expect(await quarantined()).toEqual(["0004-s"]);
});

test("it is asked before each move whether it may go on", async () => {
  for (const name of ["c-8-a", "c-8-b", "c-9-a", "c-9-b"]) {
    await writeFile(path(name), `${name}\n`);
    const at = name.startsWith("c-8") ? 1_000 : 2_000;
    await real.utimes(path(name), at, at);
  }
  const moves = await planned({ path: ".", progress: { kind: "files", glob: "c-*" } });
  let asked = 0;
  expect(await moveAside(moves, async () => ++asked < 2)).toEqual({ kind: "ended" });
  expect((await readdir(folder)).filter((name) => name.startsWith("c-")).sort()).toEqual(["c-8-a", "c-8-b", "c-9-b"]);
});
