/** The state of one job or of all of a project, with one question per scheduler for those that are not at rest. */
import { join } from "node:path";
import {
  type GoStart,
  mayBegin,
  type Progress,
  progressOf,
  progressValue,
  type Ref,
  type Seen,
  taskPhase,
} from "../../core/index.ts";
import { type Folder, realClock } from "../../host/index.ts";
import { attemptPlace, findJobs, type JobPlace, JournalError, readRecord } from "../../journal/index.ts";
import { isHandingOver } from "./chain-state.ts";
import { type ChainStatus, type StatusInput, statusOf, unfinishedStatus, unreadableStatus } from "./chain-status.ts";
import { attendedBy } from "./driver-record.ts";
import { shortName } from "./job-name.ts";
import { statusOfTasks } from "./job-of-tasks.ts";
import {
  hasTasks,
  isAtRest,
  type JobOnFile,
  readJobTasks,
  readLastStarted,
  readSettledStarted,
  refsOf,
} from "./job-on-file.ts";
import { worldOf } from "./job-world.ts";
import { type Project, requireOwnJob } from "./project.ts";

/** A chain that looks stranded is looked at again this much later: a claim may just have been on its way. */
const LOOK_AGAIN_MS = 300;

export interface JobTable {
  /** Stranded first, then running, waiting, held, unreadable; over last, the newest first. */
  readonly jobs: readonly ChainStatus[];
  /** 1 when a chain is stranded, else 0. */
  readonly exitStatus: 0 | 1;
}

/** All jobs of a project. A job that cannot be read is a row that says so. Throws StintError only for the project folder. */
export async function jobTable(project: Project): Promise<JobTable> {
  const places = await findJobs(project.folder, project.stintFolder);
  const jobs = [...(await statusesOf(project, places)).values()].map(({ job }) => job).sort(byUrgency);
  return { jobs, exitStatus: jobs.some((job) => job.state === "stranded") ? 1 : 0 };
}

/** One job, or one of its tasks. Throws JournalError where its records cannot be used. */
export async function chainStatus(
  project: Project,
  place: JobPlace,
  index: number | null = null,
): Promise<ChainStatus> {
  const { job, tasks } = await jobStatus(project, place);
  return tasks.find(({ task }) => task !== null && task === index) ?? job;
}

export interface JobStatus {
  /** The whole job. */
  readonly job: ChainStatus;
  /** Each of its tasks, in their order; empty where it has one task without a name of its own. */
  readonly tasks: readonly ChainStatus[];
}

/** One job with its tasks. Throws JournalError where its records cannot be used. */
export async function jobStatus(project: Project, place: JobPlace): Promise<JobStatus> {
  const name = shortName(project, place.id);
  const tasks = await readJobTasks(project.folder, place);
  if (tasks === null) return { job: unfinishedStatus(place, name), tasks: [] };
  const [only] = tasks;
  if (only !== undefined && !hasTasks(only) && isAtRest(only))
    return { job: sane(statusOf(only, atRest(), name)), tasks: [] };
  const status = (await statusesOf(project, [place])).get(place.id);
  return status ?? { job: unfinishedStatus(place, name), tasks: [] };
}

async function statusesOf(project: Project, places: readonly JobPlace[]): Promise<ReadonlyMap<string, JobStatus>> {
  const found = new Map<string, JobStatus>();
  await look(project, places, found);
  const stranded = places.filter((place) => found.get(place.id)?.job.state === "stranded");
  if (stranded.length > 0) {
    await realClock.sleep(LOOK_AGAIN_MS);
    await look(project, stranded, found);
  }
  return found;
}

/** What was read of a job, or why it cannot be. */
type Looked =
  | { readonly place: JobPlace; readonly tasks: readonly JobOnFile[] | null }
  | { readonly place: JobPlace; readonly error: string };

async function look(project: Project, places: readonly JobPlace[], found: Map<string, JobStatus>): Promise<void> {
  const looked: Looked[] = [];
  for (const place of places) {
    try {
      looked.push({ place, tasks: await readJobTasks(project.folder, place) });
    } catch (error) {
      looked.push({ place, error: lineOf(error) });
    }
  }
  const open = looked.flatMap((one) => ("tasks" in one && one.tasks !== null ? one.tasks.filter(isOpen) : []));
  const seen = await observeAll(project, open);
  for (const one of looked) {
    const { place } = one;
    const name = shortName(project, place.id);
    try {
      if ("error" in one) found.set(place.id, { job: unreadableStatus(place, one.error), tasks: [] });
      else if (one.tasks === null) found.set(place.id, { job: unfinishedStatus(place, name), tasks: [] });
      else found.set(place.id, await statusNow(project, place, one.tasks, seen));
    } catch (error) {
      found.set(place.id, { job: unreadableStatus(place, lineOf(error)), tasks: [] });
    }
  }
}

