import { errorCode, type Folder } from "../host/index.ts";
import {
  type OwnerPlace,
  type OwnerRecord,
  type OwnerRow,
  ownerFile,
  ownerNumber,
  parseOwnerRecord,
} from "./owner-record.ts";

export interface OwnerEntry {
  readonly number: number;
  readonly path: string;
  readonly beside: boolean;
  readonly record: OwnerRecord;
}

/** A record that is there and cannot be used: nobody may act on what it hides. */
export interface Unreadable {
  readonly path: string;
  readonly why: string;
  /** Empty: somebody may be about to fill it. */
  readonly unfinished: boolean;
}

/** What is on file about the owner of one checkpoint. */
export interface OwnersOnFile {
  /** Highest number beside the checkpoint (0: none); null: its folder is not there. */
  readonly besideNumber: number | null;
  readonly projectNumber: number;
  /** The newest record of both rows. */
  readonly top: OwnerEntry | null;
  /** The newest that is no mere claim: only its task may be using the checkpoint. */
  readonly settled: OwnerEntry | null;
  readonly unreadable: Unreadable | null;
}

/**
 * Reads both rows, each from its highest record down to the first that is no mere claim. Throws what the folder throws,
 * except where a folder may not be listed or a record not be read.
 */
export async function readOwners(folder: Folder, place: OwnerPlace): Promise<OwnersOnFile> {
  const beside = await readRow(folder, place.beside, true);
  const project = await readRow(folder, place.project, false);
  const entries = [...(beside?.entries ?? []), ...(project?.entries ?? [])].sort(byAge);
  return {
    besideNumber: beside?.number ?? null,
    projectNumber: project?.number ?? 0,
    top: entries.at(-1) ?? null,
    settled: entries.findLast((entry) => entry.record.state !== "claiming") ?? null,
    unreadable: beside?.unreadable ?? project?.unreadable ?? null,
  };
}

interface Row {
  readonly number: number;
  readonly entries: readonly OwnerEntry[];
  readonly unreadable: Unreadable | null;
}

/** A record in the project folder comes after those that lay beside the checkpoint when it was linked, and before the next. */
function byAge(a: OwnerEntry, b: OwnerEntry): number {
  const base = (entry: OwnerEntry) => (entry.beside ? entry.number : entry.record.besideNumber);
  return base(a) - base(b) || Number(b.beside) - Number(a.beside) || a.number - b.number;
}

async function readRow(folder: Folder, row: OwnerRow, beside: boolean): Promise<Row | null> {
  const names = await listed(folder, row.folder);
  if (names === null) return null;
  let number = names.reduce((highest, name) => Math.max(highest, ownerNumber(row, name)), 0);
  const entries: OwnerEntry[] = [];
  let path = ownerFile(row, number);
  try {
    // A list can be older than the files (NFS): look whether there are higher ones.
    while ((await folder.read(ownerFile(row, number + 1))) !== null) number++;
    for (let n = number; n > 0; n--) {
      path = ownerFile(row, n);
      const text = await folder.read(path);
      // Removed by hand: what was below it can not be told from what never was.
      if (text === null) break;
      if (text.trim() === "") return { number, entries, unreadable: { path, why: EMPTY, unfinished: true } };
      const record = parseOwnerRecord(text);
      if ("why" in record) return { number, entries, unreadable: { path, why: record.why, unfinished: false } };
      entries.push({ number: n, path, beside, record });
      if (record.state !== "claiming") break;
    }
  } catch (error) {
    if (errorCode(error) !== "EACCES") throw error;
    // Records are for their writer's eyes only: another user's says no more than that it is there.
    return { number, entries, unreadable: { path, why: "it belongs to another user", unfinished: false } };
  }
  return { number, entries, unreadable: null };
}

const EMPTY = "it is empty: just being written, or its writer died; if it stays so, remove it";

async function listed(folder: Folder, path: string): Promise<readonly string[] | null> {
  try {
    return await folder.list(path);
  } catch (error) {
    // A folder that may be entered but not listed: the numbers are tried from 1.
    if (errorCode(error) === "EACCES" || errorCode(error) === "EPERM") return [];
    throw error;
  }
}
