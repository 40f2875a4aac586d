/** Reading and creating the records of a task. State is always read from the folder; nothing is kept between calls. */
import type {
  AttemptRecords,
  Claim,
  Exited,
  Go,
  Settled,
  SpecRevision,
  Started,
  Stop,
  StopList,
  Stops,
  Submitted,
} from "../core/index.ts";
import type { Folder } from "../host/index.ts";
import { decode, encode, JournalError } from "./codec.ts";
import {
  type AttemptPlace,
  attemptNumberOf,
  attemptPlace,
  type JobPlace,
  padded,
  recordNumberOf,
  type TaskPlace,
} from "./layout.ts";

export interface TaskState {
  /** The highest settled attempt: with the attempts above it, it is the whole state of the task. */
  readonly settled: { readonly number: number; readonly record: Settled } | null;
  /** All attempts above it, ascending. */
  readonly open: readonly AttemptRecords[];
}

/** Reads from the top down to the newest settlement: settlements are made in order, so all below it are settled too. */
export async function readTask(folder: Folder, task: TaskPlace): Promise<TaskState> {
  const names = (await folder.list(`${task.folder}/attempts`)) ?? [];
  // In most tasks the highest attempt is settled: only where it is not are all the others needed in order.
  const highest = highestAttempt(names);
  const settled = highest === 0 ? null : await readSettled(folder, attemptPlace(task, highest));
  if (settled !== null) return { settled: { number: highest, record: settled }, open: [] };
  return readFromTop(folder, task, numbersOf(names));
}

async function readFromTop(folder: Folder, task: TaskPlace, numbers: readonly number[]): Promise<TaskState> {
  const open: AttemptRecords[] = [];
  for (const number of numbers.toReversed()) {
    const place = attemptPlace(task, number);
    const settled = await readSettled(folder, place);
    if (settled !== null) return { settled: { number, record: settled }, open: open.reverse() };
    const names = await folder.list(place.folder);
    // A foreign file with the name of an attempt (vim tries out `4913`) is none.
    if (names !== null) open.push(await readRecords(folder, place, new Set(names)));
  }
  return { settled: null, open: open.reverse() };
}

/** Indices of the tasks that have a folder: those that somebody has begun to claim. */
export async function taskNumbers(folder: Folder, job: JobPlace): Promise<readonly number[]> {
  const names = (await folder.list(`${job.folder}/tasks`)) ?? [];
  return names
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((a, b) => a - b);
}

/** Numbers of all attempts of a task, ascending. Foreign files are passed over. */
export async function attemptNumbers(folder: Folder, task: TaskPlace): Promise<number[]> {
  return numbersOf((await folder.list(`${task.folder}/attempts`)) ?? []);
}

function numbersOf(names: readonly string[]): number[] {
  return names
    .map(attemptNumberOf)
    .filter((n): n is number => n !== null && n > 0)
    .sort((a, b) => a - b);
}

/** 0: none. */
function highestAttempt(names: readonly string[]): number {
  let highest = 0;
  for (const name of names) {
    const number = attemptNumberOf(name);
    if (number !== null && number > highest) highest = number;
  }
  return highest;
}

function readSettled(folder: Folder, place: AttemptPlace): Promise<Settled | null> {
  return readRecord<Settled>(folder, `${place.folder}/settled.json`);
}

/** All records of one attempt. */
export async function readAttempt(folder: Folder, place: AttemptPlace): Promise<AttemptRecords> {
  return readRecords(folder, place, new Set((await folder.list(place.folder)) ?? []));
}

async function readRecords(folder: Folder, place: AttemptPlace, names: ReadonlySet<string>): Promise<AttemptRecords> {
  const read = async <T>(name: string): Promise<T | null> =>
    names.has(name) ? readRecord<T>(folder, `${place.folder}/${name}`) : null;
  return {
    number: place.number,
    claim: await read<Claim>("claim.json"),
    submitted: await read<Submitted>("submitted.json"),
    started: await read<Started>("started.json"),
    go: await read<Go>("go.json"),
    exited: await read<Exited>("exited.json"),
    settled: await read<Settled>("settled.json"),
  };
}

/** A record, or null when it is not there. Throws JournalError. */
export async function readRecord<T>(folder: Folder, path: string): Promise<T | null> {
  const text = await folder.read(path);
  return text === null || text === "" ? null : decode<T>(text, path);
}

/** Creates a record once; whoever loses gets what is there. The record must hold its own nonce. */
export async function createRecord<T extends { readonly nonce: string }>(
  folder: Folder,
  path: string,
  record: T,
): Promise<{ readonly mine: boolean; readonly record: T }> {
  const { content } = await folder.createOnce(path, encode(record));
  const there = decode<T>(content, path);
  return { mine: there.nonce === record.nonce, record: there };
}

/** Stops of a job and of all its ancestors, as they stand for one of its tasks. */
export async function readStops(folder: Folder, { job, index }: TaskPlace): Promise<Stops> {
  return stopsFor(await readAllStops(folder, job), index);
}

/** All that is on file of a job's stops, for any of its tasks. */
export interface AllStops {
  readonly own: readonly OwnStop[];
  readonly ancestors: readonly StopList[];
}

/** A stop of the job itself, with the number that it has on file. */
export interface OwnStop extends Stop {
  readonly number: number;
}

