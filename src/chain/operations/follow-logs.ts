/** The output of the attempts, in order, and on and on with `follow`. */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Started } from "../../core/index.ts";
import { errorCode, FolderError, realClock } from "../../host/index.ts";
import { attemptNumbers, attemptPlace, type JobPlace, readRecord, type TaskPlace } from "../../journal/index.ts";
import { StintError } from "./errors.ts";
import { shortName } from "./job-name.ts";
import { taskOrFirst } from "./job-on-file.ts";
import type { Project } from "./project.ts";
import { taskState } from "./status.ts";
import { isAtEnd } from "./watch-job.ts";

export type LogStream = "stdout" | "stderr" | "runner" | "scheduler";

export interface LogOptions {
  /** The index of the task; default: the job's only one, or its first. */
  readonly task?: number | null;
  /** Only this attempt; default: all that have begun. */
  readonly attempt?: number;
  /** Default: stdout and stderr. */
  readonly streams?: readonly LogStream[];
  /** Go on until the chain is at its end. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

export interface LogChunk {
  readonly attempt: number;
  readonly stream: LogStream;
  /** As it was written: it may begin or end inside a character. */
  readonly bytes: Uint8Array;
}

const CHUNK_BYTES = 64 * 1024;
const FOLLOW_EVERY_MS = 250;
/** How often a follower asks whether the chain is at its end. */
const STATUS_EVERY = 4;

/**
 * Yields what the attempts wrote. A file that the user named holds the output of all attempts: of it, the part of each.
 * Throws StintError `no-such-attempt` for an attempt that is not there.
 */
export async function* followLogs(
  project: Project,
  place: JobPlace,
  options: LogOptions = {},
): AsyncGenerator<LogChunk> {
  const streams = options.streams ?? ["stdout", "stderr"];
  const task = await taskOrFirst(project.folder, place, options.task ?? null);
  if (options.attempt !== undefined) await requireAttempt(project, task, options.attempt);
  const readers = new Map<string, Reader>();
  let current = options.attempt ?? 0;
  for (let look = 1; ; look++) {
    const atEnd = options.follow !== true || (look % STATUS_EVERY === 0 && (await isDone(project, task, options)));
    const begun = await begunAttempts(project, task, options.attempt ?? current);
    const numbers = options.attempt === undefined ? begun : [options.attempt];
    for (const number of numbers) {
      if (number < current) continue;
      current = number;
      const next = begun.find((other) => other > number) ?? null;
      for (const stream of streams) yield* readOn(project, task, number, next, stream, readers);
    }
    if (atEnd || options.signal?.aborted === true) return;
    await realClock.sleep(FOLLOW_EVERY_MS, options.signal);
  }
}

interface Reader {
  readonly path: string;
  offset: number;
}

async function* readOn(
  project: Project,
  task: TaskPlace,
  attempt: number,
  next: number | null,
  stream: LogStream,
  readers: Map<string, Reader>,
): AsyncGenerator<LogChunk> {
  const key = `${attempt} ${stream}`;
  let reader = readers.get(key);
  if (reader === undefined) {
    reader = await open(project, task, attempt, stream);
    readers.set(key, reader);
  }
  // Two names for one file (`-o all.log -e all.log`): the first one shows it.
  if (stream === "stderr" && sameFile(reader.path, join(attemptFolder(task, attempt), "stdout.log"))) return;
  const endAt = next === null ? Number.POSITIVE_INFINITY : await endOffset(project, task, attempt, next, stream);
  for (let bytes = readFrom(reader, endAt); bytes !== null; bytes = readFrom(reader, endAt))
    yield { attempt, stream, bytes };
}

async function open(project: Project, task: TaskPlace, attempt: number, stream: LogStream): Promise<Reader> {
  const path = join(attemptFolder(task, attempt), `${stream}.log`);
  if (stream !== "stdout" && stream !== "stderr") return { path, offset: 0 };
  const started = await startedOf(project, task, attempt);
  return { path, offset: started?.outputOffsetBytes[stream] ?? 0 };
}

/** Where the next attempt's part of the same file begins. Files of its own end where they end. */
async function endOffset(
  project: Project,
  task: TaskPlace,
  attempt: number,
  next: number,
  stream: LogStream,
): Promise<number> {
  if (stream !== "stdout" && stream !== "stderr") return Number.POSITIVE_INFINITY;
  const shared = sameFile(
    join(attemptFolder(task, attempt), `${stream}.log`),
    join(attemptFolder(task, next), `${stream}.log`),
  );
  if (!shared) return Number.POSITIVE_INFINITY;
  return (await startedOf(project, task, next))?.outputOffsetBytes[stream] ?? Number.POSITIVE_INFINITY;
}

/** The next part, or null when there is none (yet). */
function readFrom(reader: Reader, endAt: number): Uint8Array | null {
  let file: number;
  try {
    file = openSync(reader.path, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw new FolderError("read", reader.path, error);
  }
  try {
    const left = Math.min(fstatSync(file).size, endAt) - reader.offset;
    if (left <= 0) return null;
    const buffer = Buffer.allocUnsafe(Math.min(left, CHUNK_BYTES));
    const count = readSync(file, buffer, 0, buffer.length, reader.offset);
    reader.offset += count;
    return count === 0 ? null : buffer.subarray(0, count);
  } finally {
    closeSync(file);
  }
}

/** From the one that is being read on: those below are done with, and there may be hundreds. */
async function begunAttempts(project: Project, task: TaskPlace, from: number): Promise<readonly number[]> {
  const begun: number[] = [];
  for (const number of await attemptNumbers(project.folder, task))
    if (number >= from && (await startedOf(project, task, number)) !== null) begun.push(number);
  return begun;
}

function startedOf(project: Project, task: TaskPlace, attempt: number): Promise<Started | null> {
  return readRecord<Started>(project.folder, join(attemptFolder(task, attempt), "started.json"));
}

async function requireAttempt(project: Project, task: TaskPlace, attempt: number): Promise<void> {
  const numbers = await attemptNumbers(project.folder, task);
  if (numbers.includes(attempt)) return;
  const there = numbers.length === 0 ? "none yet" : `1 to ${numbers.at(-1)}`;
  throw new StintError(
    "no-such-attempt",
    `${shortName(project, task.job.id)} has no attempt ${attempt}; there are: ${there}`,
  );
}

async function isDone(project: Project, task: TaskPlace, { attempt }: LogOptions): Promise<boolean> {
  if (attempt !== undefined) {
    const settled = join(attemptFolder(task, attempt), "settled.json");
    if ((await project.folder.identity(settled)) !== null) return true;
  }
  return isAtEnd(await taskState(project, task.job, task.index));
}

function attemptFolder(task: TaskPlace, number: number): string {
  return attemptPlace(task, number).folder;
}

function sameFile(a: string, b: string): boolean {
  const [one, other] = [statSync(a, { throwIfNoEntry: false }), statSync(b, { throwIfNoEntry: false })];
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}
