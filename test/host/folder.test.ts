import { execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  blockingCalls,
  blockingFolder,
  durableFolder,
  type FileCalls,
  FolderError,
  pooledCalls,
  pooledFolder,
  spaceAt,
} from "../../src/host/index.ts";
import { afterwards, asNobody, bundleHost, isRoot, temporaryFolder } from "./real-processes.ts";

const forms = [
  ["pooled", pooledFolder(), pooledCalls],
  ["blocking", blockingFolder(), blockingCalls],
] as const;

function refuse(code: string): () => never {
  return () => {
    throw Object.assign(new Error(`${code}: injected`), { code });
  };
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof FolderError)) throw new Error(`no FolderError but ${String(error)}`);
  expect(error.message).not.toContain("\n");
  expect(error.message).toContain(error.path);
  expect(error.message).not.toContain(".tmp-");
  return error.code;
}

describe.each(forms)("%s folder", (_, folder, calls) => {
  it("reads, lists, replaces, appends and removes", async () => {
    const root = temporaryFolder();
    const deep = join(root, "a/b/c");
    await folder.makeFolder(deep);
    await folder.makeFolder(deep);
    expect(statSync(deep).mode & 0o777).toBe(0o700);
    expect(statSync(join(root, "a")).mode & 0o777).toBe(0o700);
    const path = join(deep, "x");
    expect(await folder.read(path)).toBeNull();
    await folder.replace(path, "one\n");
    await folder.replace(path, "two é\n");
    await folder.append(path, "three\n");
    expect(await folder.read(path)).toBe("two é\nthree\n");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    writeFileSync(join(deep, ".nfs0001"), "");
    writeFileSync(join(deep, ".tmp-host-1-ff"), "");
    expect(await folder.list(deep)).toEqual(["x"]);
    expect(await folder.list(join(deep, "none"))).toBeNull();
    expect(await folder.list(path)).toBeNull();
    expect(await folder.read(join(path, "below"))).toBeNull();
    expect(await folder.identity(path)).toBe(String(statSync(path).ino));
    await folder.remove(path);
    await folder.remove(path);
    expect(await folder.read(path)).toBeNull();
    expect(await folder.identity(path)).toBeNull();
    await expect(codeOf(folder.read(deep))).resolves.toBe("EISDIR");
    await expect(codeOf(folder.replace(join(root, "none/x"), "1"))).resolves.toBe("ENOENT");
  });

  it("stamps a file: the same one only while nobody has touched it", async () => {
    const path = join(temporaryFolder(), "stamped");
    expect(await folder.stamp(path)).toBeNull();
    await folder.replace(path, "one");
    const first = await folder.stamp(path);
    await folder.read(path);
    expect(await folder.stamp(path)).toBe(first);
    await folder.replace(path, "one");
    expect(await folder.stamp(path)).not.toBe(first);
  });

  it("creates once, and knows its own content again", async () => {
    const root = temporaryFolder();
    const path = join(root, "record");
    expect(await folder.createOnce(path, "first")).toEqual({ created: true, content: "first" });
    expect(await folder.createOnce(path, "second")).toEqual({ created: false, content: "first" });
    // Our link succeeded and the answer was lost: the name exists, with our nonce in it.
    expect(await folder.createOnce(path, "first")).toEqual({ created: true, content: "first" });
    expect(readdirSync(root)).toEqual(["record"]);
    await expect(folder.createOnce(join(root, "empty"), "")).rejects.toThrow("may not be empty");
  });

  it("takes what stands at the name for the answer whatever the error was", async () => {
    const root = temporaryFolder();
    const path = join(root, "record");
    const lostAnswer = durableFolder({
      ...calls,
      async link(from, to) {
        await calls.link(from, to);
        refuse("EIO")();
      },
    });
    expect(await lostAnswer.createOnce(path, "mine")).toEqual({ created: true, content: "mine" });
    const full = durableFolder({ ...calls, writeSynced: refuse("ENOSPC") });
    expect(await full.createOnce(path, "other")).toEqual({ created: false, content: "mine" });
    expect(await codeOf(full.createOnce(join(root, "absent"), "x"))).toBe("ENOSPC");
    expect(readdirSync(root)).toEqual(["record"]);
  });

  it.each(["EPERM", "ENOTSUP", "EOPNOTSUPP", "EMLINK", "ENOSYS"])("does without hard links (%s)", async (code) => {
    const root = temporaryFolder();
    const path = join(root, "record");
    const without = durableFolder({ ...calls, link: refuse(code) });
    expect(await without.createOnce(path, "first")).toEqual({ created: true, content: "first" });
    expect(await without.createOnce(path, "second")).toEqual({ created: false, content: "first" });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(root)).toEqual(["record"]);
  });

  it("does without fsync of a folder where there is none, and not where it fails", async () => {
    const root = temporaryFolder();
    const none = durableFolder({ ...calls, syncFolder: refuse("EINVAL") });
    await none.replace(join(root, "x"), "1");
    expect(await none.createOnce(join(root, "y"), "2")).toEqual({ created: true, content: "2" });
    expect(await codeOf(durableFolder({ ...calls, syncFolder: refuse("EIO") }).replace(join(root, "x"), "3"))).toBe(
      "EIO",
    );
    expect(await codeOf(durableFolder({ ...calls, link: refuse("EWEIRD") }).createOnce(join(root, "z"), "3"))).toBe(
      "EWEIRD",
    );
    expect(readdirSync(root).sort()).toEqual(["x", "y"]);
  });

  it("waits for the content of a record that another writer without hard links has just made", async () => {
    const root = temporaryFolder();
    const path = join(root, "record");
    let looks = 0;
    const folderWithout = durableFolder({
      ...calls,
      link: refuse("EPERM"),
      readText(name) {
        if (name === path && ++looks === 3) writeFileSync(path, "theirs");
        return calls.readText(name);
      },
    });
    writeFileSync(path, "");
    expect(await folderWithout.createOnce(path, "ours")).toEqual({ created: false, content: "theirs" });
    writeFileSync(path, "");
    expect(await codeOf(folderWithout.createOnce(path, "ours"))).toBe("EMPTY");
  });

  it("takes its own torn record away again when the disk fills up without hard links", async () => {
    const root = temporaryFolder();
    const path = join(root, "record");
    const tearing: FileCalls = {
      ...calls,
      link: refuse("EPERM"),
      async writeSynced(name, flags, content) {
        if (name !== path) return calls.writeSynced(name, flags, content);
        await calls.writeSynced(name, flags, content.slice(0, 3));
        refuse("ENOSPC")();
      },
    };
    expect(await codeOf(durableFolder(tearing).createOnce(path, "abcdef"))).toBe("ENOSPC");
    expect(readdirSync(root)).toEqual([]);
  });

  it("leaves no descriptor open, whatever failed", async () => {
    const root = temporaryFolder();
    const open = () => readdirSync("/proc/self/fd").length;
    const before = open();
    for (let round = 0; round < 20; round++) {
      await folder.createOnce(join(root, "record"), `content ${round}`);
      await folder.append("/dev/full", "x").catch(() => {});
      await folder.createOnce(join(root, "none/record"), "x").catch(() => {});
      await folder.replace(join(root, "none/record"), "x").catch(() => {});
    }
    expect(open()).toBeLessThanOrEqual(before + 1);
  });

  it.skipIf(!isRoot)("says in one line that the disk is full or read-only (real tmpfs; needs root)", async () => {
    const root = temporaryFolder();
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", root]);
    afterwards(() => void execFileSync("umount", [root]));
    await folder.createOnce(join(root, "record"), "kept");
    await folder.replace(join(root, "filler"), "x".repeat(48 * 1024));
    expect(await codeOf(folder.createOnce(join(root, "big"), "y".repeat(20_000)))).toBe("ENOSPC");
    expect(await codeOf(folder.replace(join(root, "record"), "y".repeat(20_000)))).toBe("ENOSPC");
    expect(await codeOf(folder.append(join(root, "log"), "y".repeat(20_000)))).toBe("ENOSPC");
    expect(readdirSync(root).filter((name) => name.startsWith(".tmp-"))).toEqual([]);
    expect(await folder.read(join(root, "record"))).toBe("kept");
    expect((await spaceAt(root)).freeBytes).toBeLessThan(16 * 1024);
    execFileSync("mount", ["-o", "remount,ro", root]);
    expect(await codeOf(folder.createOnce(join(root, "more"), "z"))).toBe("EROFS");
    expect(await folder.createOnce(join(root, "record"), "z")).toEqual({ created: false, content: "kept" });
  });
});

