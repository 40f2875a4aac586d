import { chmod, link, mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type CheckpointSpec, type StorageFinding, spaceFor } from "../../src/checkpoint/index.ts";
import { bundleProgram, scratchFolder, startProgram } from "./run-program.ts";

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
let cwd: string;
let count = 0;

beforeAll(async () => {
  scratch = await scratchFolder();
});

beforeEach(async () => {
  cwd = join(scratch.path, String(++count));
  await mkdir(cwd);
});

afterAll(() => scratch.remove());

const number = (path: string): CheckpointSpec => ({ path, progress: { kind: "number" } });
const files = (path: string, glob: string): CheckpointSpec => ({ path, progress: { kind: "files", glob } });

it("a checkpoint that can be saved has no findings, whether it is there or not", async () => {
  expect(await spaceFor(number("state.txt"), cwd)).toEqual([]);
  await writeFile(join(cwd, "state.txt"), "1");
  expect(await spaceFor(number("state.txt"), cwd)).toEqual([]);
  await mkdir(join(cwd, "out"));
  expect(await spaceFor(files("out", "r.*"), cwd)).toEqual([]);
});

it("a missing folder is an error for a file, and only a warning where the application may make it", async () => {
  expect(await spaceFor(number("no/state.txt"), cwd)).toEqual([
    {
      kind: "folder-missing",
      severity: "error",
      text: `the checkpoint folder ${join(cwd, "no")} is not there; make it (mkdir -p) or correct checkpoint.path`,
    },
  ]);
  expect(await spaceFor(files("no", "r.*"), cwd)).toMatchObject([{ kind: "folder-missing", severity: "warning" }]);
});

it("a file where the folder should be, or a folder where the file should be, is an error", async () => {
  await writeFile(join(cwd, "file"), "1");
  await mkdir(join(cwd, "folder"));
  expect(await spaceFor(files("file", "r.*"), cwd)).toMatchObject([{ kind: "not-a-folder", severity: "error" }]);
  expect(await spaceFor(number("folder"), cwd)).toMatchObject([{ kind: "not-a-file", severity: "error" }]);
});

it("too little room for one more copy is an error with both sizes, also through a link", async () => {
  await writeFile(join(cwd, "state.bin"), "");
  // A sparse file: it takes no room, and one more of its size is more than a disk has.
  await truncate(join(cwd, "state.bin"), 2 ** 43);
  await symlink("state.bin", join(cwd, "link"));
  for (const checkpoint of [number("state.bin"), number("link"), files(".", "state.*")]) {
    const findings = await spaceFor(checkpoint, cwd);
    expect(findings).toMatchObject([{ kind: "no-space", severity: "error" }]);
    expect(findings[0]?.text).toMatch(/ has \S+ \S+ free, one more checkpoint needs 9\.6 TiB; free some space there$/);
  }
});

it("files that lie beside the folder that path names are pointed out", async () => {
  await mkdir(join(cwd, "state"));
  await writeFile(join(cwd, "restart.1"), "x");
  expect(await spaceFor(files("state", "restart.*"), cwd)).toMatchObject([
    { kind: "looks-elsewhere", severity: "warning", text: expect.stringContaining(join(cwd, "restart.1")) },
  ]);
});

it("a folder that cannot be written is an error, a file that cannot be read too", async () => {
  await writeFile(join(cwd, "state.txt"), "1", { mode: 0o000 });
  await mkdir(join(cwd, "closed"), { mode: 0o555 });
  const program = await bundleProgram(scratch.path);
  // Root may do everything; so the one who looks becomes nobody where it can.
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined;
  const look = async (path: string) =>
    (await startProgram(program, "space", { checkpoint: number(path), cwd }, user).answer) as readonly StorageFinding[];
  expect(await look("closed/state.txt")).toEqual([
    {
      kind: "not-writable",
      severity: "error",
      text: `the checkpoint folder ${join(cwd, "closed")} cannot be written: EACCES: permission denied, access`,
    },
  ]);
  await chmod(cwd, 0o777);
  expect(await look("state.txt")).toMatchObject([{ kind: "not-readable", severity: "error" }]);
  await chmod(join(cwd, "state.txt"), 0o444);
  expect(await look("state.txt")).toMatchObject([{ kind: "not-writable", severity: "warning" }]);
});

it("a checkpoint with a second hard link is an error: under its other name another job could have it", async () => {
  await writeFile(join(cwd, "state.txt"), "1");
  await link(join(cwd, "state.txt"), join(cwd, "other.txt"));
  expect(await spaceFor(number("state.txt"), cwd)).toMatchObject([{ kind: "hard-linked", severity: "error" }]);
});
