/** `submitters/<number>/` of a job in mode submitter: where its records lie, and how they are read. */
import type { Submitted, SubmitterClaim, SubmitterEnded, SubmitterRecords, SubmitterStarted } from "../core/index.ts";
import type { Folder } from "../host/index.ts";
import { readRecord } from "./journal.ts";
import { attemptNumberOf, type JobPlace, padded, placeOfJobFolder } from "./layout.ts";

export interface SubmitterPlace {
  readonly job: JobPlace;
  readonly number: number;
  readonly folder: string;
}

/** Open, append, close: one line for each beat, the time (epoch ms) and what it does, with a blank between. */
export const HEARTBEAT_FILE = "heartbeat";

export function submitterPlace(job: JobPlace, number: number): SubmitterPlace {
  return { job, number, folder: `${job.folder}/submitters/${padded(number)}` };
}

/** Place of the submitter whose folder this is, or null when the path has another shape. */
export function placeOfSubmitterFolder(folder: string): SubmitterPlace | null {
  const match = /^(.+)\/submitters\/(\d{4,9})$/.exec(folder);
  const job = match === null ? null : placeOfJobFolder(match[1] ?? "");
  return job === null || match === null ? null : submitterPlace(job, Number(match[2]));
}

/** From the newest started one upwards, ascending: whatever is older leaves by itself. `all`: every one. */
export async function readSubmitters(
  folder: Folder,
  job: JobPlace,
  which: "newest" | "all" = "newest",
): Promise<readonly SubmitterRecords[]> {
  const numbers = ((await folder.list(`${job.folder}/submitters`)) ?? [])
    .map(attemptNumberOf)
    .filter((number): number is number => number !== null && number > 0)
    .sort((a, b) => b - a);
  const found: SubmitterRecords[] = [];
  for (const number of numbers) {
    const records = await readSubmitter(folder, submitterPlace(job, number));
    found.push(records);
    if (which === "newest" && records.started !== null) break;
  }
  return found.reverse();
}

export async function readSubmitter(folder: Folder, place: SubmitterPlace): Promise<SubmitterRecords> {
  const names = new Set((await folder.list(place.folder)) ?? []);
  const read = async <T>(name: string): Promise<T | null> =>
    names.has(name) ? readRecord<T>(folder, `${place.folder}/${name}`) : null;
  return {
    number: place.number,
    claim: await read<SubmitterClaim>("claim.json"),
    submitted: await read<Submitted>("submitted.json"),
    started: await read<SubmitterStarted>("started.json"),
    ended: await read<SubmitterEnded>("ended.json"),
  };
}

/** The last whole line of its heartbeat; null: none yet. */
export async function readHeartbeat(
  folder: Folder,
  place: SubmitterPlace,
): Promise<{ readonly atMs: number; readonly says: string; readonly bytes: number } | null> {
  const text = await folder.read(`${place.folder}/${HEARTBEAT_FILE}`);
  const match = text === null ? null : /(?:^|\n)(\d{1,15}) ([^\n]*)\n$/.exec(text);
  return match === null || text === null ? null : { atMs: Number(match[1]), says: match[2] ?? "", bytes: text.length };
}
