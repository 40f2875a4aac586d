import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { RECORD_VERSION } from "../core/index.ts";
import type { CheckpointPlace } from "./checkpoint-place.ts";

/** The task that wants to own a checkpoint. */
export interface OwnerIdentity {
  readonly jobUuid: string;
  /** Absolute; where others look whether the chain is over. */
  readonly jobFolder: string;
  readonly taskIndex: number;
  readonly taskId: string;
  /** Who does it, for people: user, host, pid. */
  readonly by: string;
}

/** Who owns a checkpoint (protocol §3). Never changed; the record with the highest number counts. */
export interface OwnerRecord extends OwnerIdentity {
  readonly version: number;
  readonly nonce: string;
  readonly atMs: number;
  /**
   * `claiming`: wants it, and may not use it before everybody else has been looked at once more. `owner`: it is this
   * task's. `none`: released by it.
   */
  readonly state: "claiming" | "owner" | "none";
  /** The resolved path of the checkpoint. */
  readonly checkpoint: string;
  /** How far the row beside the checkpoint went when this record was linked: it orders the rows among each other. */
  readonly besideNumber: number;
  /** On a person's word, since the folder of the owner before was gone. */
  readonly taken?: { readonly from: string; readonly by: string };
  /** Given back to the owner before, who turned out to be alive. */
  readonly restoredBy?: string;
}

/** A row of numbered records in one folder: `<prefix>.<k>.json`. */
export interface OwnerRow {
  readonly folder: string;
  readonly prefix: string;
}

/** Where the records of one checkpoint lie: beside it; where that cannot be, in the project's stint folder. */
export interface OwnerPlace {
  readonly checkpoint: string;
  readonly beside: OwnerRow;
  readonly project: OwnerRow;
}

// A file name may have 255 bytes; the rest is for the ending and the number.
const MOST_NAME_BYTES = 200;

/** `projectFolder` is the project's `.stint`, absolute. */
export function ownerPlace(checkpoint: CheckpointPlace, projectFolder: string): OwnerPlace {
  const { folder, name } = checkpoint;
  const shown = Buffer.byteLength(name) <= MOST_NAME_BYTES ? name : hashOf(name);
  return {
    checkpoint: join(folder, name),
    beside: { folder, prefix: `.${shown}.stint-owner` },
    project: { folder: join(projectFolder, "checkpoints"), prefix: hashOf(join(folder, name)) },
  };
}

export function ownerFile(row: OwnerRow, number: number): string {
  return join(row.folder, `${row.prefix}.${number}.json`);
}

/** The number of a record in a row; 0 for any other name. */
export function ownerNumber(row: OwnerRow, name: string): number {
  if (!name.startsWith(`${row.prefix}.`)) return 0;
  return Number(/^([1-9]\d{0,8})\.json$/.exec(name.slice(row.prefix.length + 1))?.[1] ?? 0);
}

export function newOwnerRecord(
  task: OwnerIdentity,
  place: OwnerPlace,
  rest: Pick<OwnerRecord, "state" | "besideNumber" | "taken" | "restoredBy">,
): OwnerRecord {
  const { jobUuid, jobFolder, taskIndex, taskId, by } = task;
  const created = { version: RECORD_VERSION, nonce: randomUUID(), atMs: Date.now() };
  return { ...created, jobUuid, jobFolder, taskIndex, taskId, by, checkpoint: place.checkpoint, ...rest };
}

export function formatOwnerRecord(record: OwnerRecord): string {
  return `${JSON.stringify(record)}\n`;
}

/** The record, or why it cannot be used. */
export function parseOwnerRecord(text: string): OwnerRecord | { readonly why: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { why: "it is not JSON" };
  }
  if (typeof value !== "object" || value === null) return { why: "it is not a record" };
  const { version, state, jobUuid, taskIndex, taskId, jobFolder, besideNumber } = value as Record<string, unknown>;
  if (typeof version === "number" && version > RECORD_VERSION)
    return { why: `it was written by a newer stint (record version ${version}, this one knows ${RECORD_VERSION})` };
  const whole =
    typeof version === "number" &&
    (state === "claiming" || state === "owner" || state === "none") &&
    [jobUuid, taskId, jobFolder].every((field) => typeof field === "string") &&
    [taskIndex, besideNumber].every((field) => typeof field === "number");
  return whole ? (value as OwnerRecord) : { why: "a field is missing or wrong" };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
