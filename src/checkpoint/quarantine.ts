/**
 * What of a bad checkpoint is to be set aside, on a person's word, and the hidden folder beside it that takes it. Nothing is
 * overwritten and nothing is deleted, so that one `mv` undoes it (move-aside.ts).
 */
import type { BigIntStats } from "node:fs";
import { access, constants, lstat, mkdir, mkdtemp, readdir, readlink, rmdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { QuarantineMove } from "../core/index.ts";
import { errorCode } from "../host/index.ts";
import { type CheckpointPlace, resolveCheckpoint } from "./checkpoint-place.ts";
import { failure, systemWords } from "./file-window.ts";
import { matchingNames } from "./generations.ts";
import { cannotMove, statsOf } from "./move-aside.ts";
import { newestGeneration, type Written } from "./newest-generation.ts";
import type { CheckpointSpec } from "./read-checkpoint.ts";

export type QuarantinePlan =
  | {
      readonly kind: "plan";
      /** The folder that takes them; it need not be there. */
      readonly folder: string;
      readonly moves: readonly QuarantineMove[];
      /** One line each: links that will lead to nothing. */
      readonly notes: readonly string[];
    }
  /** One line that says why nothing can be moved, and what to do. */
  | { readonly kind: "nothing"; readonly why: string };

/**
 * What is to be moved: the file (or folder) at the path; of `files:` only the newest generation, so that the application falls
 * back to the one before. `attempt`: the newest that ran, for the names. Creates nothing. Throws nothing that the file system
 * says.
 */
export async function planQuarantine(
  checkpoint: CheckpointSpec,
  cwd: string,
  attempt: number,
): Promise<QuarantinePlan> {
  const place = await resolveCheckpoint(checkpoint, cwd);
  const folder = join(place.folder, `.${place.name}.stint-quarantine`);
  try {
    const { progress } = checkpoint;
    const found =
      progress.kind === "files" ? await newestFiles(place.path, progress.glob) : await onlyFile(place, checkpoint, cwd);
    if ("why" in found) return { kind: "nothing", why: found.why };
    const moves: QuarantineMove[] = [];
    for (const { name, stats } of found.files)
      moves.push({
        from: join(place.folder, name),
        to: await freeName(folder, `${String(attempt).padStart(4, "0")}-${name}`),
        inode: String(stats.ino),
        ctimeNs: String(stats.ctimeNs),
      });
    return { kind: "plan", folder, moves, notes: found.notes };
  } catch (error) {
    return { kind: "nothing", why: `the checkpoint ${place.path} cannot be looked at: ${systemWords(error)}` };
  }
}

/**
 * Makes the folder that takes them, and looks whether names can be made in it and taken from the one above: before anything is
 * on file, a folder that is full or read-only shows. Null: all is well; else one line.
 */
export async function makeQuarantine(folder: string): Promise<string | null> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") return cannotMove(folder, error);
    const stats = await lstat(folder).catch(() => null); // What cannot be looked at cannot be moved into: said below.
    if (stats?.isDirectory() !== true) return `${folder} is in the way and is no folder: move it away, then try again`;
  }
  try {
    await access(dirname(folder), constants.W_OK | constants.X_OK);
    await rmdir(await mkdtemp(join(folder, ".probe-")));
    return null;
  } catch (error) {
    return cannotMove(folder, error);
  }
}

interface Found {
  readonly files: readonly { readonly name: string; readonly stats: BigIntStats }[];
  readonly notes: readonly string[];
}

async function onlyFile(
  { path, name }: CheckpointPlace,
  checkpoint: CheckpointSpec,
  cwd: string,
): Promise<Found | { readonly why: string }> {
  const stats = await statsOf(path);
  if (stats === null) return { why: `there is no checkpoint at ${path}: nothing has to be set aside` };
  if (stats.isSymbolicLink()) return { why: `${path} is a link that leads round in a circle: remove it` };
  if (!stats.isFile() && !stats.isDirectory())
    return { why: `${path} is neither a file nor a folder: it is left where it is` };
  const typed = resolve(cwd, checkpoint.path);
  const isLink = (await statsOf(typed))?.isSymbolicLink() === true;
  return {
    files: [{ name, stats }],
    notes: isLink ? [`the link ${typed} stays, and leads to nothing until it is written anew`] : [],
  };
}

async function newestFiles(folder: string, glob: string): Promise<Found | { readonly why: string }> {
  const shown = JSON.stringify(glob);
  const stats = await stat(folder).catch((error: unknown) => {
    if (failure(error).kind === "absent") return null;
    throw error;
  });
  if (stats === null) return { why: `the folder ${folder} is not there: nothing has to be set aside` };
  if (!stats.isDirectory())
    return { why: `${folder} is not a folder; for files, the checkpoint names the folder they lie in` };
  await readdir(folder); // Where it may not be listed, that is the answer: matchingNames would say that it is empty.
  const files: Written[] = [];
  const statsByName = new Map<string, BigIntStats>();
  const links: string[] = [];
  for (const name of await matchingNames(folder, glob)) {
    const seen = await statsOf(join(folder, name));
    if (seen?.isSymbolicLink() === true) links.push(name);
    else if (seen !== null) {
      files.push({ name, ...(await contentOf(join(folder, name), seen)) });
      statsByName.set(name, seen);
    }
  }
  if (files.length === 0) return { why: `no file in ${folder} matches ${shown}: nothing has to be set aside` };
  const names = newestGeneration(files);
  if ("why" in names)
    return {
      why: `which of the ${files.length} that match ${shown} in ${folder} are the newest generation cannot be told: ${names.why}; move them out of ${folder} yourself (mv), then resume without --quarantine`,
    };
  const moved = [...statsByName].filter(([name]) => names.includes(name)).map(([name, stats]) => ({ name, stats }));
  return { files: moved, notes: await linksInto(folder, links, names) };
}

/** `latest -> step-500`: it is not moved, and whoever goes by it should know. */
async function linksInto(
  folder: string,
  links: readonly string[],
  moved: readonly string[],
): Promise<readonly string[]> {
  const notes: string[] = [];
  for (const link of links) {
    const target = resolve(folder, await readlink(join(folder, link)));
    if (moved.some((name) => target === join(folder, name) || target.startsWith(`${join(folder, name)}/`)))
      notes.push(`the link ${join(folder, link)} stays, and leads to ${basename(target)}, which is not there any more`);
  }
  return notes;
}

const MOST_DEPTH = 8;

/** Of a folder the newest and the sum of all in it: a file that is written there anew leaves the folder's own time as it was. */
async function contentOf(path: string, stats: BigIntStats, depth = 0): Promise<Omit<Written, "name">> {
  const writtenMs = Number(stats.mtimeNs) / 1e6;
  if (!stats.isDirectory() || depth > MOST_DEPTH) return { writtenMs, bytes: Number(stats.size) };
  let all = { writtenMs, bytes: 0 };
  for (const name of await readdir(path)) {
    const inside = await statsOf(join(path, name));
    if (inside === null) continue;
    const content = await contentOf(join(path, name), inside, depth + 1);
    all = { writtenMs: Math.max(all.writtenMs, content.writtenMs), bytes: all.bytes + content.bytes };
  }
  return all;
}

/** The name, or with `.2`, `.3` … where one of another job or of an earlier day is there. */
async function freeName(folder: string, name: string): Promise<string> {
  for (let number = 1; ; number++) {
    const path = join(folder, number === 1 ? name : `${name}.${number}`);
    if ((await statsOf(path)) === null) return path;
  }
}
