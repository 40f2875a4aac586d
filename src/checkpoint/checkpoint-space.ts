import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode, type Space, spaceAt } from "../host/index.ts";
import { resolveCheckpoint } from "./checkpoint-place.ts";
import { systemWords } from "./file-window.ts";
import { matchingNames } from "./generations.ts";
import { sizeText } from "./quote-seen.ts";
import type { CheckpointSpec } from "./read-checkpoint.ts";

/** Something about the checkpoint's storage that a person should know before an attempt starts. */
export interface StorageFinding {
  readonly kind:
    | "folder-missing"
    | "not-a-folder"
    | "not-a-file"
    | "hard-linked"
    | "not-readable"
    | "not-writable"
    | "no-space"
    | "no-inodes"
    | "looks-elsewhere";
  /** `error`: an attempt would work in vain; `warning`: it may. */
  readonly severity: "error" | "warning";
  /** One line that says what to do. */
  readonly text: string;
}

/** A checkpoint that is written beside the old one and renamed needs its size once more, and may have grown. */
const ROOM_FACTOR = 1.2;
/** Asked for where no checkpoint shows how much it will be. */
const LEAST_BYTES = 1024 * 1024;
const LEAST_INODES = 4;

/**
 * Can a checkpoint be saved there? Looks at the folder, the permissions and the room for one more copy of what is there
 * now. An empty list: nothing was found against it (quotas of network file systems do not always show). Never throws for
 * what the file system says. Writes nothing.
 */
export async function spaceFor(checkpoint: CheckpointSpec, cwd: string): Promise<readonly StorageFinding[]> {
  const { what, path, folder } = await resolveCheckpoint(checkpoint, cwd);
  const looked = await folderFinding(folder, what);
  if (looked !== null) return [looked];
  const glob = checkpoint.progress.kind === "files" ? checkpoint.progress.glob : null;
  const found = glob === null ? await fileFindings(path) : [];
  const elsewhere = glob === null ? null : await elsewhereFinding(folder, glob);
  const bytes = glob === null ? await sizeOf(path) : await largestSize(folder, glob);
  return [...found, ...(elsewhere === null ? [] : [elsewhere]), ...(await roomFindings(folder, bytes))];
}

async function folderFinding(folder: string, what: "file" | "files"): Promise<StorageFinding | null> {
  try {
    const stats = await stat(folder);
    if (!stats.isDirectory())
      return {
        kind: "not-a-folder",
        severity: "error",
        text: `${folder} is not a folder; ${what === "files" ? "for files, checkpoint.path names the folder they lie in" : "choose another checkpoint.path"}`,
      };
    await access(folder, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return missingFolder(folder, what);
    const denied = ["EACCES", "EROFS", "EPERM"].includes(errorCode(error) ?? "");
    return {
      kind: denied ? "not-writable" : "not-readable",
      severity: "error",
      text: `the checkpoint folder ${folder} cannot be ${denied ? "written" : "looked at"}: ${systemWords(error)}`,
    };
  }
}

/** A folder of its own is often made by the application; the folder above a single file seldom is. */
function missingFolder(folder: string, what: "file" | "files"): StorageFinding {
  return {
    kind: "folder-missing",
    severity: what === "files" ? "warning" : "error",
    text:
      what === "files"
        ? `the checkpoint folder ${folder} is not there yet; the application must make it`
        : `the checkpoint folder ${folder} is not there; make it (mkdir -p) or correct checkpoint.path`,
  };
}

async function fileFindings(path: string): Promise<readonly StorageFinding[]> {
  try {
    const stats = await stat(path);
    if (!stats.isFile())
      return [
        {
          kind: "not-a-file",
          severity: "error",
          text: `the checkpoint ${path} is not a regular file; correct checkpoint.path`,
        },
      ];
    await access(path, constants.R_OK);
    // Under its other name it could belong to another job, and nobody would see that.
    if (stats.nlink > 1)
      return [
        {
          kind: "hard-linked",
          severity: "error",
          text: `the checkpoint ${path} has ${stats.nlink} hard links: one checkpoint needs one name; copy it to a file of its own`,
        },
      ];
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    return [
      { kind: "not-readable", severity: "error", text: `the checkpoint ${path} cannot be read: ${systemWords(error)}` },
    ];
  }
  try {
    await access(path, constants.W_OK);
    return [];
  } catch (error) {
    // Temp + rename needs the folder only, so that this need not be the end.
    return [
      {
        kind: "not-writable",
        severity: "warning",
        text: `the checkpoint ${path} cannot be written: ${systemWords(error)}`,
      },
    ];
  }
}

/** `path: state.txt` with `files: restart.*` looks in a folder `state.txt`; the files may well lie beside it. */
async function elsewhereFinding(folder: string, glob: string): Promise<StorageFinding | null> {
  if ((await matchingNames(folder, glob)).length > 0) return null;
  const above = dirname(folder);
  const [first] = await matchingNames(above, glob);
  if (first === undefined) return null;
  return {
    kind: "looks-elsewhere",
    severity: "warning",
    text: `no ${glob} in ${folder}, but ${join(above, first)} is there; checkpoint.path names the folder the files lie in`,
  };
}

async function roomFindings(folder: string, checkpointBytes: number): Promise<readonly StorageFinding[]> {
  let space: Space;
  try {
    space = await spaceAt(folder);
  } catch (error) {
    return [
      { kind: "not-readable", severity: "warning", text: `the room in ${folder} is not known: ${systemWords(error)}` },
    ];
  }
  const findings: StorageFinding[] = [];
  const neededBytes = Math.max(LEAST_BYTES, Math.ceil(checkpointBytes * ROOM_FACTOR));
  if (space.freeBytes < neededBytes)
    findings.push({
      kind: "no-space",
      severity: "error",
      text: `${folder} has ${sizeText(space.freeBytes)} free, one more checkpoint needs ${sizeText(neededBytes)}; free some space there`,
    });
  if (space.freeInodes !== null && space.freeInodes < LEAST_INODES)
    findings.push({
      kind: "no-inodes",
      severity: "error",
      text: `${folder} has room for ${space.freeInodes} more files (inodes); remove some there`,
    });
  return findings;
}

/** The largest file that matches: the next generation will hardly be smaller. Folders that match are not measured. */
async function largestSize(folder: string, glob: string): Promise<number> {
  const names = (await matchingNames(folder, glob)).slice(-MOST_MEASURED);
  const sizes = await Promise.all(names.map((name) => sizeOf(join(folder, name))));
  return Math.max(0, ...sizes);
}

const MOST_MEASURED = 100;

async function sizeOf(path: string): Promise<number> {
  // Not there or not readable: said by another finding; its size is not known, and no room is asked for it.
  return stat(path).then(
    (stats) => (stats.isFile() ? stats.size : 0),
    () => 0,
  );
}
