import { describe, expect, it } from "vitest";
import type { Folder } from "../host/index.ts";
import { type JobPlace, jobPlace } from "../journal/index.ts";
import { writesForJob } from "./own-job.ts";

/** A folder in memory; each write of a file gives it another stamp. */
function memory() {
  const files = new Map<string, { text: string; stamp: number }>();
  let writes = 0;
  let reads = 0;
  const put = (path: string, text: string) => files.set(path, { text, stamp: ++writes });
  const folder: Folder = {
    read: async (path) => {
      reads++;
      return files.get(path)?.text ?? null;
    },
    list: async () => [],
    createOnce: async (path, content) => {
      put(path, content);
      return { created: true, content };
    },
    replace: async (path, content) => void put(path, String(content)),
    append: async (path, content) => void put(path, (files.get(path)?.text ?? "") + content),
    makeFolder: async () => {},
    remove: async (path) => void files.delete(path),
    identity: async () => "7",
    stamp: async (path) => (files.has(path) ? String(files.get(path)?.stamp) : null),
  };
  return { files, folder, put, reads: () => reads };
}

const home = (uuid: string) =>
  JSON.stringify({ version: 1, nonce: uuid, atMs: 1, uuid, folder: "/p/.stint/jobs/ann/sim", inode: "7" });

describe("a process that may outlive its job", () => {
  const job: JobPlace = jobPlace("/p/.stint", "/ann/sim");
  const path = `${job.folder}/home.json`;

  it("reads the job's home once as long as nobody touches it", async () => {
    const { folder, put, reads } = memory();
    put(path, home("one"));
    const own = writesForJob(folder, job, "one");
    await own.append("samples.csv", "1\n");
    const after = reads();
    await own.append("samples.csv", "2\n");
    await own.createOnce("exited.json", "{}");
    expect(reads()).toBe(after);
  });

  it("writes nothing more once another job has its place, or none", async () => {
    const { files, folder, put } = memory();
    put(path, home("one"));
    const own = writesForJob(folder, job, "one");
    await own.append("samples.csv", "1\n");
    put(path, home("two"));
    for (const write of [own.append, own.replace, own.createOnce])
      await expect(write("samples.csv", "2\n")).rejects.toThrow("another one has its name");
    await expect(own.remove("samples.csv")).rejects.toThrow("another one has its name");
    files.delete(path);
    await expect(own.append("samples.csv", "2\n")).rejects.toThrow("is missing");
    expect(files.get("samples.csv")?.text).toBe("1\n");
  });

  it("does not take what was put there during its look for what it has read", async () => {
    const { folder, put } = memory();
    put(path, home("one"));
    let reading = async () => {};
    const read: Folder["read"] = async (name) => {
      await reading();
      return folder.read(name);
    };
    const own = writesForJob({ ...folder, read }, job, "one");
    // Same job, new file, between the stamp and the reading: the next write looks again.
    reading = async () => void put(path, home("one"));
    await own.append("samples.csv", "1\n");
    reading = async () => {};
    put(path, home("two"));
    await expect(own.append("samples.csv", "2\n")).rejects.toThrow("another one has its name");
  });
});
