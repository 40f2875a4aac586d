/** What is on file of one job, read with as few looks as possible: a list may hold thousands, most of them finished. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type Exited,
  hasTaskPlan,
  type JobSpec,
  type Ref,
  refOf,
  type SpecRevision,
  type Started,
  type Stops,
  type SubmitterRecords,
  specForTask,
  submitterRef,
  taskIndices,
  taskPhase,
} from "../../core/index.ts";
import type { Folder } from "../../host/index.ts";
import {
  type AllStops,
  attemptNumbers,
  attemptPlace,
  type JobPlace,
  JournalError,
  newestThatRan,
  padded,
  readAllStops,
  readRecord,
  readSpec,
  readSubmitters,
  readTask,
  stopsFor,
  type TaskPlace,
  type TaskState,
  taskNumbers,
  taskPlace,
} from "../../journal/index.ts";

/** One task with its job: for most jobs that is all of it. */
export interface JobOnFile {
  readonly place: JobPlace;
  readonly task: TaskPlace;
  /** Of this task: `{task}` is filled in. */
  readonly spec: JobSpec;
  /** Of the whole job, as it is on file. */
  readonly jobSpec: JobSpec;
  readonly revision: number;
  /** Of the first revision. */
  readonly submittedAtMs: number;
  readonly stops: Stops;
  readonly state: TaskState;
  /** The newest settlement of an attempt that ran: above it lie only ones that never did. */
  readonly lastRan: TaskState["settled"];
  /** Why the application of that attempt could not be started at all; null: it could, or nobody is asked to look. */
  readonly notStarted: string | null;
  /** Mode submitter: from the newest started one upwards. */
  readonly submitters: readonly SubmitterRecords[];
}

/**
 * Reads the records of a job and one of its tasks, `index` (null: the first). Null: its submit never came to its end, and nothing
 * was ever claimed. Throws JournalError, also where attempts are on file and the specification that they ran by is not: that job
 * may be running.
 */
export async function readJob(folder: Folder, place: JobPlace, index: number | null = null): Promise<JobOnFile | null> {
  const found = await revisionOrLoss(folder, place);
  if (found === null) return null;
  const task = index ?? taskIndices(found.revision.spec.tasks)[0] ?? 0;
  return readOne(folder, place, found, task, readOnce(folder, place));
}

/** The same of all tasks, in their order. */
export async function readJobTasks(folder: Folder, place: JobPlace): Promise<readonly JobOnFile[] | null> {
  const found = await revisionOrLoss(folder, place);
  if (found === null) return null;
  const ofJob = readOnce(folder, place);
  const tasks: JobOnFile[] = [];
  for (const index of taskIndices(found.revision.spec.tasks))
    tasks.push(await readOne(folder, place, found, index, ofJob));
  return tasks;
}

/** Whether a job consists of several tasks by name, each with a chain of its own. */
export function hasTasks({ spec }: { readonly spec: JobSpec }): boolean {
  return hasTaskPlan(spec);
}

async function readOne(
  folder: Folder,
  place: JobPlace,
  found: NonNullable<Awaited<ReturnType<typeof newestRevision>>>,
  index: number,
  ofJob: OfJob,
): Promise<JobOnFile> {
  const task = taskPlace(place, index);
  const state = await readTask(folder, task);
  // A finished chain stays finished whatever anybody wishes: most jobs of a long list need no look at their stops.
  const finished = state.open.length === 0 && state.settled?.record.decision.kind === "finish";
  const stops = finished ? NO_STOPS : stopsFor(await ofJob.stops(), index);
  const { number: revision, submittedAtMs } = found;
  const spec = specForTask(found.revision.spec, index);
  const lastRan = await newestThatRan(folder, task, state.settled);
  const notStarted = finished ? null : await whyNotStarted(folder, task, lastRan);
  return {
    place,
    task,
    spec,
    jobSpec: found.revision.spec,
    revision,
    submittedAtMs,
    stops,
    state,
    lastRan,
    notStarted,
    submitters: finished || spec.mode !== "submitter" ? [] : await ofJob.submitters(),
  };
}

/** What is the same for all tasks of a job, and not always needed: read once. */
interface OfJob {
  readonly stops: () => Promise<AllStops>;
  readonly submitters: () => Promise<readonly SubmitterRecords[]>;
}

