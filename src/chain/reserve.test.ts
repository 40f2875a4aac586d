import { describe, expect, it } from "vitest";
import type { Folder } from "../host/index.ts";
import { withReserve } from "./reserve.ts";

/** A folder on a disk that is full while `reserve` is there. */
function fullDisk(files: Map<string, string>): Folder {
  const put = async (path: string, content: string) => {
    if (files.has("reserve") || !files.has("room")) throw Object.assign(new Error("full"), { code: "ENOSPC" });
    files.set(path, content);
  };
  return {
    read: async (path) => files.get(path) ?? null,
    list: async () => [...files.keys()],
    async createOnce(path, content) {
      await put(path, content);
      return { created: true, content };
    },
    replace: put,
    append: put,
    makeFolder: async () => {},
    async remove(path) {
      files.delete(path);
    },
    identity: async (path) => (files.has(path) ? path : null),
    stamp: async (path) => (files.has(path) ? path : null),
  };
}

describe("withReserve", () => {
  it("gives the reserve up for a record when the disk is full", async () => {
    const files = new Map([
      ["reserve", "x"],
      ["room", ""],
    ]);
    const folder = withReserve(fullDisk(files), "reserve");
    expect(await folder.createOnce("exited.json", "{}")).toEqual({ created: true, content: "{}" });
    expect(files.has("reserve")).toBe(false);
  });

  it("does not give it up for samples and accounts, and says so when it does not help", async () => {
    const files = new Map([
      ["reserve", "x"],
      ["room", ""],
    ]);
    const folder = withReserve(fullDisk(files), "reserve");
    await expect(folder.append("samples.csv", "1\n")).rejects.toMatchObject({ code: "ENOSPC" });
    await expect(folder.replace("0001/accounting.json", "{}")).rejects.toMatchObject({ code: "ENOSPC" });
    expect(files.has("reserve")).toBe(true);
    files.delete("room");
    await expect(folder.replace("local.json", "{}")).rejects.toMatchObject({ code: "ENOSPC" });
    expect(files.has("reserve")).toBe(false);
    await expect(folder.replace("local.json", "{}")).rejects.toMatchObject({ code: "ENOSPC" });
  });
});
