import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { quoteCommand, quoteShell } from "../core/index.ts";
import { errorCode, type Folder } from "../host/index.ts";
import {
  formatOwnerRecord,
  newOwnerRecord,
  type OwnerIdentity,
  type OwnerPlace,
  type OwnerRecord,
  ownerFile,
} from "./owner-record.ts";
import { type OwnerEntry, type OwnersOnFile, readOwners } from "./owner-rows.ts";

/** Is the chain of another owner proved over? `gone-folder`: its job folder is not where it was, nobody can tell. */
export type OwnerJudgement = "over" | "alive" | "unknown" | "gone-folder";
export type JudgeOwner = (owner: OwnerRecord) => Promise<OwnerJudgement>;

export type Ownership =
  | { readonly owned: true; readonly number: number; readonly path: string }
  /** `by` null: there is a record that cannot be read. */
  | { readonly owned: false; readonly by: OwnerRecord | null; readonly why: string };

export interface ClaimOptions {
  /** Link a new record even where the highest is ours: a chain that is over does so before it goes on (protocol §3). */
  readonly renew?: boolean;
  /** The person who said `--take-checkpoint`; counts only where the owner's folder is gone. */
  readonly takenBy?: string;
}

export type CurrentOwner =
  /** No record was ever made. */
  | { readonly kind: "none" }
  /** The last owner has given it free. */
  | { readonly kind: "released"; readonly by: OwnerRecord }
  /** `record.state` is `owner`, or `claiming` while somebody is taking it over (or died doing so). */
  | { readonly kind: "task"; readonly record: OwnerRecord; readonly path: string }
  | { readonly kind: "unreadable"; readonly path: string; readonly why: string };

/** Who owns the checkpoint now. */
export async function readOwner(folder: Folder, place: OwnerPlace): Promise<CurrentOwner> {
  const { top, unreadable } = await readOwners(folder, place);
  if (unreadable !== null) return { kind: "unreadable", path: unreadable.path, why: unreadable.why };
  if (top === null) return { kind: "none" };
  if (top.record.state === "none") return { kind: "released", by: top.record };
  return { kind: "task", record: top.record, path: top.path };
}

/** A task whatever path its job folder is reached by. */
export type TaskIdentity = Pick<OwnerIdentity, "jobUuid" | "taskIndex">;

/** May this task (still) use the checkpoint? An unreadable record is a no. To be asked after `go` and before the start. */
export async function stillOwner(folder: Folder, place: OwnerPlace, me: TaskIdentity): Promise<boolean> {
  const { top, unreadable } = await readOwners(folder, place);
  return unreadable === null && top !== null && isMine(top, me) && top.record.state === "owner";
}

/**
 * Makes this task the owner of the checkpoint, or says who is. Any number of processes may call it at once; at most one
 * wins.
 *
 * It takes two records. The first, `claiming`, stops everybody else; after it the last owner is judged once more, and only
 * when its chain is still over the second, `owner`, is linked. An owner links its `go` before it reads who owns; we link
 * our claim before we look for its `go`: one of the two sees the other. An owner that turns out to be alive gets the
 * checkpoint back. Throws on errors of the folder such as ENOSPC.
 */
export async function claimOwner(
  folder: Folder,
  place: OwnerPlace,
  me: OwnerIdentity,
  judge: JudgeOwner,
  options: ClaimOptions = {},
): Promise<Ownership> {
  let besideWritable = true;
  let renew = options.renew === true;
  for (let lost = 0; ; ) {
    const owners = await readOwners(folder, place);
    if (owners.unreadable !== null) {
      const { path, why, unfinished } = owners.unreadable;
      if (!unfinished || ++lost > MOST_ROUNDS_FOR_EMPTY)
        return { owned: false, by: null, why: `the owner record ${path} cannot be used: ${why}` };
      await pause(lost + 3);
      continue;
    }
    const mine =
      owners.top !== null && isMine(owners.top, me) && owners.top.record.state !== "none" ? owners.top : null;
    const beside = owners.besideNumber !== null && besideWritable;
    const inPlace = mine !== null && (mine.beside || !beside);
    if (inPlace && mine.record.state === "owner" && !renew)
      return { owned: true, number: mine.number, path: mine.path };
    const refusal = await refusalBy(owners, me, judge, options, place);
    if (refusal !== null) {
      if (mine !== null) await giveBack(folder, place, owners, me, beside);
      return refusal;
    }
    const state = mine !== null && (inPlace || mine.record.state === "owner") ? "owner" : "claiming";
    const linked = await link(folder, place, owners, beside, claimRecord(me, place, owners, state, options));
    if (linked === "not-writable") besideWritable = false;
    else if (linked === "done") renew &&= state !== "owner";
    else if (++lost > MOST_ROUNDS) throw new Error(`the owner of ${place.checkpoint} changes all the time; try again`);
    else await pause(lost);
    // Won or lost: what is on file decides.
  }
}

/** Links owner *none* where this task is the owner. Returns false when it was not. */
export async function releaseOwner(folder: Folder, place: OwnerPlace, me: OwnerIdentity): Promise<boolean> {
  let besideWritable = true;
  for (let lost = 0; ; ) {
    const owners = await readOwners(folder, place);
    const { top } = owners;
    if (owners.unreadable !== null || top === null || !isMine(top, me) || top.record.state === "none") return false;
    const linked = await giveBack(folder, place, owners, me, owners.besideNumber !== null && besideWritable);
    if (linked === "done") return true;
    if (linked === "not-writable") besideWritable = false;
    else if (++lost > MOST_ROUNDS) throw new Error(`the owner of ${place.checkpoint} changes all the time; try again`);
    else await pause(lost);
  }
}

