import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { blockingCalls, type FileCalls, pooledCalls } from "./file-calls.ts";
import type { Folder } from "./folder.ts";
import { errorCode, FolderError, isAbsent } from "./folder-error.ts";

/** A folder whose calls run on the thread pool: a hung file system stops only the one who waits for it. */
export function pooledFolder(): Folder {
  return durableFolder(pooledCalls);
}

/** A folder whose calls block this thread: the fast way for a command that reads thousands of files and has no deadline. */
export function blockingFolder(): Folder {
  return durableFolder(blockingCalls);
}

/**
 * The durable folder over given calls. Every failure is a `FolderError`.
 *
 * - `read` answers null when the file, or a folder on the way to it, is not there; an empty file is `""`. A record is never
 *   empty: who reads `""` where a record belongs must take it as "not there yet" (a writer without hard links makes the
 *   name first and fills it then).
 * - `createOnce` costs eight calls: open, write, fsync, close, link; open, fsync and close of the folder; and one unlink.
 *   Nothing is read back when `link` says yes. After any error the name is read back, and the text there decides.
 * - `append` that fails halfway (disk full) may leave a torn last line.
 */
export function durableFolder(calls: FileCalls): Folder {
  return {
    async read(path) {
      return readOrNull(calls, path);
    },

    async list(path) {
      try {
        return (await calls.names(path)).filter((name) => !isTemporary(name));
      } catch (error) {
        if (isAbsent(error)) return null;
        throw new FolderError("list", path, error);
      }
    },

    async createOnce(path, content) {
      if (content === "") throw new Error(`a record may not be empty: ${path}`);
      try {
        await linkNew(calls, path, content);
        return { created: true, content };
      } catch (error) {
        const there = await readBack(calls, path);
        if (there === content) return { created: true, content };
        if (there !== null && there !== "") return { created: false, content: there };
        throw there === ""
          ? new FolderError("create", path, { code: "EMPTY" })
          : new FolderError("create", path, error);
      }
    },

    async replace(path, content) {
      const temporary = temporaryName(dirname(path));
      try {
        await calls.writeSynced(temporary, "wx", content);
        await calls.rename(temporary, path);
        await syncNames(calls, dirname(path));
      } catch (error) {
        await unlinkQuietly(calls, temporary);
        throw new FolderError("write", path, error);
      }
    },

    async append(path, content) {
      try {
        await calls.writeSynced(path, "a", content);
      } catch (error) {
        throw new FolderError("append to", path, error);
      }
    },

    async makeFolder(path) {
      try {
        await makeTree(calls, resolve(path));
      } catch (error) {
        throw new FolderError("make the folder", path, error);
      }
    },

    async remove(path) {
      try {
        await calls.unlink(path);
      } catch (error) {
        if (!isAbsent(error)) throw new FolderError("remove", path, error);
      }
    },

    async identity(path) {
      try {
        return String(await calls.inode(path));
      } catch (error) {
        if (isAbsent(error)) return null;
        throw new FolderError("look at", path, error);
      }
    },

    async stamp(path) {
      try {
        return await calls.stamp(path);
      } catch (error) {
        if (isAbsent(error)) return null;
        throw new FolderError("look at", path, error);
      }
    },
  };
}

/** Names that no reader may see: half-made files of ours, and what NFS keeps of files removed while open. */
export function isTemporary(name: string): boolean {
  return name.startsWith(".tmp-") || name.startsWith(".nfs");
}

/** Throws whatever the file system said; the caller reads the name back and lets that decide. */
async function linkNew(calls: FileCalls, path: string, content: string): Promise<void> {
  const temporary = temporaryName(dirname(path));
  try {
    await calls.writeSynced(temporary, "wx", content);
    await calls.link(temporary, path);
    await syncNames(calls, dirname(path));
  } catch (error) {
    if (!NO_HARD_LINKS.has(errorCode(error) ?? "")) throw error;
    await createInPlace(calls, path, content);
  } finally {
    await unlinkQuietly(calls, temporary);
  }
}

