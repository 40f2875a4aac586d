/** The state of one job, or of all of one or many projects, with one question to Slurm for those that are not at rest. */
import { join } from "node:path";
import {
  type GoStart,
  isLeft,
  mayBegin,
  type Progress,
  progressOf,
  progressValue,
  type Ref,
  type Seen,
  stopInForce,
  type TaskPhase,
  taskPhase,
} from "../../core/index.ts";
import { aliveHere, type Folder, realClock } from "../../host/index.ts";
import { attemptPlace, findJobs, type JobPlace, JournalError, readRecord } from "../../journal/index.ts";
import type { JobIdentity } from "../../schedulers/index.ts";
import { identitiesOf, settledIdentity, submitterIdentities } from "../job-identity.ts";
import { isHandingOver, NOT_ASKED } from "./chain-state.ts";
import { type ChainStatus, type StatusInput, statusOf, unfinishedStatus, unreadableStatus } from "./chain-status.ts";
import { attendedBy } from "./driver-record.ts";
import { shellName } from "./job-name.ts";
import { statusOfTasks } from "./job-of-tasks.ts";
import {
  hasTasks,
  isAtRest,
  type JobOnFile,
  readJob,
  readJobTasks,
  readLastStarted,
  readSettledStarted,
  refsOf,
} from "./job-on-file.ts";
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
  const jobs = (await statusesOf(all, round)).map(({ job }) => job).sort(byUrgency);
  return {
    jobs,
    exitStatus: jobs.some((job) => job.state === "stranded") ? 1 : 0,
    unreachable: unreachableIn(round),
  };
}

export interface JobStatus {
  /** The whole job. */
  readonly job: ChainStatus;
  /** Each of its tasks, in their order; empty where it has one task without a name of its own. */
  readonly tasks: readonly ChainStatus[];
}

export interface FamilyStatus extends JobStatus {
  /** Its children and theirs, in the same order as a table of jobs. */
  readonly children: readonly ChainStatus[];
}

/**
 * One job with its tasks, its children and theirs, with one question to Slurm for all. Throws JournalError where the job's own
 * records cannot be used.
 */
export async function familyStatus(
  project: Project,
  place: JobPlace,
  options: StatusOptions = {},
): Promise<FamilyStatus> {
  const below = await descendantsOf(project, place);
  const round = newRound(options);
  if (below.length === 0) return { ...(await statusIn(project, place, round)), children: [] };
  const all = await statusesOf(
    [place, ...below].map((one) => ({ project, place: one })),
    round,
  );
  const children = all
    .slice(1)
    .map(({ job }) => job)
    .sort(byUrgency);
  // Read again with what the round has learned: a job whose own records cannot be used is an error here, not a row.
  return { ...(await statusIn(project, place, round)), children };
}