async function statusNow(
  project: Project,
  place: JobPlace,
  tasks: readonly JobOnFile[],
  seen: ReadonlyMap<Ref, Seen>,
): Promise<JobStatus> {
  const name = shortName(project, place.id);
  const [first] = tasks;
  if (first === undefined) return { job: unfinishedStatus(place, name), tasks: [] };
  const attended = tasks.every(isAtRest) ? null : await attendedBy(project.folder, place);
  const inputs = new Map<JobOnFile, StatusInput>();
  const resting = atRest();
  for (const task of tasks)
    inputs.set(
      task,
      isOpen(task) ? await inputFor(project, task, seen, attended) : { ...resting, attendedBy: attended },
    );
  const statuses = tasks.map((task) =>
    sane(statusOf(task, inputs.get(task) ?? resting, hasTasks(task) ? `${name}/${task.task.index}` : name)),
  );
  const [only] = statuses;
  if (!hasTasks(first) && only !== undefined) return { job: only, tasks: [] };
  const together = await amongOthers(project, tasks, statuses, inputs);
  return { job: statusOfTasks(together, first, name), tasks: together };
}

/** Tasks that nobody is seen to move may be moved by the others of their job, or must wait for them. */
async function amongOthers(
  project: Project,
  tasks: readonly JobOnFile[],
  alone: readonly ChainStatus[],
  inputs: ReadonlyMap<JobOnFile, StatusInput>,
): Promise<readonly ChainStatus[]> {
  if (!alone.some(({ state }) => state === "stranded")) return alone;
  const allowed = new Set(
    mayBegin(
      tasks.map(({ state, stops }) => taskPhase(state, stops)),
      tasks[0]?.spec.tasks?.parallel ?? null,
    ),
  );
  const move = alone.some(({ mover }) => mover) || (await isHandingOn(project, tasks));
  return alone.map((status, position) => {
    const task = tasks[position];
    const input = task === undefined ? undefined : inputs.get(task);
    if (status.state !== "stranded" || task === undefined || input === undefined) return status;
    const mustWait = taskPhase(task.state, task.stops) === "idle" && !allowed.has(position);
    const name = `${shortName(project, task.place.id)}/${task.task.index}`;
    return sane(statusOf(task, { ...input, others: { mustWait, move } }, name));
  });
}

/** So many of the tasks that were over last may still be about to begin others. */
const MOST_HANDING_ON = 10;

/** The body of a task that has just ended begins the next one: it lives, here or as a job of the scheduler. */
async function isHandingOn(project: Project, tasks: readonly JobOnFile[]): Promise<boolean> {
  const ended = tasks.filter((task) => isAtRest(task) && task.state.settled !== null);
  const newest = ended.toSorted((a, b) => (b.state.settled?.record.atMs ?? 0) - (a.state.settled?.record.atMs ?? 0));
  const begun = (
    await Promise.all(newest.slice(0, MOST_HANDING_ON).map((task) => readLastStarted(project.folder, task)))
  ).filter((started) => started !== null);
  if (begun.some((started) => isHandingOver(started, new Map()))) return true;
  const [first] = tasks;
  if (first === undefined || first.spec.scheduler === "local" || begun.length === 0) return false;
  const seen = await observeGroup(
    project,
    [first],
    begun.map(({ ref }) => ref),
  );
  return begun.some((started) => isHandingOver(started, seen));
}

/** Somebody may have to be asked about it: it is not at rest, and of several tasks it is none that has never begun. */
function isOpen(job: JobOnFile): boolean {
  return !isAtRest(job) && (!hasTasks(job) || job.state.settled !== null || job.state.open.length > 0);
}

