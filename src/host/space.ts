import { statfs } from "node:fs/promises";
import { FolderError } from "./folder-error.ts";

export interface Space {
  /** What this user may still write. */
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** Files that can still be made; null where the file system does not count them (btrfs, many network file systems). */
  readonly freeInodes: number | null;
}

/**
 * Room on the file system that holds `path` (which must be there). Quotas of network file systems do not always show.
 * Runs on the thread pool: it can hang as long as the file system does. Throws `FolderError`.
 */
export async function spaceAt(path: string): Promise<Space> {
  try {
    const found = await statfs(path);
    return {
      freeBytes: found.bavail * found.bsize,
      totalBytes: found.blocks * found.bsize,
      freeInodes: found.files > 0 ? found.ffree : null,
    };
  } catch (error) {
    throw new FolderError("ask for the free space of", path, error);
  }
}