export async function readAllStops(folder: Folder, job: JobPlace): Promise<AllStops> {
  const own = await readOwnStops(folder, job);
  const ancestors: StopList[] = [];
  for (const jobFolder of job.ancestors) {
    // Of an ancestor only the ruling one matters. A word on one of its tasks is no word on its children.
    let list: StopList = { highest: 0, ruling: null };
    for (const number of (await stopNumbers(folder, jobFolder)).toReversed()) {
      const ruling = await readRecord<Stop>(folder, `${jobFolder}/stops/${padded(number)}.json`);
      if (ruling === null || ruling.task !== undefined) continue;
      list = { highest: number, ruling };
      break;
    }
    ancestors.push(list);
  }
  return { own, ancestors };
}

/** What of them counts for one task, with the persons' words on its attempts: a stop may speak of all tasks, or of one. */
export function stopsFor({ own, ancestors }: AllStops, index: number): Stops {
  const concerned = stopsOfTask(own, index);
  const last = concerned.at(-1) ?? null;
  const words = new Map<number, string>();
  for (const { number, over, by } of concerned)
    if (over !== undefined) words.set(over, `${by} said so in stops/${padded(number)}`);
  return { lists: [{ highest: last?.number ?? 0, ruling: last }, ...ancestors], words };
}

/** Stops of a job as they count for its children: a word on one of its tasks is none on the whole of it. */
export async function readJobStops(folder: Folder, job: JobPlace): Promise<Stops> {
  const { own, ancestors } = await readAllStops(folder, job);
  return stopsFor({ own: own.filter(({ task }) => task === undefined), ancestors }, 0);
}

/** The job's own stops, of whichever task, ascending. */
export async function readOwnStops(folder: Folder, job: JobPlace): Promise<readonly OwnStop[]> {
  const own: OwnStop[] = [];
  for (const number of await stopNumbers(folder, job.folder)) {
    const stop = await readRecord<Stop>(folder, `${job.folder}/stops/${padded(number)}.json`);
    if (stop !== null) own.push({ ...stop, number });
  }
  return own;
}

/** Those of them that concern one task: they speak of all, or of it. */
export function stopsOfTask(own: readonly OwnStop[], index: number): readonly OwnStop[] {
  return own.filter(({ task }) => task === undefined || task === index);
}

async function stopNumbers(folder: Folder, jobFolder: string): Promise<number[]> {
  const names = (await folder.list(`${jobFolder}/stops`)) ?? [];
  return names
    .map(recordNumberOf)
    .filter((n): n is number => n !== null)
    .sort((a, b) => a - b);
}

/** Puts a stop on file under the next free number. */
export async function createStop(folder: Folder, job: JobPlace, stop: Stop): Promise<void> {
  await linkStop(folder, job, () => stop);
}

/**
 * Puts a stop on file that depends on the job's own before it: `make` gets all of them, ascending, and is asked again where
 * another one came in between. Null: it wanted none; else what is on file now.
 */
export async function createStopAfter(
  folder: Folder,
  job: JobPlace,
  make: (before: readonly OwnStop[]) => Stop | null | Promise<Stop | null>,
): Promise<Stop | null> {
  return linkStop(folder, job, async () => make(await readOwnStops(folder, job)));
}

async function linkStop(
  folder: Folder,
  job: JobPlace,
  make: () => Stop | null | Promise<Stop | null>,
): Promise<Stop | null> {
  const stops = `${job.folder}/stops`;
  await folder.makeFolder(stops);
  for (;;) {
    const number = ((await stopNumbers(folder, job.folder)).at(-1) ?? 0) + 1;
    // Made after the number: of those below it none can be missing, and one that has it makes the link fail.
    const stop = await make();
    if (stop === null) return null;
    const { mine } = await createRecord(folder, `${stops}/${padded(number)}.json`, stop);
    if (mine) return stop;
  }
}

/** The newest revision of the job's specification; null when the submit never got that far. */
export async function readSpec(
  folder: Folder,
  job: JobPlace,
): Promise<{ readonly number: number; readonly revision: SpecRevision } | null> {
  const names = (await folder.list(`${job.folder}/spec`)) ?? [];
  const numbers = names.map(recordNumberOf).filter((n): n is number => n !== null);
  for (const number of numbers.sort((a, b) => b - a)) {
    const revision = await readRecord<SpecRevision>(folder, `${job.folder}/spec/${padded(number)}.json`);
    // An empty one is not there yet: the one before it still holds.
    if (revision !== null) return { number, revision };
  }
  return null;
}

/** The specification as it was submitted first; null when the submit never got that far. */
export async function readFirstSpec(folder: Folder, job: JobPlace): Promise<SpecRevision | null> {
  return readRecord<SpecRevision>(folder, `${job.folder}/spec/${padded(1)}.json`);
}

/** Creates revision `number` of the specification once; whoever loses gets what is there. */
export async function createSpec(
  folder: Folder,
  job: JobPlace,
  number: number,
  revision: SpecRevision,
): Promise<{ readonly mine: boolean; readonly record: SpecRevision }> {
  await folder.makeFolder(`${job.folder}/spec`);
  return createRecord(folder, `${job.folder}/spec/${padded(number)}.json`, revision);
}

/** The environment saved at submit. */
export async function readEnvironment(folder: Folder, job: JobPlace): Promise<Readonly<Record<string, string>>> {
  const path = `${job.folder}/env.json`;
  const record = await readRecord<{ version: number; env: Record<string, string> }>(folder, path);
  if (record === null)
    throw new JournalError("missing", path, `${path} is missing: submit the job again under another name`);
  return record.env;
}