function readOnce(folder: Folder, place: JobPlace): OfJob {
  return {
    stops: once(() => readAllStops(folder, place)),
    submitters: once(() => readSubmitters(folder, place)),
  };
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | null = null;
  return () => {
    reading ??= read();
    return reading;
  };
}

/** The task with that index; null: the job's only one, or its first. */
export async function taskOrFirst(folder: Folder, place: JobPlace, index: number | null): Promise<TaskPlace> {
  if (index !== null) return taskPlace(place, index);
  const found = await revisionOrLoss(folder, place);
  return taskPlace(place, taskIndices(found?.revision.spec.tasks)[0] ?? 0);
}

/** Over or held by its newest settlement, with nothing left above it: no process and no scheduler need be asked. */
export function isAtRest(job: JobOnFile): boolean {
  return taskPhase(job.state, job.stops) === "over";
}

/** Refs whose answers the state of this chain depends on. */
export function refsOf(job: JobOnFile): readonly Ref[] {
  const refs = job.state.open.map(refOf);
  const settledRef = job.state.settled?.record.evidence.ref ?? null;
  const submitters = job.submitters.filter(({ ended }) => ended === null).map(submitterRef);
  return [...refs, settledRef, ...submitters].filter((ref): ref is Ref => ref !== null);
}

/** `started` of the newest settled attempt. */
export async function readSettledStarted(folder: Folder, job: JobOnFile): Promise<Started | null> {
  const number = job.state.settled?.number;
  if (number === undefined) return null;
  return readRecord<Started>(folder, join(attemptPlace(job.task, number).folder, "started.json"));
}

/** `started` of the newest attempt that ran and is settled. */
export async function readLastStarted(folder: Folder, { task, lastRan }: JobOnFile): Promise<Started | null> {
  return lastRan === null
    ? null
    : readRecord<Started>(folder, join(attemptPlace(task, lastRan.number).folder, "started.json"));
}

/** Only a hold is a person's affair, and only then the testimony has to be read beside the settlement. */
async function whyNotStarted(folder: Folder, task: TaskPlace, lastRan: TaskState["settled"]): Promise<string | null> {
  const record = lastRan?.record ?? null;
  if (lastRan === null || record === null || record.verdict !== "failed" || record.decision.kind !== "hold")
    return null;
  const { exitCode, why } = record.evidence;
  if (exitCode === 126 || exitCode === 127) return why;
  const path = join(attemptPlace(task, lastRan.number).folder, "exited.json");
  return (await readRecord<Exited>(folder, path))?.spawnError ?? null;
}

/**
 * Revisions are numbered without gaps and most jobs have one: a look for the second is cheaper than a list. The names are put
 * together by hand, since `join` is slow where thousands of jobs are read.
 */
async function newestRevision(
  folder: Folder,
  place: JobPlace,
): Promise<{ readonly number: number; readonly revision: SpecRevision; readonly submittedAtMs: number } | null> {
  const revision = await readRecord<SpecRevision>(folder, `${place.folder}/spec/${padded(1)}.json`);
  if (revision === null) return null;
  const submittedAtMs = revision.atMs;
  if (!existsSync(`${place.folder}/spec/${padded(2)}.json`)) return { number: 1, revision, submittedAtMs };
  const newest = await readSpec(folder, place);
  return { number: newest?.number ?? 1, revision: newest?.revision ?? revision, submittedAtMs };
}

/** A specification comes before the first claim: one that is still not there when attempts are was lost, and that throws. */
async function revisionOrLoss(folder: Folder, place: JobPlace): ReturnType<typeof newestRevision> {
  const first = await newestRevision(folder, place);
  if (first !== null || !(await hasAttempts(folder, place))) return first;
  // The submit may just have made both.
  const found = await newestRevision(folder, place);
  if (found !== null) return found;
  const path = join(place.folder, "spec", `${padded(1)}.json`);
  const what = existsSync(path) ? "is empty" : "is missing";
  throw new JournalError("damaged", path, `${path} ${what}, yet attempts are on file: put it back from a backup`);
}

async function hasAttempts(folder: Folder, place: JobPlace): Promise<boolean> {
  for (const index of await taskNumbers(folder, place))
    if ((await attemptNumbers(folder, taskPlace(place, index))).length > 0) return true;
  return false;
}

const NO_STOPS: Stops = { lists: [], words: new Map() };

/** How many of its attempts have run. */
export function attemptsOf({ state }: JobOnFile): number {
  return state.settled?.record.carry.attempts ?? 0;
}
