/** Drain (save, then stop) and cancel (now). The wish is on file before anything is done; "cancelled" is said after proof. */
import { randomUUID } from "node:crypto";
import { RECORD_VERSION, type Ref, refOf, stopInForce } from "../../core/index.ts";
import { checkHome, createStop, type JobPlace, JournalError, readStops } from "../../journal/index.ts";
import type { JobIdentity } from "../../schedulers/index.ts";
import { advance, advanceJob, withdraw } from "../advance.ts";
import { identitiesOf, stillOwn } from "../job-identity.ts";
import { reservePath, withReserve } from "../reserve.ts";
import type { World } from "../world.ts";
import { cancelWithdrawn } from "./cancel-withdrawn.ts";
import type { ChainStatus } from "./chain-status.ts";
import { hasTasks, isAtRest, type JobOnFile, readJob, readJobTasks } from "./job-on-file.ts";
import { personHere } from "./job-records.ts";
import { worldOf } from "./job-world.ts";
import { descendantsOf } from "./parent-job.ts";
import { type Project, requireOwnJob } from "./project.ts";
import { chainStatus } from "./status.ts";
import { endSubmitters } from "./submitter-job.ts";

export interface StopRequest {
  readonly kind: "drain" | "cancel";
  /** Only this task of the job; default: all of it. */
  readonly task?: number | null;
  /** Return only when the chain is over: always for cancel, by wish for drain. */
  readonly wait?: boolean;
  /** Give up waiting after this long, in ms; default: none. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly onWait?: (why: string) => void;
}

export type StopResult =
  /** It was over (or held, with nothing left to end) before. */
  | { readonly kind: "was-over"; readonly status: ChainStatus }
  /** Over, with proof: nothing of it runs any more. */
  | { readonly kind: "stopped"; readonly status: ChainStatus }
  /** The wish is on file; the end is not proved yet. `held`: only a person's word can prove it, the advice says how. */
  | { readonly kind: "asked"; readonly status: ChainStatus };

/** Beyond the time that the body itself has for TERM and KILL, the scheduler is asked to end the attempt. */
const BODY_SLACK_MS = 15_000;
const LONGEST_PAUSE_MS = 1_000;
/** Nobody waits longer for tasks to begin than that: who ends one of them begins the rest. */
const BEGIN_MS = 10_000;

/**
 * Stops a job, or one task of it. Throws StintError `not-owner`, `copied`, `record`. A wish that is on file is never taken back by
 * an error: the body sees it at its next heartbeat.
 */
export async function stopJob(given: Project, place: JobPlace, request: StopRequest): Promise<StopResult> {
  requireOwnJob(place);
  const index = request.task ?? null;
  await checkHome(given.folder, place);
  const { project, before, living } = await lookBefore(given, place, index).catch(async (error: unknown) => {
    if (!(error instanceof JournalError) || error.code !== "damaged") throw error;
    // What runs must be stopped all the same: each of its bodies reads the stops, and none the damaged record of another task.
    await putOnFile(given, place, request);
    const { code, path, message } = error;
    throw new JournalError(
      code,
      path,
      `${message}; the ${request.kind} is on file, and what runs ends when it sees it`,
    );
  });
  if (living.length === 0) return { kind: "was-over", status: before };
  await putOnFile(project, place, request);
  const ends = await Promise.all(living.map((one) => endJob(project, one, one === place ? index : null, request)));
  return { kind: ends.every((over) => over) ? "stopped" : "asked", status: await chainStatus(project, place, index) };
}

async function lookBefore(given: Project, place: JobPlace, index: number | null) {
  const project = sparing(given, await tasksOf(given, place, index));
  const before = await chainStatus(project, place, index);
  return { project, before, living: await livingIn(project, place, index, before) };
}

/** One record for the whole tree: the stops of ancestors are in force below them. A word on one task is no word on children. */
async function putOnFile(project: Project, place: JobPlace, { kind, task = null }: StopRequest): Promise<void> {
  await createStop(project.folder, place, {
    version: RECORD_VERSION,
    nonce: randomUUID(),
    atMs: Date.now(),
    kind,
    by: personHere(project),
    ...(task === null ? {} : { task }),
  });
}

/** A stop gets on file by a task's reserve where the disk is full: what fills it may be what is to be stopped. */
function sparing(project: Project, tasks: readonly JobOnFile[]): Project {
  return { ...project, folder: withReserve(project.folder, ...tasks.map(({ task }) => reservePath(task))) };
}

/** The job itself and its descendants, as far as there is something to be stopped: with it, they are stopped too. */
async function livingIn(
  project: Project,
  place: JobPlace,
  index: number | null,
  { state }: ChainStatus,
): Promise<readonly JobPlace[]> {
  const living: JobPlace[] = [];
  for (const one of [place, ...(index === null ? await descendantsOf(project, place) : [])]) {
    const tasks = await tasksOf(project, one, one === place ? index : null);
    const isStranded = one === place && state === "stranded";
    if (tasks.length > 0 && (!tasks.every(isAtRest) || isStranded)) living.push(one);
  }
  return living;
}

/** All tasks of a job, or the one that is meant. */
async function tasksOf(project: Project, place: JobPlace, index: number | null): Promise<readonly JobOnFile[]> {
  const tasks = (await readJobTasks(project.folder, place)) ?? [];
  return index === null ? tasks : tasks.filter(({ task }) => task.index === index);
}

/** Of one job, or one task of it; true when it is over. */
async function endJob(given: Project, place: JobPlace, index: number | null, request: StopRequest): Promise<boolean> {
  const tasks = await tasksOf(given, place, index);
  const [first] = tasks;
  if (first === undefined) return true;
  const project = sparing(given, tasks);
  const world = await worldOf(project, place, first.jobSpec);
  // What has not begun is over by the stop itself; the wish is made known to all others before any of them is waited for.
  const left = tasks.filter((task) => !isAtRest(task) || !hasTasks(task));
  const begunMs = world.clock.monotonicMs();
  const own = left.length > 1 ? await takeBackTogether(world, project, place, index) : new Map<Ref, JobIdentity>();
  let over = true;
  for (const waits of left.length > 1 ? [false, true] : [true]) {
    over = true;
    for (const task of left)
      over = (await end(world, project, task, { ...request, ...(waits ? {} : { wait: false }) }, begunMs, own)) && over;
    if (over) break;
  }
  const rests = over && (index === null || (await tasksOf(project, place, null)).every(isAtRest));
  // One that had not begun was in the way of others, and nothing of it ends now.
  if (over && index !== null && !rests) await advanceJob(world, place, { withinMs: BEGIN_MS });
  if (rests) await endSubmitters(world, place, first.jobSpec, { wait: request.wait ?? request.kind === "cancel" });
  return over;
}

/**
 * What the stop takes back of all tasks: the records first, then one cancel and one question for all, so that the scheduler's load
 * does not grow with their number. Each task is settled from that answer. Returns all jobs that may still be there.
 */
async function takeBackTogether(
  world: World,
  project: Project,
  place: JobPlace,
  index: number | null,
): Promise<ReadonlyMap<Ref, JobIdentity>> {
  for (const { task, state, stops } of await tasksOf(project, place, index))
    for (const { number, go, claim, started } of state.open)
      if (stopInForce(stops) !== null && go === null && (claim !== null || started !== null))
        await withdraw(world, task, number, "stopped", null);
  // Read again: who has become a body meanwhile was quicker.
  return cancelWithdrawn(world, await tasksOf(project, place, index));
}

/**
 * Advances until the task is over; true when it is. `begunMs`: when the wish was made known, on the monotonic clock. `all`: the jobs
 * that the scheduler is asked about at once where it has to be asked.
 */
async function end(
  world: World,
  project: Project,
  job: JobOnFile,
  request: StopRequest,
  begunMs: number,
  all: ReadonlyMap<Ref, JobIdentity>,
): Promise<boolean> {
  const { clock } = world;
  const wait = request.wait ?? request.kind === "cancel";
  const bodyHasMs = (request.kind === "cancel" ? job.spec.killWaitMs : Number.POSITIVE_INFINITY) + BODY_SLACK_MS;
  let told = "";
  let killed = false;
  for (;;) {
    if (all.size > 0) await world.scheduler.observe([...all.keys()], all);
    // Beside a stop of all no task may begin: to look at each of them would be in vain.
    const outcome = await advance(world, job.task, { others: request.task != null });
    if (outcome.kind === "over") return true;
    // A later resume is a person's newer word: what runs now runs by it.
    if (stopInForce(await readStops(project.folder, job.task)) === null) return false;
    // Held by its decision it is at rest; held because an attempt is unproved, something may still run, and only a person's
    // word can end that.
    if (outcome.kind === "held") return !(await hasUnproved(project, job));
    const waitedMs = clock.monotonicMs() - begunMs;
    if (!wait || request.signal?.aborted === true || waitedMs >= (request.timeoutMs ?? Number.POSITIVE_INFINITY))
      return false;
    const why = outcome.kind === "waiting" ? waitWords(request.kind, outcome.why) : `ending attempt ${outcome.attempt}`;
    if (why !== told) request.onWait?.(why);
    told = why;
    if (!killed && waitedMs >= bodyHasMs) {
      killed = true;
      await killRunning(world, project, job);
    }
    const pauseMs = outcome.kind === "waiting" ? Math.min(outcome.lookAgainMs, LONGEST_PAUSE_MS) : 200;
    await clock.sleep(Math.max(20, pauseMs));
  }
}

/** That it runs is what a cancel ends. */
function waitWords(kind: StopRequest["kind"], why: string): string {
  const running = /^attempt (\d+) is running$/.exec(why)?.[1];
  return kind === "cancel" && running !== undefined ? `ending attempt ${running}` : why;
}

async function hasUnproved(project: Project, { place, task }: JobOnFile): Promise<boolean> {
  const job = await readJob(project.folder, place, task.index);
  return job?.state.open.some((a) => a.go?.what === "start") === true;
}

/** The body did not end in its time: the scheduler ends the attempt, with all of its processes. */
async function killRunning(world: World, project: Project, { place, task }: JobOnFile): Promise<void> {
  const job = await readJob(project.folder, place, task.index);
  const running = job?.state.open.find((a) => a.go?.what === "start" && a.exited === null) ?? null;
  const ref = running === null ? null : refOf(running);
  if (running === null || ref === null) return;
  if (!(await stillOwn(world, identitiesOf(task, [running]))).includes(ref)) return;
  world.log(`kill ${ref}: it did not end in its time`);
  await world.scheduler.kill(ref);
}
