import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { CheckpointSpec } from "./read-checkpoint.ts";

/** What a checkpoint is, whatever name it is reached by: links resolved, also where the file is not there yet. */
export interface CheckpointPlace {
  /** `files`: `path` is the folder they lie in. */
  readonly what: "file" | "files";
  readonly path: string;
  /** The folder the checkpoint lies in, and its name there; for files one name for the whole folder. */
  readonly folder: string;
  readonly name: string;
}

const MOST_LINKS = 40;

/** Resolves a checkpoint against the application's working folder `cwd` (absolute). Never throws; nothing need be there. */
export async function resolveCheckpoint(checkpoint: CheckpointSpec, cwd: string): Promise<CheckpointPlace> {
  const path = await resolveLinks(resolve(cwd, checkpoint.path));
  if (checkpoint.progress.kind === "files")
    // Any two globs may mean the same files: whoever has one in a folder has the folder.
    return { what: "files", path, folder: path, name: "files" };
  return { what: "file", path, folder: dirname(path), name: basename(path) };
}

/** `realpath` that also works for what is not there (yet): a link that leads nowhere counts as what it points to. */
async function resolveLinks(path: string): Promise<string> {
  let current = path;
  const rest: string[] = [];
  for (let links = 0; links < MOST_LINKS; ) {
    const real = await orNull(realpath(current));
    if (real !== null) return join(real, ...rest);
    const target = await orNull(readlink(current));
    const realFolder = target === null ? null : await orNull(realpath(dirname(current)));
    if (target !== null && realFolder !== null) {
      current = resolve(realFolder, target);
      links++;
    } else {
      rest.unshift(basename(current));
      current = dirname(current);
    }
  }
  // Links in a circle: nothing can be there, and the text is as good a name as any.
  return path;
}

/** Not there, no permission, a loop: for finding a name they are all the same, and reading will say which it is. */
async function orNull<T>(promise: Promise<T>): Promise<T | null> {
  return promise.catch(() => null);
}
