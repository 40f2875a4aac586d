/** A job folder knows itself: a uuid, and the inode of its own folder, which a copy does not share. */
import { join } from "node:path";
import { RECORD_VERSION } from "../core/index.ts";
import type { Folder } from "../host/index.ts";
import { encode, JournalError } from "./codec.ts";
import { createRecord, readRecord } from "./journal.ts";
import type { JobPlace } from "./layout.ts";

export interface Home {
  readonly version: number;
  readonly nonce: string;
  readonly atMs: number;
  readonly uuid: string;
  /** Where the folder was when it was made, for the message when it is found elsewhere. */
  readonly folder: string;
  readonly inode: string;
}

/** Makes the job's home or returns the one that is there. */
export async function createHome(folder: Folder, job: JobPlace, uuid: string, atMs: number): Promise<Home> {
  await folder.makeFolder(job.folder);
  const inode = (await folder.identity(job.folder)) ?? "";
  const home: Home = { version: RECORD_VERSION, nonce: uuid, atMs, uuid, folder: job.folder, inode };
  return (await createRecord(folder, join(job.folder, "home.json"), home)).record;
}

/** The job's home; throws JournalError `copied` when this folder is a copy, `missing` when there is none. */
export async function checkHome(folder: Folder, job: JobPlace): Promise<Home> {
  const path = join(job.folder, "home.json");
  const home = await readRecord<Home>(folder, path);
  if (home === null) throw new JournalError("missing", path, `${path} is missing: this is no job folder`);
  const inode = await folder.identity(job.folder);
  if (inode === home.inode) return home;
  throw new JournalError(
    "copied",
    path,
    `${job.folder} is a copy of ${home.folder} (or was moved to another file system): two folders must not run one job. ` +
      "If the original is gone for good: stint resume JOB --take-checkpoint",
  );
}

/** A person's word that this folder is the job's home now. Only for a copy whose original no longer is one. */
export async function adoptHome(folder: Folder, job: JobPlace, atMs: number): Promise<Home> {
  const path = join(job.folder, "home.json");
  const home = await readRecord<Home>(folder, path);
  if (home === null) throw new JournalError("missing", path, `${path} is missing: this is no job folder`);
  const original = await folder.identity(home.folder);
  if (original !== null && original === home.inode)
    throw new JournalError(
      "copied",
      path,
      `the original ${home.folder} is still there: run the job from it, or remove it`,
    );
  const inode = (await folder.identity(job.folder)) ?? "";
  const adopted: Home = { ...home, atMs, folder: job.folder, inode };
  await folder.replace(path, encode(adopted));
  return adopted;
}