describe("permissions, as an ordinary user", () => {
  it("says EACCES for a folder that may not be written, and reads on", async () => {
    const root = temporaryFolder();
    const locked = join(root, "locked");
    mkdirSync(locked);
    writeFileSync(join(locked, "record"), "there");
    for (const path of [root, locked, join(locked, "record")]) chmodSync(path, 0o555);
    afterwards(() => {
      for (const path of [root, locked]) chmodSync(path, 0o700);
    });
    const script = `
      import { pooledFolder, blockingFolder } from ${JSON.stringify(await bundleHost())};
      const answers = [];
      for (const folder of [pooledFolder(), blockingFolder()]) {
        answers.push(await folder.createOnce("${locked}/new", "x").catch((e) => e.name + " " + e.code));
        answers.push(await folder.createOnce("${locked}/record", "x").catch((e) => e.code));
        answers.push(await folder.append("${locked}/record", "x").catch((e) => e.message));
      }
      console.log(JSON.stringify(answers));`;
    const [program = "", ...rest] = [...asNobody, process.execPath, "--input-type=module", "-e", script];
    const answers: unknown = JSON.parse(execFileSync(program, rest, { cwd: "/", encoding: "utf8" }));
    const message = `cannot append to ${locked}/record: permission denied (EACCES); check who owns it and its mode`;
    const once = ["FolderError EACCES", { created: false, content: "there" }, message];
    expect(answers).toEqual([...once, ...once]);
  });
});

