/** The project: the `.stint` folder that holds the jobs, and whose it is. */
import { existsSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { suggestName } from "../../core/index.ts";
import { blockingFolder, type Folder } from "../../host/index.ts";
import type { JobPlace } from "../../journal/index.ts";
import { StintError } from "./errors.ts";

/** Where an operation is asked for. */
export interface Where {
  /** Absolute. */
  readonly cwd: string;
  /** `STINT_DIR` names the `.stint` folder itself. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface Project {
  /** The `.stint` folder, absolute. */
  readonly stintFolder: string;
  readonly folder: Folder;
  /** The user that `sim` is short for: `/<user>/sim`. */
  readonly user: string;
}

/** The project of a folder: the nearest `.stint` upwards, or what `STINT_DIR` names. Null: none is there. */
export function findProject(where: Where): Project | null {
  const stintFolder = stintFolderOf(where);
  return isFolder(stintFolder) ? projectAt(stintFolder) : null;
}

/** As findProject; throws StintError `no-such-job` when there is none. */
export function requireProject(where: Where): Project {
  const project = findProject(where);
  if (project !== null) return project;
  const named = where.environment.STINT_DIR ?? "";
  throw new StintError(
    "no-such-job",
    named === ""
      ? `no .stint folder in ${where.cwd} or above it: no job was submitted from here`
      : `STINT_DIR names ${stintFolderOf(where)}, which is no folder: no job was submitted there`,
  );
}

/** The project that a submit belongs to: the one that is there, else one to be made in the current folder. Makes nothing. */
export function projectForSubmit(where: Where): Project {
  return findProject(where) ?? projectAt(stintFolderOf(where));
}

/** The user's name as the first part of a job's id. Falls back to the uid where the system knows no name. */
export function currentUser(): string {
  try {
    return suggestName(userInfo().username);
  } catch {
    // A uid without an entry in the password database, as in many containers.
    return `uid-${process.getuid?.() ?? 0}`;
  }
}

/**
 * Refuses to write into what belongs to another user (also for root: files of root in a user's chain would stop it).
 * Throws StintError `not-owner`. `path` may not be there yet.
 */
export function requireOwn(path: string): void {
  const mine = process.geteuid?.();
  const owner = ownerUid(path);
  if (owner === null || mine === undefined || owner === mine) return;
  throw new StintError(
    "not-owner",
    `${path} belongs to uid ${owner}, you are uid ${mine}: only its owner may change it`,
    {
      hint: `looking is allowed; to change it, become its owner`,
    },
  );
}

/** Uid of who owns a file or folder; null: not there. */
export function ownerUid(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.uid ?? null;
}

/** Checks that a job may be written by this user: its folder, and `.stint` above it. */
export function requireOwnJob(job: JobPlace): void {
  requireOwn(existsSync(job.folder) ? job.folder : job.stintFolder);
}

function projectAt(stintFolder: string): Project {
  return { stintFolder, folder: blockingFolder(), user: currentUser() };
}

function stintFolderOf({ cwd, environment }: Where): string {
  const named = environment.STINT_DIR ?? "";
  if (named !== "") return isAbsolute(named) ? resolve(named) : resolve(cwd, named);
  for (let folder = cwd; ; folder = dirname(folder)) {
    const candidate = join(folder, ".stint");
    if (isFolder(candidate)) return candidate;
    if (dirname(folder) === folder) return join(cwd, ".stint");
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
