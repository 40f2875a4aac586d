/** All records of a job of ours and of its child jobs that usage is made of. */
import { type Accounting, type AttemptRecords, type Decision, type Settled, standingDecision } from "../core/index.ts";
import type { Folder } from "../host/index.ts";
import {
  attemptNumbers,
  attemptPlace,
  findFamily,
  findJobs,
  type JobPlace,
  readAccounting,
  readAttempt,
  readFirstSpec,
  readStops,
  type TaskPlace,
  taskNumbers,
  taskPlace,
} from "../journal/index.ts";

export interface OwnAttempt {
  readonly folder: string;
  readonly records: AttemptRecords;
  /** What the scheduler has counted for it; null: not on file. */
  readonly accounting: Accounting | null;
}

export interface OwnTask {
  readonly place: TaskPlace;
  readonly attempts: readonly OwnAttempt[];
  /** What it stands on; null: nothing is settled. */
  readonly decision: Decision | null;
  readonly settled: Settled | null;
}

export interface OwnJob {
  readonly place: JobPlace;
  /** Null: its submit was never finished. */
  readonly submittedAtMs: number | null;
  readonly tasks: readonly OwnTask[];
}

/** The job and all below it, parents first. Throws JournalError, FolderError. */
export async function readOwnJobs(folder: Folder, root: JobPlace): Promise<readonly OwnJob[]> {
  return readEach(folder, await findFamily(folder, root));
}

/** All jobs of a project, parents first. Throws JournalError, FolderError. */
export async function readAllJobs(folder: Folder, stintFolder: string): Promise<readonly OwnJob[]> {
  return readEach(folder, await findJobs(folder, stintFolder));
}

async function readEach(folder: Folder, places: readonly JobPlace[]): Promise<readonly OwnJob[]> {
  const jobs: OwnJob[] = [];
  for (const place of places) jobs.push(await readOwnJob(folder, place));
  return jobs;
}

async function readOwnJob(folder: Folder, place: JobPlace): Promise<OwnJob> {
  const tasks: OwnTask[] = [];
  for (const index of await taskNumbers(folder, place)) tasks.push(await readOwnTask(folder, taskPlace(place, index)));
  return { place, submittedAtMs: (await readFirstSpec(folder, place))?.atMs ?? null, tasks };
}

async function readOwnTask(folder: Folder, place: TaskPlace): Promise<OwnTask> {
  const attempts: OwnAttempt[] = [];
  for (const number of await attemptNumbers(folder, place)) {
    const attempt = attemptPlace(place, number);
    const records = await readAttempt(folder, attempt);
    attempts.push({ folder: attempt.folder, records, accounting: await readAccounting(folder, attempt) });
  }
  const settled = attempts.findLast(({ records }) => records.settled !== null)?.records.settled ?? null;
  return { place, attempts, settled, decision: standingDecision(settled, await readStops(folder, place)) };
}
