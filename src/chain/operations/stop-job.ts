/** Drain (save, then stop) and cancel (now). The wish is on file before anything is done; "cancelled" is said after proof. */
import { randomUUID } from "node:crypto";
import { RECORD_VERSION, refOf, stopInForce } from "../../core/index.ts";
import { checkHome, createStop, type JobPlace, readStops, taskPlace } from "../../journal/index.ts";
import { advance } from "../advance.ts";
import { identitiesOf, stillOwn } from "../job-identity.ts";
import { reservePath, withReserve } from "../reserve.ts";
import type { World } from "../world.ts";
import type { ChainStatus } from "./chain-status.ts";
import { isAtRest, type JobOnFile, readJob } from "./job-on-file.ts";
import { personHere } from "./job-records.ts";
import { worldOf } from "./job-world.ts";
import { descendantsOf } from "./parent-job.ts";
import { type Project, requireOwnJob } from "./project.ts";
import { chainStatus } from "./status.ts";
import { endSubmitters } from "./submitter-job.ts";

export interface StopRequest {
  readonly kind: "drain" | "cancel";
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

/**
 * Stops a chain. Throws StintError `not-owner`, `copied`, `record`. A wish that is on file is never taken back by an error:
 * the body sees it at its next heartbeat.
 */
export async function stopJob(given: Project, place: JobPlace, request: StopRequest): Promise<StopResult> {
  requireOwnJob(place);
  const project = sparing(given, place);
  await checkHome(project.folder, place);
  const before = await chainStatus(project, place);
  const living = await livingIn(project, place, before);
  if (living.length === 0) return { kind: "was-over", status: before };
  // One record for the whole tree: the stops of ancestors are in force below them.
  await createStop(project.folder, place, {
    version: RECORD_VERSION,
    nonce: randomUUID(),
    atMs: Date.now(),
    kind: request.kind,
    by: personHere(project),
  });
  const ends = await Promise.all(living.map((job) => endWithSubmitters(project, job, request)));
  return { kind: ends.every((over) => over) ? "stopped" : "asked", status: await chainStatus(project, place) };
}

/** A stop gets on file by the task's reserve where the disk is full: what fills it may be what is to be stopped. */
function sparing(project: Project, place: JobPlace): Project {
  return { ...project, folder: withReserve(project.folder, reservePath(taskPlace(place, 0))) };
}

/** The job itself and its descendants, as far as there is something to be stopped: with it, they are stopped too. */
async function livingIn(project: Project, place: JobPlace, status: ChainStatus): Promise<readonly JobOnFile[]> {
  const living: JobOnFile[] = [];
  for (const one of [place, ...(await descendantsOf(project, place))]) {
    const job = await readJob(project.folder, one);
    const isStranded = one === place && status.state === "stranded";
    if (job !== null && (!isAtRest(job) || isStranded)) living.push(job);
  }
  return living;
}

async function endWithSubmitters(given: Project, job: JobOnFile, request: StopRequest): Promise<boolean> {
  const project = sparing(given, job.place);
  const world = await worldOf(project, job.place, job.spec);
  const over = await end(world, project, job, request);
  if (over) await endSubmitters(world, job.place, job.spec, { wait: request.wait ?? request.kind === "cancel" });
  return over;
}

/** Advances until the chain is over; true when it is. */
async function end(world: World, project: Project, job: JobOnFile, request: StopRequest): Promise<boolean> {
  const { clock } = world;
  const begunMs = clock.monotonicMs();
  const wait = request.wait ?? request.kind === "cancel";
  const bodyHasMs = (request.kind === "cancel" ? job.spec.killWaitMs : Number.POSITIVE_INFINITY) + BODY_SLACK_MS;
  let told = "";
  let killed = false;
  for (;;) {
    const outcome = await advance(world, taskPlace(job.place, 0));
    if (outcome.kind === "over") return true;
    // A later resume is a person's newer word: what runs now runs by it.
    if (stopInForce(await readStops(project.folder, job.place)) === null) return false;
    // Held by its decision it is at rest; held because an attempt is unproved, something may still run, and only a person's
    // word can end that.
    if (outcome.kind === "held") return !(await hasUnproved(project, job.place));
    const waitedMs = clock.monotonicMs() - begunMs;
    if (!wait || request.signal?.aborted === true || waitedMs >= (request.timeoutMs ?? Number.POSITIVE_INFINITY))
      return false;
    const why = outcome.kind === "waiting" ? waitWords(request.kind, outcome.why) : `ending attempt ${outcome.attempt}`;
    if (why !== told) request.onWait?.(why);
    told = why;
    if (!killed && waitedMs >= bodyHasMs) {
      killed = true;
      await killRunning(world, project, job.place);
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

async function hasUnproved(project: Project, place: JobPlace): Promise<boolean> {
  const job = await readJob(project.folder, place);
  return job?.state.open.some((a) => a.go?.what === "start") === true;
}

/** The body did not end in its time: the scheduler ends the attempt, with all of its processes. */
async function killRunning(world: World, project: Project, place: JobPlace): Promise<void> {
  const job = await readJob(project.folder, place);
  const running = job?.state.open.find((a) => a.go?.what === "start" && a.exited === null) ?? null;
  const ref = running === null ? null : refOf(running);
  if (running === null || ref === null) return;
  if (!(await stillOwn(world, identitiesOf(taskPlace(place, 0), [running]))).includes(ref)) return;
  world.log(`kill ${ref}: it did not end in its time`);
  await world.scheduler.kill(ref);
}