const NO_HARD_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "EMLINK", "ENOSYS"]);

/** Exclusive create of the name itself: it is there, empty, before its content is. */
async function createInPlace(calls: FileCalls, path: string, content: string): Promise<void> {
  try {
    await calls.writeSynced(path, "wx", content);
    await syncNames(calls, dirname(path));
  } catch (error) {
    // Out of space in the middle of our own record: what is there is empty or torn, and nobody else can have made it.
    if (errorCode(error) !== "EEXIST" && (await isTornPrefix(calls, path, content))) await unlinkQuietly(calls, path);
    throw error;
  }
}

async function isTornPrefix(calls: FileCalls, path: string, content: string): Promise<boolean> {
  const there = await readOrNull(calls, path);
  return there !== null && there.length < content.length && content.startsWith(there);
}

/**
 * What stands at the name after an error. Empty or absent is asked again for half a second: another writer without hard
 * links may be between create and write, and an NFS client may still hold the old answer.
 */
async function readBack(calls: FileCalls, path: string): Promise<string | null> {
  for (let tries = 0; ; tries++) {
    const there = await readOrNull(calls, path);
    if ((there !== "" && there !== null) || tries >= 5) return there;
    if (there === null && tries >= 1) return there;
    await sleep(20 * 2 ** tries);
  }
}

async function readOrNull(calls: FileCalls, path: string): Promise<string | null> {
  for (let tries = 0; ; tries++) {
    try {
      return await calls.readText(path);
    } catch (error) {
      if (isAbsent(error)) return null;
      // A file replaced on the server while we opened it: opening it again finds the new one.
      if (errorCode(error) === "ESTALE" && tries < 3) continue;
      throw new FolderError("read", path, error);
    }
  }
}

/** Makes the names in a folder durable, where the file system can do so at all. */
export async function syncNames(calls: FileCalls, folder: string): Promise<void> {
  try {
    await calls.syncFolder(folder);
  } catch (error) {
    // Some network and FUSE file systems know no fsync of a folder: there is nothing more to be done there.
    if (!NO_FOLDER_SYNC.has(errorCode(error) ?? "")) throw error;
  }
}

const NO_FOLDER_SYNC: ReadonlySet<string> = new Set(["EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

async function unlinkQuietly(calls: FileCalls, path: string): Promise<void> {
  try {
    await calls.unlink(path);
  } catch {
    // It may never have been made; and if it stays, readers pass over it, so that it must not turn a success into an error.
  }
}

/** A name in the folder that nobody else uses and every reader passes over. */
export function temporaryName(folder: string): string {
  return join(folder, `.tmp-${hostInNames()}-${process.pid}-${randomBytes(8).toString("hex")}`);
}

function hostInNames(): string {
  return hostname()
    .replace(/[^A-Za-z0-9.-]/g, "_")
    .slice(0, 64);
}

/** Who made a temporary file of ours, from its name; null for any other name. `pid` null: a process of another host. */
export function temporaryMaker(name: string): { readonly pid: number | null } | null {
  const [, host, pid] = /^\.tmp-(.{1,64})-(\d{1,9})-[0-9a-f]{16}$/.exec(name) ?? [];
  return pid === undefined ? null : { pid: host === hostInNames() ? Number(pid) : null };
}

/**
 * mkdir -p, each new name made durable in the folder above it. (Node's own recursive mkdir never returns below /proc and
 * says ENOENT where a file system is read-only.)
 */
async function makeTree(calls: FileCalls, path: string): Promise<void> {
  try {
    await calls.makeFolder(path);
  } catch (error) {
    const code = errorCode(error);
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    await makeTree(calls, dirname(path));
    try {
      await calls.makeFolder(path);
    } catch (again) {
      if (errorCode(again) === "EEXIST") return;
      throw again;
    }
  }
  await syncNames(calls, dirname(path));
}
