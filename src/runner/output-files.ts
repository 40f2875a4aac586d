/**
 * Where the application's output goes: straight into `stdout.log` and `stderr.log` of the attempt. Where the user named a
 * file, that log is a link to it, and the file is only ever appended to.
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, stat, symlink, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JobSpec } from "../core/index.ts";
import { errorCode } from "../host/index.ts";
import type { AttemptPlace } from "../journal/index.ts";
import { fillFileName } from "../slurm/index.ts";

export interface OutputPaths {
  /** null: only in the attempt's folder. */
  readonly stdout: string | null;
  readonly stderr: string | null;
}

/**
 * The user's files with Slurm's patterns filled in. `%j` and `%A` are the scheduler's job id (on `local`, which has none that
 * lasts: the attempt's number), `%a` the index of the task.
 */
export function outputPaths(spec: JobSpec, place: AttemptPlace, where: AttemptAt): OutputPaths {
  const fill = (path: string | null): string | null => (path === null ? null : filled(path, spec, place, where));
  return { stdout: fill(spec.output.stdout), stderr: fill(spec.output.stderr) };
}

/** What the application reads, with its patterns filled in; null: nothing. */
export function inputPath(spec: JobSpec, place: AttemptPlace, where: AttemptAt): string | null {
  return spec.input === undefined ? null : filled(spec.input, spec, place, where);
}

export interface AttemptAt {
  /** null: the scheduler has none that lasts. */
  readonly jobId: string | null;
  readonly node: string;
  readonly user: string;
}

function filled(path: string, spec: JobSpec, place: AttemptPlace, { jobId, node, user }: AttemptAt): string {
  return fillFileName(path, {
    jobId: jobId ?? String(place.number),
    index: String(place.task.index),
    jobName: spec.slurm.jobName ?? spec.name,
    node,
    user,
  });
}

/** Opens the file for reading. Throws one clear line. */
export async function openInput(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r");
  } catch (error) {
    const why = errorCode(error) ?? String(error);
    throw new Error(`the application's input ${path} cannot be read (${why}): mend it, or choose another --input`);
  }
}

/** Bytes already in the user's files; 0 where there is none yet. */
export async function outputOffsets(paths: OutputPaths): Promise<{ readonly stdout: number; readonly stderr: number }> {
  return { stdout: await sizeOf(paths.stdout), stderr: await sizeOf(paths.stderr) };
}

export interface OpenOutput {
  readonly stdout: number;
  readonly stderr: number;
  close(): Promise<void>;
}

/** Opens both for appending; missing folders of the user's are made. Throws one clear line. */
export async function openOutput(attemptFolder: string, paths: OutputPaths): Promise<OpenOutput> {
  const stdout = await openOne(join(attemptFolder, "stdout.log"), paths.stdout);
  try {
    const stderr = await openOne(join(attemptFolder, "stderr.log"), paths.stderr);
    return {
      stdout: stdout.fd,
      stderr: stderr.fd,
      close: async () => {
        await Promise.all([stdout.close(), stderr.close()]);
      },
    };
  } catch (error) {
    await stdout.close();
    throw error;
  }
}

const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;

async function openOne(log: string, target: string | null): Promise<FileHandle> {
  try {
    if (target === null) return await open(log, APPEND, 0o600);
    await mkdir(dirname(target), { recursive: true });
    // The user's own file gets the mode that the user's umask says.
    const file = await open(target, APPEND, 0o666);
    await link(log, target);
    return file;
  } catch (error) {
    throw new Error(
      `the application's output cannot be written to ${target ?? log} (${errorCode(error) ?? String(error)}): ` +
        "make room or mend the permissions, or choose another --output",
    );
  }
}

async function link(log: string, target: string): Promise<void> {
  // `--output` may name /dev/null or the like; it is a link all the same.
  if (await pointsTo(log, target)) return;
  await symlink(target, log);
}

async function pointsTo(log: string, target: string): Promise<boolean> {
  try {
    if ((await lstat(log)).isSymbolicLink()) {
      if ((await readlink(log)) === target) return true;
      await unlink(log);
    }
    return false;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}

async function sizeOf(path: string | null): Promise<number> {
  if (path === null) return 0;
  try {
    const stats = await stat(path);
    return stats.isFile() ? stats.size : 0;
  } catch {
    // Not there yet, or not to be looked at: opening it will say so.
    return 0;
  }
}
