/**
 * Moving checkpoints aside so that nothing can be overwritten or lost, however many do the same at the same moment and
 * wherever one of them stands still or dies. A look and the move after it are two steps, so the look alone decides nothing:
 * the file is first renamed to a name that nobody else uses; then it shows what it is. The one that was meant gets its lasting
 * name by `link`; any other one goes back in the same way.
 */
import { randomBytes } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { link, lstat, readdir, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { QuarantineMove } from "../core/index.ts";
import { errorCode, isAbsent, pooledCalls, syncNames } from "../host/index.ts";
import { systemWords } from "./file-window.ts";

export type MovedAside =
  /** All are where they should be, or somebody has moved them elsewhere. */
  | { readonly kind: "done" }
  /** `mayMove` said no; nothing was moved after that. */
  | { readonly kind: "ended" }
  /** Another file than the one that was meant is there: it stays. Nothing after it was moved. */
  | { readonly kind: "changed"; readonly why: string }
  /** The file system says no. Nothing after it was moved. `why`: one line that says what to do. */
  | { readonly kind: "failed"; readonly why: string };

/**
 * Makes the moves, one after the other; what has been moved already is passed over, so that a second call finds it done, and
 * what a call that died has left half-way is finished. `mayMove` is asked before each. Throws only what `mayMove` throws.
 */
export async function moveAside(
  moves: readonly QuarantineMove[],
  mayMove: () => Promise<boolean>,
): Promise<MovedAside> {
  for (const move of moves) {
    if (!(await mayMove())) return { kind: "ended" };
    try {
      const why = await moveOne(move);
      if (why !== null) return { kind: "changed", why };
    } catch (error) {
      return { kind: "failed", why: cannotMove(move.from, error) };
    }
  }
  return { kind: "done" };
}

/** Those of the moves that are made, wholly or half-way. What cannot be looked at counts as made: it may be. */
export async function movedAlready(moves: readonly QuarantineMove[]): Promise<readonly QuarantineMove[]> {
  const made: QuarantineMove[] = [];
  for (const move of moves) {
    try {
      const there = [await statsOf(move.to), ...(await takenFor(move)).map(({ stats }) => stats)];
      if (there.some((stats) => stats !== null && isMeant(stats, move))) made.push(move);
    } catch {
      made.push(move);
    }
  }
  return made;
}

/** Whether something is at the place of one of them, again or still. Throws what the file system says. */
export async function anyAtItsPlace(moves: readonly QuarantineMove[]): Promise<boolean> {
  for (const { from } of moves) if ((await statsOf(from)) !== null) return true;
  return false;
}

/** Null: it is out of the way. Else why another file is, and stays, at its place. */
async function moveOne(move: QuarantineMove): Promise<string | null> {
  const { from, to } = move;
  await finishTaken(move);
  const before = await statsOf(to);
  if (before !== null) return isMeant(before, move) ? null : `${to} is there already, and is another file`;
  const seen = await statsOf(from);
  // Moved by another call at this moment, or by a person since it was planned.
  if (seen === null) return finishTaken(move).then(() => null);
  if (!isMeant(seen, move) || String(seen.ctimeNs) !== move.ctimeNs)
    return `${from} has been changed or written anew since it was to be set aside: it stays`;
  const taken = `${to}${TAKEN}${randomBytes(8).toString("hex")}`;
  await renameOrGone(from, taken);
  const got = await statsOf(taken);
  if (got !== null && !(isMeant(got, move) && hasSameContent(got, seen))) return putBack(taken, got, from);
  await finishTaken(move);
  for (const folder of new Set([dirname(to), dirname(from)])) await syncNames(pooledCalls, folder);
  const now = await statsOf(to);
  return now === null || isMeant(now, move) ? null : `${to} is there already, and is another file`;
}

/** Between the lasting name and what makes it unique. */
const TAKEN = ".taken-";

interface Taken {
  readonly path: string;
  readonly stats: BigIntStats;
}

/** What has been renamed and has neither its lasting name yet nor its old one back: of this call, or of one that died. */
async function takenFor({ to }: QuarantineMove): Promise<readonly Taken[]> {
  const taken: Taken[] = [];
  for (const name of await namesIn(dirname(to))) {
    if (!name.startsWith(`${basename(to)}${TAKEN}`)) continue;
    const path = join(dirname(to), name);
    const stats = await statsOf(path);
    if (stats !== null) taken.push({ path, stats });
  }
  return taken;
}

async function finishTaken(move: QuarantineMove): Promise<void> {
  for (const { path, stats } of await takenFor(move))
    if (!isMeant(stats, move) || !(await nameIfFree(path, stats, move.to))) await putBack(path, stats, move.from);
}

/** Returns what a person should know. */
async function putBack(taken: string, stats: BigIntStats, from: string): Promise<string> {
  const written = `${from} was written anew while it was being set aside`;
  if (await nameIfFree(taken, stats, from)) return `${written}: it stays`;
  return `${written}, twice: the last one stays, the one before is kept as ${taken}`;
}

/**
 * Gives what only we hold another name, unless that is taken: false. By `link`, which never takes a name that is there. For
 * folders, and where there are no hard links, by a look and `rename`: no two ever hold the same file, and nobody else makes
 * names in a quarantine; a folder that is not empty is never overwritten by the system itself. True also where another call
 * was quicker.
 */
async function nameIfFree(path: string, stats: BigIntStats, name: string): Promise<boolean> {
  const linked = stats.isDirectory() ? "cannot" : await linkIfFree(path, stats, name);
  if (linked !== "cannot") return linked === "named";
  if ((await statsOf(name)) !== null) return false;
  try {
    await renameOrGone(path, name);
    return true;
  } catch (error) {
    if (TAKEN_CODES.has(errorCode(error) ?? "")) return false;
    throw error;
  }
}

const TAKEN_CODES: ReadonlySet<string> = new Set(["ENOTEMPTY", "EEXIST", "ENOTDIR", "EISDIR"]);

async function linkIfFree(path: string, stats: BigIntStats, name: string): Promise<"named" | "taken" | "cannot"> {
  try {
    await link(path, name);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") return "named"; // Another call has given it its name.
    // No hard links here, or none for what belongs to another user, or no room for a second name.
    if (code !== "EEXIST") return "cannot";
    // An NFS server that is asked twice says so of our own link, too.
    if ((await statsOf(name))?.ino !== stats.ino) return "taken";
  }
  await unlink(path).catch((error: unknown) => {
    if (errorCode(error) !== "ENOENT") throw error;
  });
  return "named";
}

/** Where the old name is gone another call was quicker, or this one's first answer was lost: what is there tells. */
async function renameOrGone(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (errorCode(error) !== "ENOENT" || (await statsOf(from)) !== null) throw error;
  }
}

function isMeant(stats: BigIntStats, { inode }: QuarantineMove): boolean {
  return String(stats.ino) === inode;
}

/** Of the name itself, not of what a link leads to; null: not there. */
export async function statsOf(path: string): Promise<BigIntStats | null> {
  try {
    return await lstat(path, { bigint: true });
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

/** A rename leaves both alone, except that some file systems touch a folder which gets another one above it. */
function hasSameContent(now: BigIntStats, before: BigIntStats): boolean {
  return now.isDirectory() || (now.mtimeNs === before.mtimeNs && now.size === before.size);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

/** One line: what the file system says, and what to do about it. */
export function cannotMove(path: string, error: unknown): string {
  const code = errorCode(error) ?? "";
  const what = `the checkpoint cannot be set aside (${path}): `;
  if (["EACCES", "EPERM", "EROFS"].includes(code))
    return `${what}its folder may not be written (${systemWords(error)}); make it writable, then try again`;
  if (code === "ENOSPC" || code === "EDQUOT")
    return `${what}there is no room for one more name (${systemWords(error)}); free some, then try again`;
  return `${what}${systemWords(error)}; move it yourself (mv), then resume without --quarantine`;
}
