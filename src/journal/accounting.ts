/** `accounting.json`. Anyone may write it, and again: the content is the scheduler's, so that a rename is enough. */
import type { Accounting } from "../core/index.ts";
import type { Folder } from "../host/index.ts";
import { decode, encode, JournalError } from "./codec.ts";
import type { AttemptPlace } from "./layout.ts";

export const ACCOUNTING_FILE = "accounting.json";

/** Null: not there, or damaged, which is as good: it can be asked for again. Throws JournalError `newer-version`. */
export async function readAccounting(folder: Folder, place: AttemptPlace): Promise<Accounting | null> {
  const path = pathOf(place);
  const text = await folder.read(path);
  if (text === null || text === "") return null;
  try {
    const record = decode<Partial<Accounting>>(text, path);
    return Array.isArray(record.rows) ? (record as Accounting) : null;
  } catch (error) {
    if (error instanceof JournalError && error.code === "damaged") return null;
    throw error;
  }
}

export async function writeAccounting(folder: Folder, place: AttemptPlace, accounting: Accounting): Promise<void> {
  await folder.replace(pathOf(place), encode(accounting));
}

function pathOf(place: AttemptPlace): string {
  return `${place.folder}/${ACCOUNTING_FILE}`;
}
