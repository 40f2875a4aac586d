/** The state of one job, or of all of one or many projects, with one question to Slurm for those that are not at rest. */
import { join } from "node:path";
import { type GoStart, type Progress, progressOf, progressValue, type Ref, type Seen } from "../../core/index.ts";
import { type Folder, realClock } from "../../host/index.ts";
import { attemptPlace, findJobs, type JobPlace, JournalError, readRecord, taskPlace } from "../../journal/index.ts";
import type { JobIdentity } from "../../schedulers/index.ts";
import { identitiesOf, settledIdentity, submitterIdentities } from "../job-identity.ts";
import { NOT_ASKED } from "./chain-state.ts";
import { type ChainStatus, type StatusInput, statusOf, unfinishedStatus, unreadableStatus } from "./chain-status.ts";
import { attendedBy } from "./driver-record.ts";
import { shellName } from "./job-name.ts";
import { isAtRest, type JobOnFile, readJob, readSettledStarted, refsOf } from "./job-on-file.ts";
import { worldOf } from "./job-world.ts";
import { descendantsOf } from "./parent-job.ts";
import { ownerUid, type Project, requireOwnJob } from "./project.ts";
import { submitterNow } from "./submitter-status.ts";

/** A chain that looks stranded is looked at again this much later: a claim may just have been on its way. */
const LOOK_AGAIN_MS = 300;

export interface StatusOptions {
  /** False: Slurm's controller is left alone, and what is shown is what is on file. Default true. */
  readonly asks?: boolean;
}

export interface JobTable {
  /** Stranded first, then what will never start, running, waiting, held, unreadable; over last, the newest first. */
  readonly jobs: readonly ChainStatus[];
  /** 1 when a chain is stranded, else 0. */
  readonly exitStatus: 0 | 1;
  /** Why Slurm could not be asked, in one line; null: it was, or nothing was to ask. */
  readonly unreachable: string | null;
}

/** All jobs of a project. A job that cannot be read is a row that says so. Throws StintError only for the project folder. */
export function jobTable(project: Project, options: StatusOptions = {}): Promise<JobTable> {
  return jobTables([project], options);
}

/** All jobs of several projects as one table, with one question to Slurm for all of them. */
export async function jobTables(projects: readonly Project[], options: StatusOptions = {}): Promise<JobTable> {
  const all: Asked[] = [];
  for (const project of projects)
    for (const place of await findJobs(project.folder, project.stintFolder)) all.push({ project, place });
  const round = newRound(options);
  const jobs = [...(await statusesOf(all, round))].sort(byUrgency);
  return {
    jobs,
    exitStatus: jobs.some((job) => job.state === "stranded") ? 1 : 0,
    unreachable: unreachableIn(round),
  };
}

/**
 * One job with its children and theirs, in the same order as a table of jobs, with one question to Slurm for all. Throws
 * JournalError where the job's own records cannot be used.
 */
export async function familyStatus(
  project: Project,
  place: JobPlace,
  options: StatusOptions = {},
): Promise<{ readonly status: ChainStatus; readonly children: readonly ChainStatus[] }> {
  const below = await descendantsOf(project, place);
  const round = newRound(options);
  if (below.length === 0) return { status: await statusIn(project, place, round), children: [] };
  const all = await statusesOf(
    [place, ...below].map((one) => ({ project, place: one })),
    round,
  );
  // Read again with what the round has learned: a job whose own records cannot be used is an error here, not a row.
  return { status: await statusIn(project, place, round), children: all.slice(1).sort(byUrgency) };
}

/** One job. Throws JournalError where its records cannot be used. */
export function chainStatus(project: Project, place: JobPlace, options: StatusOptions = {}): Promise<ChainStatus> {
  return statusIn(project, place, newRound(options));
}

async function statusIn(project: Project, place: JobPlace, round: Round): Promise<ChainStatus> {
  const name = shellName(project, place.id);
  const job = await readJob(project.folder, place);
  if (job === null) return unfinishedStatus(place, name);
  if (isAtRest(job)) return sane(statusOf(job, atRest(), name));
  const [status] = await statusesOf([{ project, place }], round);
  return status ?? unfinishedStatus(place, name);
}

interface Asked {
  readonly project: Project;
  readonly place: JobPlace;
}

interface OpenJob extends Asked {
  readonly job: JobOnFile;
}

/** What one call for a status has learned: Slurm is asked once for each of its jobs, however often the records are read. */
interface Round {
  readonly asks: boolean;
  readonly slurm: Map<Ref, Seen>;
}

function newRound({ asks = true }: StatusOptions): Round {
  return { asks, slurm: new Map() };
}

function unreachableIn({ asks, slurm }: Round): string | null {
  const silent = [...slurm.values()].find((seen) => seen.kind === "unreachable");
  return asks && silent?.kind === "unreachable" ? silent.error : null;
}

