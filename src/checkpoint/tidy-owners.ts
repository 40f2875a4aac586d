/** What claims leave behind beside a checkpoint: records that count no longer, and temporary files of processes that died. */
import { lstat, readdir, readFile, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Folder, pidExists, temporaryMaker, temporaryName } from "../host/index.ts";
import { type OwnerPlace, type OwnerRow, ownerFile, ownerNumber, parseOwnerRecord } from "./owner-record.ts";

/**
 * Records younger than this stay: only the highest counts, but a file server may show an old list for a minute, and whoever
 * goes by it must find that the next number is taken.
 */
const KEEP_MS = 24 * 3_600_000;
/** Whoever is alive links a temporary file within milliseconds of making it. */
const LINKED_WITHIN_MS = 60_000;
const MOST_RECORD_BYTES = 64 * 1024;

/**
 * Removes them; to be called by whoever has just claimed. `nowMs`: epoch milliseconds, held against the times in the records
 * alone. Never throws: what stays does no harm, and the next claim tries again.
 */
export async function tidyOwners(folder: Folder, place: OwnerPlace, nowMs: number, keepMs = KEEP_MS): Promise<void> {
  for (const row of [place.beside, place.project]) {
    try {
      await removeOldRecords(folder, row, nowMs - keepMs);
      await removeLeftovers(row.folder, nowMs);
    } catch {
      // Not writable, not listed, removed by somebody else in the same moment: see above.
    }
  }
}

/**
 * From the lowest number upwards, so that whatever happens the row has no hole above what is left. What a reader needs stays:
 * the highest, the one below it, and all down to the first that is no mere claim.
 */
async function removeOldRecords(folder: Folder, row: OwnerRow, beforeMs: number): Promise<void> {
  const numbers = ((await folder.list(row.folder)) ?? [])
    .map((name) => ownerNumber(row, name))
    .filter((number) => number > 0)
    .sort((a, b) => a - b);
  if (numbers.length < 3 || !(await isListedByAll(row.folder))) return;
  const needed = await lowestNeeded(folder, row, numbers);
  for (const number of numbers) {
    if (number >= needed) return;
    const record = parseOwnerRecord((await folder.read(ownerFile(row, number))) ?? "");
    if ("why" in record || record.atMs > beforeMs) return;
    await folder.remove(ownerFile(row, number));
  }
}

async function lowestNeeded(folder: Folder, row: OwnerRow, numbers: readonly number[]): Promise<number> {
  for (const number of numbers.toReversed()) {
    const record = parseOwnerRecord((await folder.read(ownerFile(row, number))) ?? "");
    // What cannot be read may be anything: nothing is removed below it.
    if ("why" in record) return 0;
    if (record.state !== "claiming") return Math.min(number, numbers.at(-2) ?? number);
  }
  return 0;
}

/** Whoever may make records in the folder but not list it tries the numbers from 1: there all of them stay. */
async function isListedByAll(path: string): Promise<boolean> {
  const { mode } = await stat(path);
  return [mode >> 6, mode >> 3, mode].every((bits) => (bits & 0o3) !== 0o3 || (bits & 0o4) !== 0);
}

/** Temporary files of records whose makers died before they could link or remove them. */
async function removeLeftovers(path: string, nowMs: number): Promise<void> {
  let folderMs: number | null = null;
  for (const name of await readdir(path)) {
    const maker = temporaryMaker(name);
    if (maker === null) continue;
    const file = join(path, name);
    const stats = await lstat(file);
    if (!stats.isFile() || stats.size > MOST_RECORD_BYTES) continue;
    const text = await readFile(file, "utf8");
    const record = parseOwnerRecord(text);
    // Torn, or none of an owner: only one that begins as ours do.
    if ("why" in record && text !== "" && !text.startsWith('{"version":')) continue;
    const isTorn = "why" in record;
    // Of a process elsewhere only the record's own time tells; one of ours that lives is never taken its file away.
    if (maker.pid === null ? isTorn : pidExists(maker.pid)) continue;
    // Under the same host's name it may live where it cannot be seen, in another container or on another machine, and be just
    // about to write or link: what holds no time of its own yet is held against a file that is made now.
    if (isTorn) folderMs ??= await timeIn(path);
    const ageMs = isTorn ? (folderMs ?? 0) - stats.mtimeMs : nowMs - record.atMs;
    if (ageMs >= (maker.pid === null ? KEEP_MS : LINKED_WITHIN_MS)) await unlink(file);
  }
}

/** What time it is by the clock of the folder's file system, in epoch ms: that of a file which is made there for this. */
async function timeIn(path: string): Promise<number> {
  const probe = temporaryName(path);
  await writeFile(probe, "", { flag: "wx", mode: 0o600 });
  try {
    return (await lstat(probe)).mtimeMs;
  } finally {
    await unlink(probe);
  }
}
