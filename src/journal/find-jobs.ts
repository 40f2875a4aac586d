/** Which jobs a `.stint` folder holds. Whatever is not a job is passed over. */
import { statSync } from "node:fs";
import { type Folder, FolderError } from "../host/index.ts";
import { type JobPlace, jobPlace } from "./layout.ts";

/** All jobs with a home below `.stint`, parents before children, by name. */
export async function findJobs(folder: Folder, stintFolder: string): Promise<JobPlace[]> {
  const places: JobPlace[] = [];
  const users = (await folder.list(`${stintFolder}/jobs`)) ?? [];
  for (const user of [...users].sort()) {
    const names = (await listFolder(folder, `${stintFolder}/jobs/${user}`)) ?? [];
    for (const name of [...names].sort()) await collect(folder, jobPlace(stintFolder, `/${user}/${name}`), places);
  }
  return places;
}

/** A job with a home and all below it, parents first, by name. */
export async function findFamily(folder: Folder, root: JobPlace): Promise<JobPlace[]> {
  const places: JobPlace[] = [];
  await collect(folder, root, places);
  return places;
}

/**
 * Looks for the two names that matter: a list of each job folder would cost more than all else of a long table, and so would
 * an error for each that has no children.
 */
async function collect(folder: Folder, place: JobPlace, places: JobPlace[]): Promise<void> {
  if (!isThere(`${place.folder}/home.json`)) return;
  places.push(place);
  if (!isThere(`${place.folder}/children`)) return;
  const children = (await listFolder(folder, `${place.folder}/children`)) ?? [];
  for (const child of [...children].sort())
    await collect(folder, jobPlace(place.stintFolder, `${place.id}/${child}`), places);
}

function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (isForeign(error)) return false;
    throw new FolderError("look at", path, error);
  }
}

/** Names in a folder; null when it is not there or is a file. */
async function listFolder(folder: Folder, path: string): Promise<readonly string[] | null> {
  try {
    return await folder.list(path);
  } catch (error) {
    if (isForeign(error)) return null;
    throw error;
  }
}

/** A foreign file among the folders, or another user's private folder: no job that we could read. */
function isForeign(error: unknown): boolean {
  return isCode(error, "ENOTDIR") || isCode(error, "EACCES");
}

function isCode(error: unknown, code: string): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === code;
}