async function statusesOf(all: readonly Asked[], round: Round): Promise<readonly ChainStatus[]> {
  const found = new Map<string, ChainStatus>();
  await look(all, round, found);
  const stranded = all.filter(({ place }) => found.get(place.folder)?.state === "stranded");
  if (stranded.length > 0) {
    await realClock.sleep(LOOK_AGAIN_MS);
    await look(stranded, round, found);
  }
  return all.flatMap(({ place }) => found.get(place.folder) ?? []);
}

async function look(all: readonly Asked[], round: Round, found: Map<string, ChainStatus>): Promise<void> {
  const open: OpenJob[] = [];
  const resting = atRest();
  for (const { project, place } of all) {
    const name = shellName(project, place.id);
    try {
      const job = await readJob(project.folder, place);
      if (job === null) found.set(place.folder, unfinishedStatus(place, name));
      else if (isAtRest(job)) found.set(place.folder, sane(statusOf(job, resting, name)));
      else open.push({ project, place, job });
    } catch (error) {
      found.set(place.folder, unreadableStatus(place, lineOf(error)));
    }
  }
  const seen = await observeAll(open, round);
  for (const { project, place, job } of open) {
    try {
      const name = shellName(project, place.id);
      found.set(place.folder, sane(statusOf(job, await inputFor(project, job, seen), name)));
    } catch (error) {
      found.set(place.folder, unreadableStatus(place, lineOf(error)));
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
 * Slurm is asked once for all of one owner, and about no job twice in a round; each job on `local` looks at its own processes.
 * Where nobody can be asked, the answers are "unreachable", which is never taken for an absence.
 */
async function observeAll(open: readonly OpenJob[], round: Round): Promise<ReadonlyMap<Ref, Seen>> {
  const seen = new Map<Ref, Seen>();
  for (const one of open.filter(({ job }) => job.spec.scheduler === "local"))
    for (const [ref, answer] of await observeGroup([one], refsOf(one.job))) seen.set(ref, answer);
  const byOwner = new Map<number | null, OpenJob[]>();
  for (const one of open.filter(({ job }) => job.spec.scheduler === "slurm")) {
    const owner = ownerUid(one.place.folder);
    byOwner.set(owner, [...(byOwner.get(owner) ?? []), one]);
  }
  for (const group of byOwner.values()) {
    const refs = group.flatMap(({ job }) => refsOf(job)).filter((ref) => !round.slurm.has(ref));
    const answers = round.asks ? await observeGroup(group, refs) : notAsked(refs);
    for (const [ref, answer] of answers) round.slurm.set(ref, answer);
  }
  return new Map([...seen, ...round.slurm]);
}

async function observeGroup(group: readonly OpenJob[], all: readonly Ref[]): Promise<ReadonlyMap<Ref, Seen>> {
  const refs = [...new Set(all)];
  if (refs.length === 0) return new Map();
  let error = "nobody was asked";
  for (const { project, place, job } of group) {
    try {
      // Looking at a local attempt also ends what its death has left behind: that is its owner's affair alone.
      if (job.spec.scheduler === "local") requireOwnJob(place);
      const { scheduler } = await worldOf(project, place, job.spec);
      return await scheduler.observe(refs, new Map(group.flatMap((one) => [...identitiesIn(one.job)])));
    } catch (caught) {
      // The next job of the same scheduler may be in a better state.
      error = lineOf(caught);
    }
  }
  return new Map(refs.map((ref) => [ref, { kind: "unreachable", error }]));
}

function identitiesIn({ place, state, submitters }: JobOnFile): ReadonlyMap<Ref, JobIdentity> {
  const task = taskPlace(place, 0);
  return new Map([
    ...(state.settled === null ? [] : settledIdentity(task, state.settled)),
    ...identitiesOf(task, state.open),
    ...submitterIdentities(place, submitters),
  ]);
}

function notAsked(refs: readonly Ref[]): ReadonlyMap<Ref, Seen> {
  return new Map(refs.map((ref) => [ref, { kind: "unreachable", error: NOT_ASKED }]));
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

/** What will never start waits for a person, without a scheduler ever saying so again. */
function urgencyOf(job: ChainStatus): number {
  return job.state === "waiting" && job.queue?.chance === "will-never-start" ? 0.5 : URGENCY[job.state];
}

function byUrgency(a: ChainStatus, b: ChainStatus): number {
  const byState = urgencyOf(a) - urgencyOf(b);
  if (byState !== 0) return byState;
  return (b.endedAtMs ?? b.submittedAtMs ?? 0) - (a.endedAtMs ?? a.submittedAtMs ?? 0);
}

function lineOf(error: unknown): string {
  if (error instanceof JournalError) return error.message;
  return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
}
