import { mkdir, readdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type CheckpointSpec,
  claimOwner,
  ownerPlace,
  readOwner,
  releaseOwner,
  resolveCheckpoint,
  stillOwner,
} from "../../src/checkpoint/index.ts";
import { pooledFolder } from "../../src/host/index.ts";
import { scratchFolder } from "./run-program.ts";

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
let cwd: string;

const number = (path: string): CheckpointSpec => ({ path, progress: { kind: "number" } });
const files = (path: string, glob: string): CheckpointSpec => ({ path, progress: { kind: "files", glob } });
const task = (name: string) => ({
  jobUuid: name,
  jobFolder: `/jobs/${name}`,
  taskIndex: 0,
  taskId: `/me/${name}/0`,
  by: name,
});

beforeAll(async () => {
  scratch = await scratchFolder();
  cwd = join(scratch.path, "project");
  await mkdir(join(cwd, "real/deep"), { recursive: true });
  await writeFile(join(cwd, "real/state.txt"), "1\n");
  await symlink("real", join(cwd, "folder-link"));
  await symlink("real/state.txt", join(cwd, "file-link"));
  await symlink("file-link", join(cwd, "link-to-link"));
  await symlink("folder-link/not-yet.txt", join(cwd, "dangling"));
  await symlink("round-a", join(cwd, "round-b"));
  await symlink("round-b", join(cwd, "round-a"));
});

afterAll(() => scratch.remove());

describe("two names of one checkpoint", () => {
  const same = async (a: CheckpointSpec, b: CheckpointSpec, cwdOfB = cwd) =>
    isDeepStrictEqual(await resolveCheckpoint(a, cwd), await resolveCheckpoint(b, cwdOfB));

  it.each([
    ["real/state.txt"],
    ["./real/../real/state.txt"],
    ["folder-link/state.txt"],
    ["file-link"],
    ["link-to-link"],
  ])("%s is the checkpoint real/state.txt", async (name) => {
    expect(await same(number(name), number("real/state.txt"))).toBe(true);
  });

  it("an absolute path, and a relative one from another folder, are the same as well", async () => {
    expect(await same(number(join(cwd, "file-link")), number("state.txt"), join(cwd, "real"))).toBe(true);
  });

  it("what is not there yet has one place too, by a link that leads to it or through folders still to be made", async () => {
    expect(await same(number("dangling"), number("real/not-yet.txt"))).toBe(true);
    expect(await same(number("folder-link/new/a.txt"), number("real/new/a.txt"))).toBe(true);
    expect(await same(number("folder-link/new/a.txt"), number("real/new/b.txt"))).toBe(false);
  });

  it("links in a circle are a name like any other", async () => {
    expect(await same(number("round-a"), number("round-a"))).toBe(true);
    expect(await same(number("round-a"), number("real/state.txt"))).toBe(false);
  });

  it("files of one folder are one checkpoint, whatever their globs: two of them may mean the same file", async () => {
    expect(await same(files("real", "restart.*"), files("folder-link/", "restart.[0-9]"))).toBe(true);
    expect(await same(files("real", "*.1"), files("real", "*.2"))).toBe(true);
    expect(await same(files("real", "restart.*"), files(".", "restart.*"))).toBe(false);
    expect(await same(files("real", "restart.*"), number("real/restart.1"))).toBe(false);
  });
});

describe("the owner on real files", () => {
  it("lies beside the file that links lead to, and is found by every name", async () => {
    const project = join(cwd, ".stint");
    const by = async (path: string) => ownerPlace(await resolveCheckpoint(number(path), cwd), project);
    const folder = pooledFolder();
    expect(await claimOwner(folder, await by("link-to-link"), task("a"), async () => "alive")).toEqual({
      owned: true,
      number: 2,
      path: join(cwd, "real/.state.txt.stint-owner.2.json"),
    });
    for (const name of ["real/state.txt", "folder-link/state.txt", "file-link"]) {
      expect(await stillOwner(folder, await by(name), task("a"))).toBe(true);
      expect(await claimOwner(folder, await by(name), task("b"), async () => "alive")).toMatchObject({ owned: false });
    }
    // A project that was moved takes its records along.
    await rename(join(cwd, "real"), join(cwd, "moved"));
    expect(await stillOwner(folder, await by("moved/state.txt"), task("a"))).toBe(true);
    await rename(join(cwd, "moved"), join(cwd, "real"));
    expect(await releaseOwner(folder, await by("file-link"), task("a"))).toBe(true);
    expect(await readOwner(folder, await by("real/state.txt"))).toMatchObject({
      kind: "released",
      by: { taskId: "/me/a/0" },
    });
    expect((await readdir(join(cwd, "real"))).filter((name) => name.startsWith("."))).toEqual([
      ".state.txt.stint-owner.1.json",
      ".state.txt.stint-owner.2.json",
      ".state.txt.stint-owner.3.json",
    ]);
  });

  it("lies in the project until the checkpoint's folder is made, then moves beside it", async () => {
    const project = join(cwd, ".stint");
    const folder = pooledFolder();
    const place = ownerPlace(await resolveCheckpoint(number("later/state.txt"), cwd), project);
    const first = await claimOwner(folder, place, task("a"), async () => "alive");
    expect(first.owned && first.path.startsWith(join(project, "checkpoints"))).toBe(true);
    await mkdir(join(cwd, "later"));
    expect(await claimOwner(folder, place, task("b"), async () => "alive")).toMatchObject({ owned: false });
    expect(await claimOwner(folder, place, task("a"), async () => "alive")).toEqual({
      owned: true,
      number: 1,
      path: join(cwd, "later/.state.txt.stint-owner.1.json"),
    });
  });

  it("of files is one for the whole folder", async () => {
    const folder = pooledFolder();
    const by = async (glob: string) =>
      ownerPlace(await resolveCheckpoint(files("real/deep", glob), cwd), join(cwd, ".stint"));
    expect(await claimOwner(folder, await by("restart.*"), task("a"), async () => "alive")).toMatchObject({
      owned: true,
      path: join(cwd, "real/deep/.files.stint-owner.2.json"),
    });
    expect(await claimOwner(folder, await by("restart.?"), task("b"), async () => "alive")).toMatchObject({
      owned: false,
    });
    expect(await claimOwner(folder, await by("*"), task("b"), async () => "alive")).toMatchObject({
      owned: false,
    });
  });
});