/** Rounds lost to others, or to a file server that shows old answers, before it is called an error; about a minute. */
const MOST_ROUNDS = 60;
/** About three seconds. */
const MOST_ROUNDS_FOR_EMPTY = 10;

/** The first rounds go at once: each was won by somebody, and there are few. */
async function pause(lost: number): Promise<void> {
  if (lost > 3) await sleep(Math.min(1000, 10 * 2 ** (lost - 3)));
}

function isMine(entry: OwnerEntry, me: TaskIdentity): boolean {
  // Not the folder: a project may be moved, and one folder has several paths on different hosts.
  return entry.record.jobUuid === me.jobUuid && entry.record.taskIndex === me.taskIndex;
}

type Refusal = Extract<Ownership, { owned: false }>;

/** Judges whoever else stands on top, and whoever else may be using the checkpoint; null: nobody is in the way. */
async function refusalBy(
  owners: OwnersOnFile,
  me: OwnerIdentity,
  judge: JudgeOwner,
  options: ClaimOptions,
  place: OwnerPlace,
): Promise<Refusal | null> {
  const viewer = { stintFolder: dirname(place.project.folder), user: me.taskId.split("/")[1] ?? "" };
  for (const entry of new Set([owners.top, owners.settled])) {
    if (entry === null || entry.record.state === "none" || isMine(entry, me)) continue;
    const judged = await judge(entry.record);
    if (judged === "over" || (judged === "gone-folder" && options.takenBy !== undefined)) continue;
    return { owned: false, by: entry.record, why: whyOwned(entry.record, judged, viewer) };
  }
  return null;
}

function claimRecord(
  me: OwnerIdentity,
  place: OwnerPlace,
  owners: OwnersOnFile,
  state: "claiming" | "owner",
  options: ClaimOptions,
): OwnerRecord {
  const before = [owners.top, owners.settled].find((entry) => entry?.record.state === "owner" && !isMine(entry, me));
  const taken =
    options.takenBy === undefined || before == null ? null : { from: before.record.jobFolder, by: options.takenBy };
  return newOwnerRecord(me, place, {
    state,
    besideNumber: owners.besideNumber ?? 0,
    ...(taken === null ? {} : { taken }),
  });
}

/** Ours is on top and shall not be: the last owner's again if we only claimed it, nobody's otherwise. */
async function giveBack(
  folder: Folder,
  place: OwnerPlace,
  owners: OwnersOnFile,
  me: OwnerIdentity,
  beside: boolean,
): Promise<Linked> {
  const { settled } = owners;
  const other = settled !== null && settled.record.state === "owner" && !isMine(settled, me) ? settled.record : null;
  const besideNumber = owners.besideNumber ?? 0;
  const record =
    other === null
      ? newOwnerRecord(me, place, { state: "none", besideNumber })
      : newOwnerRecord(other, place, { state: "owner", besideNumber, restoredBy: me.by });
  const linked = await link(folder, place, owners, beside, record);
  return linked === "not-writable" && owners.top?.beside === false
    ? link(folder, place, owners, false, record)
    : linked;
}

type Linked = "done" | "lost" | "not-writable";

/** Links the next number of one row. Where hard links or the folder fail, the answer says so; other errors are thrown. */
async function link(
  folder: Folder,
  place: OwnerPlace,
  owners: OwnersOnFile,
  beside: boolean,
  record: OwnerRecord,
): Promise<Linked> {
  const content = formatOwnerRecord(record);
  const path = beside
    ? ownerFile(place.beside, (owners.besideNumber ?? 0) + 1)
    : ownerFile(place.project, owners.projectNumber + 1);
  if (!beside) await folder.makeFolder(place.project.folder);
  try {
    return (await folder.createOnce(path, content)).content === content ? "done" : "lost";
  } catch (error) {
    const code = errorCode(error) ?? "";
    // Somebody without hard links is about to fill it.
    if (code === "EMPTY") return "lost";
    if (beside && ["EACCES", "EPERM", "EROFS", "ENOENT", "ENOTDIR"].includes(code)) return "not-writable";
    throw error;
  }
}

/**
 * Why the checkpoint is not free, and what to do, in one line, as the reader would type it: names without `/user/` where the
 * owner is the reader's, and the other project's folder where it is another.
 */
export function whyOwned(
  owner: OwnerRecord,
  judged: OwnerJudgement,
  viewer: { readonly stintFolder: string; readonly user: string },
): string {
  const own = `/${viewer.user}/`;
  const task = owner.taskId.startsWith(own) ? owner.taskId.slice(own.length) : owner.taskId;
  // A job of one task is known without its index.
  const job = owner.taskIndex > 0 ? task : task.replace(/\/\d+$/, "");
  const home = /^(.*)\/jobs\//s.exec(owner.jobFolder)?.[1] ?? viewer.stintFolder;
  const elsewhere = home !== viewer.stintFolder;
  const look = `${elsewhere ? `STINT_DIR=${quoteCommand([home])} ` : ""}stint status ${quoteShell(job)}`;
  const who = `checkpoint ${owner.checkpoint} belongs to task ${task} (${owner.jobFolder})`;
  switch (judged) {
    case "gone-folder":
      return `${who}, and that folder is gone; if nothing uses the checkpoint any more, say so with --take-checkpoint`;
    case "unknown":
      return `${who}, and whether that is over cannot be told from here; look with: ${look}`;
    default:
      return elsewhere
        ? `${who}, which is not over; look with: ${look}, or use another checkpoint`
        : `${who}, which is not over; wait for it, end it with: stint cancel ${quoteShell(job)}, or use another checkpoint`;
  }
}