/** One job with its tasks. Throws JournalError where its records cannot be used. */
export function jobStatus(project: Project, place: JobPlace, options: StatusOptions = {}): Promise<JobStatus> {
  return statusIn(project, place, newRound(options));
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

/**
 * Whether a task runs or waits: of a job with many tasks only this one is read, and the others where nobody is seen to move it.
 * Throws JournalError where its records cannot be used.
 */
export async function taskState(
  project: Project,
  place: JobPlace,
  index: number | null,
): Promise<Pick<ChainStatus, "state" | "tasks">> {
  const job = await readJob(project.folder, place, index);
  if (job === null || !hasTasks(job)) return chainStatus(project, place, index);
  const name = `${shellName(project, place.id)}/${job.task.index}`;
  if (isAtRest(job)) return sane(statusOf(job, atRest(), name));
  if (isOpen(job)) {
    const seen = await observeAll([{ project, place, job }], newRound({}));
    const input = await inputFor(project, job, seen, { attendedBy: null, submitter: null });
    const alone = statusOf(job, input, name);
    if (alone.state !== "stranded") return sane(alone);
  }
  return chainStatus(project, place, index);
}

async function statusIn(project: Project, place: JobPlace, round: Round): Promise<JobStatus> {
  const name = shellName(project, place.id);
  const tasks = await readJobTasks(project.folder, place);
  if (tasks === null) return alone(unfinishedStatus(place, name));
  const rests = restsAlone(tasks, name, atRest());
  if (rests !== null) return rests;
  const [status] = await statusesOf([{ project, place }], round);
  return status ?? alone(unfinishedStatus(place, name));
}

/** Of a job of one task at rest, as most of a long list are: its records tell all. Null: it is another one. */
function restsAlone(tasks: readonly JobOnFile[], name: string, resting: StatusInput): JobStatus | null {
  const [only] = tasks;
  if (only === undefined || hasTasks(only) || !isAtRest(only)) return null;
  return alone(sane(statusOf(only, resting, name)));
}

function alone(job: ChainStatus): JobStatus {
  return { job, tasks: [] };
}

interface Asked {
  readonly project: Project;
  readonly place: JobPlace;
}

interface OpenTask extends Asked {
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

async function statusesOf(all: readonly Asked[], round: Round): Promise<readonly JobStatus[]> {
  const found = new Map<string, JobStatus>();
  await look(all, round, found);
  const stranded = all.filter(({ place }) => found.get(place.folder)?.job.state === "stranded");
  if (stranded.length > 0) {
    await realClock.sleep(LOOK_AGAIN_MS);
    await look(stranded, round, found);
  }
  return all.flatMap(({ place }) => found.get(place.folder) ?? []);
}

interface Looked extends Asked {
  readonly tasks: readonly JobOnFile[];
}

async function look(all: readonly Asked[], round: Round, found: Map<string, JobStatus>): Promise<void> {
  const looked: Looked[] = [];
  const resting = atRest();
  for (const one of all) {
    const { project, place } = one;
    try {
      const tasks = await readJobTasks(project.folder, place);
      const name = shellName(project, place.id);
      const rests = tasks === null ? alone(unfinishedStatus(place, name)) : restsAlone(tasks, name, resting);
      if (rests !== null) found.set(place.folder, rests);
      else if (tasks !== null) looked.push({ ...one, tasks });
    } catch (error) {
      found.set(place.folder, alone(unreadableStatus(place, lineOf(error))));
    }
  }
  const open = looked.flatMap(({ tasks, ...one }) => tasks.filter(isOpen).map((job) => ({ ...one, job })));
  const seen = await observeAll(open, round);
  for (const one of looked) {
    const { place } = one;
    try {
      found.set(place.folder, await statusNow(one, seen, round));
    } catch (error) {
      found.set(place.folder, alone(unreadableStatus(place, lineOf(error))));
    }
  }
}

async function statusNow(looked: Looked, seen: ReadonlyMap<Ref, Seen>, round: Round): Promise<JobStatus> {
  const { project, place, tasks } = looked;
  const name = shellName(project, place.id);
  const [first] = tasks;
  if (first === undefined) return alone(unfinishedStatus(place, name));
  const rests = tasks.every(isAtRest);
  const resting = atRest();
  const ofJob = {
    attendedBy: rests ? null : await attendedBy(project.folder, place),
    submitter: rests ? null : await submitterNow(project.folder, moved(tasks) ?? first, seen, resting.nowMs),
  };
  const inputs = new Map<JobOnFile, StatusInput>();
  for (const task of tasks)
    inputs.set(
      task,
      isOpen(task) ? await inputFor(project, task, seen, ofJob) : isAtRest(task) ? resting : { ...resting, ...ofJob },
    );
  const statuses = tasks.map((task) =>
    sane(statusOf(task, inputs.get(task) ?? resting, hasTasks(task) ? `${name}/${task.task.index}` : name)),
  );
  const [only] = statuses;
  if (!hasTasks(first) && only !== undefined) return alone(only);
  const together = await amongOthers(looked, statuses, inputs, round);
  return { job: { ...statusOfTasks(together, first, name), submitter: ofJob.submitter }, tasks: together };
}

/** A task that is not over: of a finished one the submitters were not read. */
function moved(tasks: readonly JobOnFile[]): JobOnFile | undefined {
  return tasks.find((task) => !isAtRest(task));
}

/** Tasks that nobody is seen to move may be moved by the others of their job, or must wait for them. */
async function amongOthers(
  looked: Looked,
  each: readonly ChainStatus[],
  inputs: ReadonlyMap<JobOnFile, StatusInput>,
  round: Round,
): Promise<readonly ChainStatus[]> {
  const { project, tasks } = looked;
  const phases = tasks.map(({ state, stops }) => taskPhase(state, stops));
  const isUnmoved = ({ state, submitter }: ChainStatus, position: number): boolean =>
    state === "stranded" || (state === "waiting" && submitter !== null && phases[position] === "idle");
  if (!each.some(isUnmoved)) return each;
  const allowed = new Set(mayBegin(phases, tasks[0]?.spec.tasks?.parallel ?? null));
  // Where the scheduler is silent about one that has begun, nobody can say that it moves nothing.
  const isMoved = each.some(({ mover, state }) => mover || state === "waiting") || (await isHandingOn(looked, round));
  // Nobody begins anything, or goes on with a claim, in a job that is stopped as a whole: that is for who stops it.
  const move = isMoved && tasks.some(({ stops }) => stopInForce(stops) === null);
  return each.map((status, position) => {
    const task = tasks[position];
    const input = task === undefined ? undefined : inputs.get(task);
    if (!isUnmoved(status, position) || task === undefined || input === undefined) return status;
    const phase = phases[position] ?? "over";
    const mustWait = phase === "idle" && !allowed.has(position);
    const name = `${shellName(project, task.place.id)}/${task.task.index}`;
    const others = { mustWait, move: move && isTakenOn(task, phase) };
    return sane(statusOf(task, { ...input, others }, name));
  });
}

/** What the others begin, or go on with. One of which a job is known, alive or not, they leave to its own movers. */
function isTakenOn({ state }: JobOnFile, phase: TaskPhase): boolean {
  return phase === "idle" || isLeft(phase, state, ({ by }) => aliveHere(by) === "alive");
}

/** So many of the tasks that were over last may still be about to begin others. */
const MOST_HANDING_ON = 10;

/** The body of a task that has just ended begins the next one: it lives, here or as a job of the scheduler. */
async function isHandingOn({ project, place, tasks }: Looked, round: Round): Promise<boolean> {
  const ended = tasks.filter((task) => isAtRest(task) && task.state.settled !== null);
  const newest = ended
    .toSorted((a, b) => (b.state.settled?.record.atMs ?? 0) - (a.state.settled?.record.atMs ?? 0))
    .slice(0, MOST_HANDING_ON);
  const begun = (await Promise.all(newest.map((task) => readLastStarted(project.folder, task)))).filter(
    (started) => started !== null,
  );
  if (begun.some((started) => isHandingOver(started, new Map()))) return true;
  const [first] = tasks;
  if (first === undefined || first.spec.scheduler === "local" || begun.length === 0) return false;
  const refs = begun.map(({ ref }) => ref);
  const asked = newest.map((job) => ({ project, place, job }));
  const seen = await observeSlurm(asked, refs, round);
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
 * Slurm is asked once for all of one owner, and about no job twice in a round; each job on `local` looks at its own processes.
 * Where nobody can be asked, the answers are "unreachable", which is never taken for an absence.
 */
async function observeAll(open: readonly OpenTask[], round: Round): Promise<ReadonlyMap<Ref, Seen>> {
  const seen = new Map<Ref, Seen>();
  const local = grouped(
    open.filter(({ job }) => job.spec.scheduler === "local"),
    ({ place }) => place.folder,
  );
  for (const group of local)
    for (const [ref, answer] of await observeGroup(group, refsOfAll(group))) seen.set(ref, answer);
  const slurm = grouped(
    open.filter(({ job }) => job.spec.scheduler === "slurm"),
    ({ place }) => ownerUid(place.folder),
  );
  for (const group of slurm) await observeSlurm(group, refsOfAll(group), round);
  return new Map([...seen, ...round.slurm]);
}

function grouped<K>(open: readonly OpenTask[], keyOf: (one: OpenTask) => K): readonly (readonly OpenTask[])[] {
  const groups = new Map<K, OpenTask[]>();
  for (const one of open) {
    const key = keyOf(one);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return [...groups.values()];
}

function refsOfAll(group: readonly OpenTask[]): readonly Ref[] {
  return group.flatMap(({ job }) => refsOf(job));
}

/** What of them the round has not learned yet is asked for. */
async function observeSlurm(
  group: readonly OpenTask[],
  all: readonly Ref[],
  round: Round,
): Promise<ReadonlyMap<Ref, Seen>> {
  const refs = all.filter((ref) => !round.slurm.has(ref));
  const answers = round.asks ? await observeGroup(group, refs) : notAsked(refs);
  for (const [ref, answer] of answers) round.slurm.set(ref, answer);
  return round.slurm;
}

async function observeGroup(group: readonly OpenTask[], all: readonly Ref[]): Promise<ReadonlyMap<Ref, Seen>> {
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

function identitiesIn({ place, task, state, lastRan, submitters }: JobOnFile): ReadonlyMap<Ref, JobIdentity> {
  return new Map([
    ...(lastRan === null ? [] : settledIdentity(task, lastRan)),
    ...(state.settled === null ? [] : settledIdentity(task, state.settled)),
    ...identitiesOf(task, state.open),
    ...submitterIdentities(place, submitters),
  ]);
}

function notAsked(refs: readonly Ref[]): ReadonlyMap<Ref, Seen> {
  return new Map(refs.map((ref) => [ref, { kind: "unreachable", error: NOT_ASKED }]));
}

async function inputFor(
  project: Project,
  job: JobOnFile,
  seen: ReadonlyMap<Ref, Seen>,
  ofJob: Pick<StatusInput, "attendedBy" | "submitter">,
): Promise<StatusInput> {
  return {
    ...atRest(),
    ...ofJob,
    seen,
    progress: await progressNow(project, job),
    firstProgress: await firstProgress(project.folder, job),
    settledStarted: await readSettledStarted(project.folder, job),
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
