import { type Folder, isOutOfSpace } from "../host/index.ts";

/** Bytes of a task's `reserve` file: enough for the records of an attempt's end. */
export const RESERVE_BYTES = 64 * 1024;

/**
 * A folder that gives up the task's `reserve` file when the disk is full, so that what must be said can still be written.
 * Everything else fails as ever; the reserve is not made again.
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
