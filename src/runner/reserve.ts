import { basename } from "node:path";
import { type Folder, isOutOfSpace } from "../host/index.ts";
import { ACCOUNTING_FILE } from "../journal/index.ts";

/**
 * A folder that gives up the task's `reserve` file when the disk is full, so that what must be said can still be written.
 * Everything else fails as ever, also an account of an attempt long over, which can be asked for again. Only an attempt that is about to start makes the reserve again (`ensureReserve`).
 */
export function withReserve(folder: Folder, reservePath: string): Folder {
  const retried = async <T>(action: () => Promise<T>): Promise<T> => {
    try {
      return await action();
    } catch (error) {
      if (!isOutOfSpace(error) || (await folder.identity(reservePath)) === null) throw error;
      await folder.remove(reservePath);
      return action();
    }
  };
  return {
    ...folder,
    createOnce: (path, content) => retried(() => folder.createOnce(path, content)),
    replace: (path, content) => {
      const write = () => folder.replace(path, content);
      return basename(path) === ACCOUNTING_FILE ? write() : retried(write);
    },
  };
}
