/** The reserve: a file that is given up when the disk is full, so that the end of an attempt can still be put on file. */
import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { type Folder, isOutOfSpace } from "../host/index.ts";

/** Enough for the records of an attempt's end. */
const RESERVE_BYTES = 64 * 1024;

/**
 * No application starts without a reserve: without one its end might not get on file. Makes it anew where it was given up.
 * Null: it is there; else one line that says why it can't be.
 */
export async function ensureReserve(folder: Folder, reservePath: string): Promise<string | null> {
  if ((await folder.identity(reservePath)) !== null) return null;
  try {
    // Incompressible: zeros may take no room at all.
    await folder.replace(reservePath, randomBytes(RESERVE_BYTES / 2).toString("hex"));
    return null;
  } catch (error) {
    if (!isOutOfSpace(error)) throw error;
    return `the disk of the job folder is full: free some space at ${dirname(reservePath)}`;
  }
}