describe("32 processes at one name", () => {
  it.each(["with", "without"])("have exactly one winner, %s hard links", async (links) => {
    const root = temporaryFolder();
    if (isRoot) chownSync(root, 65534, 65534);
    const script = `
      import { durableFolder, pooledCalls } from ${JSON.stringify(await bundleHost())};
      import { existsSync } from "node:fs";
      const refuse = () => { throw Object.assign(new Error("none"), { code: "EPERM" }); };
      const folder = durableFolder(${links === "with" ? "pooledCalls" : "{ ...pooledCalls, link: refuse }"});
      console.log("ready");
      while (!existsSync("${root}/go")) await new Promise((resolve) => setTimeout(resolve, 1));
      const answer = await folder.createOnce("${root}/record", "nonce " + process.pid);
      console.log(JSON.stringify({ ...answer, own: "nonce " + process.pid }));`;
    let ready = 0;
    const outputs = Array.from({ length: 32 }, async () => {
      const [program = "", ...rest] = [...asNobody, process.execPath, "--input-type=module", "-e", script];
      const child = spawn(program, rest, { cwd: "/", stdio: ["ignore", "pipe", "inherit"] });
      afterwards(() => void child.kill("SIGKILL"));
      let text = "";
      child.stdout.setEncoding("utf8").on("data", (part: string) => {
        if (text === "" && ++ready === 32) writeFileSync(join(root, "go"), "");
        text += part;
      });
      await new Promise((resolve) => child.once("close", resolve));
      return JSON.parse(text.split("\n")[1] ?? "null") as { created: boolean; content: string; own: string };
    });
    const answers = await Promise.all(outputs);
    const there = readFileSync(join(root, "record"), "utf8");
    expect(answers.filter((answer) => answer.created).map((answer) => answer.own)).toEqual([there]);
    expect(answers.map((answer) => answer.content)).toEqual(Array.from({ length: 32 }, () => there));
    expect(readdirSync(root).sort()).toEqual(["go", "record"]);
  });
});

if (!isRoot) console.log("skipped: the full and the read-only tmpfs, which only root can mount");
