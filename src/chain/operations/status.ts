/** The state of one job or of all of a project, with one question per scheduler for those that are not at rest. */
import { join } from "node:path";
import { type GoStart, type Progress, progressOf, progressValue, type Ref, type Seen } from "../../core/index.ts";
import { type Folder, realClock } from "../../host/index.ts";
import { attemptPlace, findJobs, type JobPlace, JournalError, readRecord, taskPlace } from "../../journal/index.ts";
import { type ChainStatus, type StatusInput, statusOf, unfinishedStatus, unreadableStatus } from "./chain-status.ts";
import { attendedBy } from "./driver-record.ts";
import { shortName } from "./job-name.ts";
import { isAtRest, type JobOnFile, readJob, readSettledStarted, refsOf } from "./job-on-file.ts";
import { worldOf } from "./job-world.ts";
import { descendantsOf } from "./parent-job.ts";
import { type Project, requireOwnJob } from "./project.ts";
import { submitterNow } from "./submitter-status.ts";

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
  const jobs = [...(await statusesOf(project, places))].sort(byUrgency);
  return { jobs, exitStatus: jobs.some((job) => job.state === "stranded") ? 1 : 0 };
}

/** Children of a job, and theirs, in the same order as a table of jobs. */
export async function childStatuses(project: Project, place: JobPlace): Promise<readonly ChainStatus[]> {
  return [...(await statusesOf(project, await descendantsOf(project, place)))].sort(byUrgency);
}

/** One job. Throws JournalError where its records cannot be used. */
export async function chainStatus(project: Project, place: JobPlace): Promise<ChainStatus> {
  const name = shortName(project, place.id);
  const job = await readJob(project.folder, place);
  if (job === null) return unfinishedStatus(place, name);
  if (isAtRest(job)) return sane(statusOf(job, atRest(), name));
  const [status] = await statusesOf(project, [place]);
  return status ?? unfinishedStatus(place, name);
}

async function statusesOf(project: Project, places: readonly JobPlace[]): Promise<readonly ChainStatus[]> {
  const found = new Map<string, ChainStatus>();
  await look(project, places, found);
  const stranded = places.filter((place) => found.get(place.id)?.state === "stranded");
  if (stranded.length > 0) {
    await realClock.sleep(LOOK_AGAIN_MS);
    await look(project, stranded, found);
  }
  return places.flatMap((place) => found.get(place.id) ?? []);
}

async function look(project: Project, places: readonly JobPlace[], found: Map<string, ChainStatus>): Promise<void> {
  const open: JobOnFile[] = [];
  const resting = atRest();
  for (const place of places) {
    const name = shortName(project, place.id);
    try {
      const job = await readJob(project.folder, place);
      if (job === null) found.set(place.id, unfinishedStatus(place, name));
      else if (isAtRest(job)) found.set(place.id, sane(statusOf(job, resting, name)));
      else open.push(job);
    } catch (error) {
      found.set(place.id, unreadableStatus(place, lineOf(error)));
    }
  }
  const seen = await observeAll(project, open);
  for (const job of open) {
    try {
      const name = shortName(project, job.place.id);
      found.set(job.place.id, sane(statusOf(job, await inputFor(project, job, seen), name)));
    } catch (error) {
      found.set(job.place.id, unreadableStatus(job.place, lineOf(error)));
    }
  }
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
  const groups = [...jobs.filter((job) => job.spec.scheduler === "local").map((job) => [job]), slurm];
  for (const group of groups) {
    const refs = [...new Set(group.flatMap(refsOf))];
    if (refs.length === 0) continue;
    for (const [ref, answer] of await observeGroup(project, group, refs)) seen.set(ref, answer);
  }
  return seen;
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

async function inputFor(project: Project, job: JobOnFile, seen: ReadonlyMap<Ref, Seen>): Promise<StatusInput> {
  return {
    ...atRest(),
    seen,
    progress: await progressNow(project, job),
    firstProgress: await firstProgress(project.folder, job),
    settledStarted: await readSettledStarted(project.folder, job),
    attendedBy: await attendedBy(project.folder, job.place),
    submitter: await submitterNow(project.folder, job, seen, realClock.nowMs()),
  };
}

/** The checkpoint as it is now, held against the high-water mark; null where nothing is configured. */
async function progressNow(project: Project, job: JobOnFile): Promise<Progress | null> {
  if (job.spec.checkpoint === null) return null;
  const opened = worldOf(project, job.place, job.spec);
  // A copied folder has no world; its row says so.
  const reading = await (await opened).readCheckpoint(taskPlace(job.place, 0), job.spec);
  return progressOf(reading, job.state.settled?.record.carry.highWater ?? null);
}

async function firstProgress(folder: Folder, job: JobOnFile): Promise<number | null> {
  if (job.spec.checkpoint === null || job.spec.total === null) return null;
  const place = attemptPlace(taskPlace(job.place, 0), 1);
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
    submitter: null,
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
