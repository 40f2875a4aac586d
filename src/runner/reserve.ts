import { type Folder, isOutOfSpace } from "../host/index.ts";

/**
 * A folder that gives up the task's `reserve` file when the disk is full, so that what must be said can still be written.
 * Everything else fails as ever. Only an attempt that is about to start makes the reserve again (`ensureReserve`).
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
    replace: (path, content) => retried(() => folder.replace(path, content)),
  };
}
