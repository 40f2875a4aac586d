/** The reserve: a file that is given up when the disk is full, so that the end of an attempt can still be put on file. */
import { randomBytes } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { type Folder, isOutOfSpace } from "../host/index.ts";
import { ACCOUNTING_FILE, type TaskPlace } from "../journal/index.ts";

/** Enough for the records of an attempt's end. */
const RESERVE_BYTES = 64 * 1024;

/**
 * No application starts without a reserve: without one its end might not get on file. Makes it anew where it was given up.
 * Null: it is there; else one line that says why it can't be.
 */
export async function ensureReserve(folder: Folder, path: string): Promise<string | null> {
  if ((await folder.identity(path)) !== null) return null;
  try {
    // Incompressible: zeros may take no room at all.
    await folder.replace(path, randomBytes(RESERVE_BYTES / 2).toString("hex"));
    return null;
  } catch (error) {
    if (!isOutOfSpace(error)) throw error;
    return `the disk of the job folder is full: free some space at ${dirname(path)}`;
  }
}

/** Where a task's reserve lies. */
export function reservePath(task: TaskPlace): string {
  return join(task.folder, "reserve");
}

/**
 * A folder that gives up a task's `reserve` file, the first that is there, when the disk is full, so that what must be said can
 * still be written.
 * Everything else fails as ever, also an account of an attempt long over, which can be asked for again. Only an attempt that is about to start makes the reserve again (`ensureReserve`).
 */
export function withReserve(folder: Folder, ...paths: readonly string[]): Folder {
  const retried = async <T>(action: () => Promise<T>): Promise<T> => {
    try {
      return await action();
    } catch (error) {
      if (!isOutOfSpace(error) || !(await giveUpOne(folder, paths))) throw error;
      return action();
    }
  };
  return {
    ...folder,
    makeFolder: (made) => retried(() => folder.makeFolder(made)),
    createOnce: (made, content) => retried(() => folder.createOnce(made, content)),
    replace: (made, content) => {
      const write = () => folder.replace(made, content);
      return basename(made) === ACCOUNTING_FILE ? write() : retried(write);
    },
  };
}

async function giveUpOne(folder: Folder, paths: readonly string[]): Promise<boolean> {
  for (const path of paths) {
    if ((await folder.identity(path)) === null) continue;
    await folder.remove(path);
    return true;
  }
  return false;
}
