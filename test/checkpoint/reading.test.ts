import { execFile } from "node:child_process";
import { mkdir, rename, rm, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type CheckpointSpec, type GenerationMemory, readCheckpoint } from "../../src/checkpoint/index.ts";
import { type ProgressRule, progressOf, type Reading } from "../../src/core/index.ts";
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

const NUMBER: CheckpointSpec = { path: "state.txt", progress: { kind: "number" } };
const save = (content: string | Buffer, name = "state.txt") => writeFile(join(cwd, name), content);

async function read(progress: ProgressRule, path = "state.txt"): Promise<Reading> {
  return (await readCheckpoint({ path, progress }, cwd)).reading;
}

async function whyInvalid(progress: ProgressRule, path?: string): Promise<string> {
  const reading = await read(progress, path);
  expect(reading.kind).toBe("invalid");
  return reading.kind === "invalid" ? reading.why : "";
}

describe("a checkpoint of one number", () => {
  it("is not configured, absent or a value: three answers", async () => {
    expect((await readCheckpoint(null, cwd)).reading).toEqual({ kind: "not-configured" });
    expect(await read(NUMBER.progress)).toEqual({ kind: "absent" });
    expect(await read(NUMBER.progress, "no-folder/state.txt")).toEqual({ kind: "absent" });
    await save("12\n");
    expect(await read(NUMBER.progress)).toEqual({ kind: "value", value: 12 });
    expect(await read(NUMBER.progress, join(cwd, "state.txt"))).toEqual({ kind: "value", value: 12 });
  });

  it("is read through a link, and a link that leads nowhere is absent", async () => {
    await symlink("state.txt", join(cwd, "link"));
    expect(await read(NUMBER.progress, "link")).toEqual({ kind: "absent" });
    await save("7");
    expect(await read(NUMBER.progress, "link")).toEqual({ kind: "value", value: 7 });
  });

  // T10, T11 and T12 of the failure stories, from the file to the judgement.
  it.each([
    ["wordy", "iter=12 of 500", "invalid"],
    ["zero-padded", "0000099", "above"],
    ["empty", "", "invalid"],
    ["blank", "\n\n", "invalid"],
    ["filled with NUL by a crash", Buffer.alloc(4096), "invalid"],
    ["binary", Buffer.from([0x80, 0x02, 0xff, 0x31]), "invalid"],
  ])("that is %s is judged by what it says and never as 0", async (_, content, state) => {
    await save(content);
    expect(progressOf(await read(NUMBER.progress), 98).state).toBe(state);
  });

  it("that saws counts as progress only above its highest tooth", async () => {
    const states: string[] = [];
    let highWater: number | null = null;
    for (const tooth of [1, 2, 1, 2, 2, 3, 0, 3, 4]) {
      await save(String(tooth));
      const progress = progressOf(await read(NUMBER.progress), highWater);
      states.push(progress.state);
      if (progress.state === "above") highWater = progress.value;
    }
    expect(states.map((state) => (state === "above" ? "+" : "-")).join("")).toBe("++---+--+");
  });

  it("that is large is refused without being read, with the sizes", async () => {
    await save("1");
    await truncate(join(cwd, "state.txt"), 2 ** 40);
    expect(await whyInvalid(NUMBER.progress)).toBe(
      "the file has 1 TiB, one number at most 64 KiB; use progress: {pattern: …} or {files: …}",
    );
  });

  it("that is a folder, a pipe, or below a file is invalid, and a pipe does not block", async () => {
    await mkdir(join(cwd, "state.txt"));
    expect(await whyInvalid(NUMBER.progress)).toContain("it is a folder");
    await promisify(execFile)("mkfifo", [join(cwd, "pipe")]);
    expect(await whyInvalid(NUMBER.progress, "pipe")).toContain("not a regular file");
    await save("1", "file");
    expect(await whyInvalid(NUMBER.progress, "file/state.txt")).toContain("ENOTDIR: not a directory");
    await symlink("circle", join(cwd, "circle"));
    expect(await whyInvalid(NUMBER.progress, "circle")).toContain("ELOOP");
  });

  it("without permission is invalid in the system's words, never absent", async () => {
    await writeFile(join(cwd, "state.txt"), "5", { mode: 0o000 });
    // Root may read everything; so the reader becomes nobody where it can.
    const root = process.getuid?.() === 0;
    const program = await bundleProgram(scratch.path);
    const reader = startProgram(
      program,
      "read",
      { checkpoint: NUMBER, cwd },
      root ? { uid: 65534, gid: 65534 } : undefined,
    );
    expect(await reader.answer).toEqual({ kind: "invalid", why: "cannot be read: EACCES: permission denied, open" });
  });

  it("that is being replaced all the time is always a whole number", async () => {
    let running = true;
    let highest = 1;
    await save("1");
    const writer = (async () => {
      for (let step = 1; running; highest = step++) {
        await save(`${step}\n`, "state.tmp");
        await rename(join(cwd, "state.tmp"), join(cwd, "state.txt"));
      }
    })();
    for (let reads = 0; reads < 200; reads++) {
      const reading = await read(NUMBER.progress);
      expect(reading.kind).toBe("value");
    }
    running = false;
    await writer;
    expect(await read(NUMBER.progress)).toEqual({ kind: "value", value: highest });
  });
});

describe("a checkpoint of JSON", () => {
  it("gives the number at its path; torn or without the key it is invalid", async () => {
    await save('{"run": {"step": 40}}');
    expect(await read({ kind: "json", path: ".run.step" })).toEqual({ kind: "value", value: 40 });
    expect(await whyInvalid({ kind: "json", path: ".run.iter" })).toBe(".run.iter is not in the file");
    await save('{"run": {"step": 4');
    expect(await whyInvalid({ kind: "json", path: ".run.step" })).toContain("not whole JSON");
    await save("");
    expect(await whyInvalid({ kind: "json", path: ".run.step" })).toContain("empty");
  });
});

