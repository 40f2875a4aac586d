import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { errorCode } from "../host/index.ts";

/** The beginning or the end of a file, or why there is none. */
export type FileWindow =
  | { readonly kind: "bytes"; readonly bytes: Buffer; readonly sizeBytes: number }
  | { readonly kind: "absent" }
  | { readonly kind: "invalid"; readonly why: string };

/**
 * Reads at most `mostBytes` from the end of a regular file. Nothing there is `absent`; anything else that is not a
 * readable regular file is `invalid`, with the system's words.
 */
export async function readEnd(path: string, mostBytes: number): Promise<FileWindow> {
  try {
    return await readOnce(path, mostBytes);
  } catch (error) {
    // A file that was replaced between open and read is stale on NFS; the new one is there at once.
    if (errorCode(error) !== "ESTALE") return failure(error);
  }
  return readOnce(path, mostBytes).catch(failure);
}

/** What to say of a path that could not be read. */
export function failure(
  error: unknown,
): { readonly kind: "absent" } | { readonly kind: "invalid"; readonly why: string } {
  if (errorCode(error) === "ENOENT") return { kind: "absent" };
  return { kind: "invalid", why: `cannot be read: ${systemWords(error)}` };
}

/** `EACCES: permission denied, open` without the path, which the reader knows. */
export function systemWords(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/ '.*$/s, "");
}

/** Opens a regular file for reading; anything else is refused, and a pipe never blocks a thread of the pool. */
export async function openRegular(path: string): Promise<FileHandle | { readonly why: string }> {
  // Opening a pipe or a device can have effects, so it is looked at first; O_NONBLOCK covers the moment in between.
  const before = await stat(path);
  if (!before.isFile())
    return { why: before.isDirectory() ? "it is a folder, not a file" : "it is not a regular file" };
  return open(path, constants.O_RDONLY | constants.O_NONBLOCK);
}

/** Reads up to `length` bytes at `position`; less only where the file ends. */
export async function readAt(file: FileHandle, position: number, length: number, into: Buffer): Promise<Buffer> {
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(into, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return into.subarray(0, filled);
}

async function readOnce(path: string, mostBytes: number): Promise<FileWindow> {
  const file = await openRegular(path);
  if ("why" in file) return { kind: "invalid", why: file.why };
  try {
    const { size } = await file.stat();
    const length = Math.min(size, mostBytes);
    return {
      kind: "bytes",
      bytes: await readAt(file, size - length, length, Buffer.allocUnsafe(length)),
      sizeBytes: size,
    };
  } finally {
    await file.close();
  }
}
