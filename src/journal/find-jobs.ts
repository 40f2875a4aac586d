/** Which jobs a `.stint` folder holds. Whatever is not a job is passed over. */
import { join } from "node:path";
import type { Folder } from "../host/index.ts";
import { type JobPlace, jobPlace } from "./layout.ts";

/** All jobs with a home below `.stint`, parents before children, by name. */
export async function findJobs(folder: Folder, stintFolder: string): Promise<JobPlace[]> {
  const places: JobPlace[] = [];
  const users = (await folder.list(join(stintFolder, "jobs"))) ?? [];
  for (const user of [...users].sort()) {
    const names = (await listFolder(folder, join(stintFolder, "jobs", user))) ?? [];
    for (const name of [...names].sort()) await collect(folder, jobPlace(stintFolder, `/${user}/${name}`), places);
  }
  return places;
}

async function collect(folder: Folder, place: JobPlace, places: JobPlace[]): Promise<void> {
  const names = await listFolder(folder, place.folder);
  if (names === null || !names.includes("home.json")) return;
  places.push(place);
  if (!names.includes("children")) return;
  const children = (await listFolder(folder, join(place.folder, "children"))) ?? [];
  for (const child of [...children].sort())
    await collect(folder, jobPlace(place.stintFolder, `${place.id}/${child}`), places);
}

/** Names in a folder; null when it is not there or is a file. */
async function listFolder(folder: Folder, path: string): Promise<readonly string[] | null> {
  try {
    return await folder.list(path);
  } catch (error) {
    // A foreign file among the folders, or another user's private folder: no job that we could read.
    if (isCode(error, "ENOTDIR") || isCode(error, "EACCES")) return null;
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === code;
}