describe("a checkpoint read by a pattern", () => {
  const progress: ProgressRule = { kind: "pattern", pattern: "step (\\d+)" };

  it("gives the last match of a long log, also far above its end, and says how much was read", async () => {
    await save(`${"step 1\n".repeat(1000)}step 77\n${"noise of the solver\n".repeat(10_000)}`);
    expect(await read(progress)).toEqual({ kind: "value", value: 77 });
    await save(`step 77\n${"noise of the solver\n".repeat(250_000)}`);
    expect(await whyInvalid(progress)).toMatch(/^no match of "step \(\\\\d\+\)".*\(only its last 4 MiB are read\)$/);
  });

  it("costs little on 4 MiB of matches", async () => {
    await save("step 123456\n".repeat(400_000));
    const began = performance.now();
    expect(await read(progress)).toEqual({ kind: "value", value: 123456 });
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});

describe("opaque checkpoint files", () => {
  const checkpoint: CheckpointSpec = { path: ".", progress: { kind: "files", glob: "restart.*" } };
  let memory: GenerationMemory | null;

  beforeEach(() => {
    memory = null;
  });

  async function look(spec = checkpoint): Promise<Reading> {
    const answer = await readCheckpoint(spec, cwd, memory);
    memory = answer.memory;
    return answer.reading;
  }

  it("count one generation more for a new file, another size, other content, a removed file, and for nothing else", async () => {
    expect(await look()).toEqual({ kind: "absent" });
    await save("aaaa", "restart.1");
    expect(await look()).toEqual({ kind: "value", value: 1 });
    expect(await look()).toEqual({ kind: "value", value: 1 });
    await utimes(join(cwd, "restart.1"), 1, 1);
    expect(await look(), "a new time alone").toEqual({ kind: "value", value: 1 });
    await save("aaaa", "restart.1");
    expect(await look(), "the same content written again").toEqual({ kind: "value", value: 1 });
    await save("aaab", "restart.1");
    expect(await look(), "other content of the same size").toEqual({ kind: "value", value: 2 });
    await save("bbbb", "restart.2");
    expect(await look(), "a new file").toEqual({ kind: "value", value: 3 });
    await rm(join(cwd, "restart.1"));
    expect(await look(), "a removed file").toEqual({ kind: "value", value: 4 });
    await rename(join(cwd, "restart.2"), join(cwd, "restart.3"));
    expect(await look(), "another name").toEqual({ kind: "value", value: 5 });
  });

  it("do not count while they are hidden or unfinished", async () => {
    for (const name of [".restart.1", "restart.1.tmp", "restart.1~"]) await save("x", name);
    expect(await look()).toEqual({ kind: "absent" });
  });

  it("that are all empty are invalid, and what was counted stays", async () => {
    await save("x", "restart.1");
    await look();
    await save("", "restart.1");
    expect(await look()).toMatchObject({ kind: "invalid", why: expect.stringContaining("are empty") });
    expect(memory?.count).toBe(1);
    await save("x", "restart.1");
    expect(await look()).toEqual({ kind: "value", value: 1 });
  });

  it("that vanish are absent, and the count goes on from where it was", async () => {
    await save("x", "restart.1");
    await look();
    await rm(join(cwd, "restart.1"));
    expect(await look()).toEqual({ kind: "absent" });
    await save("y", "restart.1");
    expect(await look()).toEqual({ kind: "value", value: 2 });
  });

  it("that are folders count with the files in them; links in circles do no harm", async () => {
    const folders: CheckpointSpec = { path: ".", progress: { kind: "files", glob: "step-*" } };
    await mkdir(join(cwd, "step-1/rank"), { recursive: true });
    await symlink("..", join(cwd, "step-1/rank/up"));
    await save("weights", "step-1/rank/0.bin");
    expect(await look(folders)).toEqual({ kind: "value", value: 1 });
    await save("weighty", "step-1/rank/0.bin");
    expect(await look(folders)).toEqual({ kind: "value", value: 2 });
    await save("unfinished", "step-1/rank/1.bin.tmp");
    expect(await look(folders)).toEqual({ kind: "value", value: 2 });
  });

  it("of any size cost little: a sample is read, and changes at head and tail are seen", async () => {
    await save("head", "restart.1");
    await truncate(join(cwd, "restart.1"), 2 ** 38);
    const began = performance.now();
    expect(await look()).toEqual({ kind: "value", value: 1 });
    expect(performance.now() - began).toBeLessThan(5_000);
    await truncate(join(cwd, "restart.1"), 2 ** 38 + 1);
    expect(await look(), "one byte more").toEqual({ kind: "value", value: 2 });
    await save("HEAD", "restart.1");
    await truncate(join(cwd, "restart.1"), 2 ** 38 + 1);
    expect(await look(), "another head").toEqual({ kind: "value", value: 3 });
  });

  it("in a folder that is a file are invalid; in one that is not there, absent", async () => {
    await save("x", "state.txt");
    expect(await look({ ...checkpoint, path: "state.txt" })).toMatchObject({
      kind: "invalid",
      why: expect.stringContaining("names the folder"),
    });
    expect(await look({ ...checkpoint, path: "nowhere" })).toEqual({ kind: "absent" });
  });

  it("count on from the high-water mark when their memory was lost", async () => {
    await save("x", "restart.1");
    memory = { count: 7, fingerprint: "" };
    expect(await look()).toEqual({ kind: "value", value: 8 });
    expect(await look()).toEqual({ kind: "value", value: 8 });
  });
});
