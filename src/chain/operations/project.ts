/** The project: the `.stint` folder that holds the jobs, and whose it is. */
import { existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { quoteCommand, suggestName } from "../../core/index.ts";
import { blockingFolder, errorCode, type Folder, userName } from "../../host/index.ts";
import { type JobPlace, placeOfJobFolder } from "../../journal/index.ts";
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

/**
 * The project of a folder: what `STINT_DIR` names, else that of the attempt that this is typed in, else the nearest `.stint`
 * upwards. Null: none is there. Throws StintError
 * `usage` where `STINT_DIR` names what can never be one.
 */
export function findProject(where: Where): Project | null {
  return projectAt(stintFolderOf(where));
}

/** The project with this `.stint` folder; null: no such folder is there. */
export function projectAt(stintFolder: string): Project | null {
  return isFolder(stintFolder) ? theProject(stintFolder) : null;
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
  return findProject(where) ?? theProject(stintFolderOf(where));
}

/** The user's name as the first part of a job's id. Falls back to the uid where the system knows no name. */
export function currentUser(): string {
  const name = userName();
  return name === null ? `uid-${process.getuid?.() ?? 0}` : suggestName(name);
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

function theProject(stintFolder: string): Project {
  return { stintFolder, folder: blockingFolder(), user: currentUser() };
}

function stintFolderOf({ cwd, environment }: Where): string {
  const named = environment.STINT_DIR ?? "";
  if (named !== "") return usableFolder(named, isAbsolute(named) ? resolve(named) : resolve(cwd, named));
  const ofAttempt = placeOfJobFolder(environment.STINT_JOB_FOLDER ?? "");
  if (ofAttempt !== null && isFolder(ofAttempt.stintFolder)) return ofAttempt.stintFolder;
  for (let folder = cwd; ; folder = dirname(folder)) {
    const candidate = join(folder, ".stint");
    if (isFolder(candidate)) return candidate;
    if (dirname(folder) === folder) return join(cwd, ".stint");
  }
}

/** Throws StintError `usage` for what can never be a project's own folder. */
function usableFolder(named: string, folder: string): string {
  const refuse = (why: string): never => {
    throw new StintError("usage", `STINT_DIR=${quoteCommand([named])} cannot hold jobs: ${why}`, {
      hint: "name a folder of its own, such as STINT_DIR=~/.stint, or leave it out",
    });
  };
  if (dirname(folder) === folder) refuse("it is the root of all files");
  for (let above = folder; above !== dirname(above); above = dirname(above)) {
    try {
      if (statSync(above).isDirectory()) break;
      refuse(`${above} is no folder`);
    } catch (error) {
      if (error instanceof StintError) throw error;
      const code = errorCode(error) ?? String(error);
      // Not there yet, or below something that is no folder: what is above it says which.
      if (code !== "ENOENT" && code !== "ENOTDIR") refuse(`${above} cannot be looked at (${code})`);
    }
  }
  return folder;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