/** Records that somebody has edited may hold anything: one job's nonsense must not keep the others from being shown. */
function sane(status: ChainStatus): ChainStatus {
  for (const [field, value] of Object.entries(status)) {
    const isTime = field.endsWith("Ms") || field === "attempt" || field === "attempts";
    if (isTime && value !== null && (typeof value !== "number" || !(Math.abs(value) <= 8.64e15)))
      throw new Error(`its records hold no sensible ${field}: they were edited, or belong to another program`);
  }
  return status;
}

/**
 * Slurm is asked once for all; each job on `local` looks at its own processes. Where nobody can be asked, the answers are
 * "unreachable", which is never taken for an absence.
 */
async function observeAll(project: Project, jobs: readonly JobOnFile[]): Promise<ReadonlyMap<Ref, Seen>> {
  const seen = new Map<Ref, Seen>();
  const slurm = jobs.filter((job) => job.spec.scheduler === "slurm");
  const local = new Map<string, JobOnFile[]>();
  for (const job of jobs) if (job.spec.scheduler === "local") add(local, job);
  const groups = [...local.values(), slurm];
  for (const group of groups) {
    const refs = [...new Set(group.flatMap(refsOf))];
    if (refs.length === 0) continue;
    for (const [ref, answer] of await observeGroup(project, group, refs)) seen.set(ref, answer);
  }
  return seen;
}

function add(groups: Map<string, JobOnFile[]>, job: JobOnFile): void {
  const group = groups.get(job.place.id);
  if (group === undefined) groups.set(job.place.id, [job]);
  else group.push(job);
}

async function observeGroup(
  project: Project,
  jobs: readonly JobOnFile[],
  refs: readonly Ref[],
): Promise<ReadonlyMap<Ref, Seen>> {
  let error = "nobody was asked";
  for (const { place, spec } of jobs) {
    try {
      // Looking at a local attempt also ends what its death has left behind: that is its owner's affair alone.
      if (spec.scheduler === "local") requireOwnJob(place);
      const { scheduler } = await worldOf(project, place, spec);
      return await scheduler.observe(refs);
    } catch (caught) {
      // The next job of the same scheduler may be in a better state.
      error = lineOf(caught);
    }
  }
  return new Map(refs.map((ref) => [ref, { kind: "unreachable", error }]));
}

async function inputFor(
  project: Project,
  job: JobOnFile,
  seen: ReadonlyMap<Ref, Seen>,
  attended: number | null,
): Promise<StatusInput> {
  return {
    ...atRest(),
    seen,
    progress: await progressNow(project, job),
    firstProgress: await firstProgress(project.folder, job),
    settledStarted: await readSettledStarted(project.folder, job),
    attendedBy: attended,
  };
}

/** The checkpoint as it is now, held against the high-water mark; null where nothing is configured. */
async function progressNow(project: Project, job: JobOnFile): Promise<Progress | null> {
  if (job.spec.checkpoint === null) return null;
  const opened = worldOf(project, job.place, job.spec);
  // A copied folder has no world; its row says so.
  const reading = await (await opened).readCheckpoint(job.task, job.spec);
  return progressOf(reading, job.state.settled?.record.carry.highWater ?? null);
}

async function firstProgress(folder: Folder, job: JobOnFile): Promise<number | null> {
  if (job.spec.checkpoint === null || job.spec.total === null) return null;
  const place = attemptPlace(job.task, 1);
  const go = await readRecord<GoStart>(folder, join(place.folder, "go.json"));
  return go?.what === "start" ? progressValue(go.progressBefore) : null;
}

function atRest(): StatusInput {
  return {
    seen: new Map(),
    progress: null,
    firstProgress: null,
    settledStarted: null,
    attendedBy: null,
    nowMs: realClock.nowMs(),
    nowMonotonicMs: realClock.monotonicMs(),
  };
}

const URGENCY: Readonly<Record<ChainStatus["state"], number>> = {
  stranded: 0,
  running: 1,
  waiting: 2,
  held: 3,
  unreadable: 4,
  "unfinished-submit": 5,
  over: 6,
};

function byUrgency(a: ChainStatus, b: ChainStatus): number {
  const byState = URGENCY[a.state] - URGENCY[b.state];
  if (byState !== 0) return byState;
  return (b.endedAtMs ?? b.submittedAtMs ?? 0) - (a.endedAtMs ?? a.submittedAtMs ?? 0);
}

function lineOf(error: unknown): string {
  if (error instanceof JournalError) return error.message;
  return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
}
