/** Resume: a person's word that a chain goes on; also the cure for a stranded one. */

import { type AttemptRecords, type JobSpec, NO_SAVES, refOf, specForTask, stopInForce } from "../../core/index.ts";
import { realClock } from "../../host/index.ts";
import {
  adoptHome,
  checkHome,
  createSpec,
  createStop,
  findJobs,
  type Home,
  type JobPlace,
  JournalError,
  readSpec,
  type TaskPlace,
} from "../../journal/index.ts";
import { type FlagValues, withAllocation } from "../../spec/index.ts";
import { advanceJob, withdraw } from "../advance.ts";
import { loadSite } from "../site.ts";
import { allocationHere, requireTimeLeft } from "./allocation-here.ts";
import { furtherAdvice } from "./before-submit.ts";
import type { ChainStatus } from "./chain-status.ts";
import { type ChangedSpec, changeSpec } from "./change-spec.ts";
import { claimCheckpoint } from "./checkpoint-claim.ts";
import { driveUntilGoing } from "./drive.ts";
import { StintError, toStintError } from "./errors.ts";
import { requireHandedOver } from "./handed-over.ts";
import { shortName } from "./job-name.ts";
import { hasTasks, isAtRest, type JobOnFile, readJob, readJobTasks } from "./job-on-file.ts";
import { personHere, requireReserve, resumeStop, revisionOf } from "./job-records.ts";
import { forgetWorld, worldOf } from "./job-world.ts";
import { descendantsOf } from "./parent-job.ts";
import { type Project, requireOwnJob } from "./project.ts";
import { planSetAside, type SetAside, setAside } from "./set-aside.ts";
import { chainStatus, jobStatus, jobTable } from "./status.ts";
import { requireSubmitter } from "./submitter-job.ts";

export interface ResumeRequest {
  /** Settings to change, as `parseFlags` with `resumeFlags` gives them. */
  readonly flags?: FlagValues;
  /** A person's word that this attempt is over (proof F). */
  readonly over?: number;
  /** Only this task of the job; default: all of it. Changed settings are those of the whole job all the same. */
  readonly task?: number | null;
  /** Of a job with several tasks only those that nobody moves: what is held or stopped stays so. */
  readonly onlyStranded?: boolean;
  /** A person's word that this folder and the checkpoint are this job's, since the former owner's folder is gone. */
  readonly takeCheckpoint?: boolean;
  /** A person's word that the checkpoint is bad: it is set aside before the chain goes on. */
  readonly quarantine?: boolean;
  /** With `quarantine`: only say what would be moved. */
  readonly dryRun?: boolean;
  /** Where it is typed: a local chain goes on inside that allocation, or in none. Default: this process's. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** What a person should know though nothing is wrong. */
  readonly onNotice?: (line: string) => void;
  /** How long to keep trying where the scheduler says "not now", in ms. */
  readonly patienceMs?: number;
  /** And where it gives no answer at all. */
  readonly unreachableMs?: number;
  readonly signal?: AbortSignal;
  readonly onWait?: (why: string) => void;
}

export type ResumeResult =
  | {
      readonly kind: "resumed";
      readonly status: ChainStatus;
      readonly changed: readonly string[];
      /** What was set aside; null: nothing. */
      readonly setAside: SetAside | null;
    }
  /** Its body, or a job in the queue, moves it already; changed settings count from the next attempt on. */
  | { readonly kind: "goes-on"; readonly status: ChainStatus; readonly changed: readonly string[] }
  | { readonly kind: "finished"; readonly status: ChainStatus }
  /** Nothing was changed; this is what `quarantine` would set aside. */
  | { readonly kind: "dry-run"; readonly status: ChainStatus; readonly setAside: SetAside | null };

const PATIENCE_MS = 10 * 60_000;
const UNREACHABLE_MS = 30_000;

/**
 * Lets a held, stopped, drained or stranded chain go on. Throws StintError: `copied` (5), `checkpoint-owned` (5),
 * `not-owner` (5), `still-running` (5) for `over` of a living attempt and for `quarantine` of a chain that is not at rest,
 * `no-such-attempt` (3), `checkpoint` (2) where there is nothing to set aside, `usage` (2), `storage` (1),
 * `refused-by-scheduler` (1); `unreachable` (4) or `not-finished` (75) when the patience ends and nobody moves it.
 */
export async function resumeJob(project: Project, place: JobPlace, request: ResumeRequest = {}): Promise<ResumeResult> {
  requireOwnJob(place);
  const home = await homeOf(project, place, request.takeCheckpoint === true);
  const index = request.task ?? null;
  const job = await readJob(project.folder, place, index);
  if (job === null)
    throw new StintError(
      "not-finished",
      `the submit of ${shortName(project, place.id)} did not come to its end: submit it again`,
    );
  if (hasTasks(job) && index === null) return resumeTasks(project, place, home, request);
  const before = await chainStatus(project, place, index);
  const change = await changedUnderSite(job.jobSpec, request);
  if (before.decision === "finish") {
    const further = furtherAdvice(before, change.spec.total, job.spec.mode === "attached" ? "run" : "submit");
    if (further !== null) throw new StintError("ended", `${shortName(project, place.id)}: ${further}`);
    return { kind: "finished", status: before };
  }
  if (request.over !== undefined) await checkWord(project, job, request.over);
  const taskSpec = specForTask(change.spec, job.task.index);
  const planned = await planSetAside(project, job, taskSpec, request.quarantine === true);
  if (request.dryRun === true) return { kind: "dry-run", status: before, setAside: planned };
  const moved = before.mover;
  const asks = request.over !== undefined || stopInForce(job.stops) !== null || planned !== null || !moved;
  const going = asks ? await boundHere(project, job, change, request) : change;
  if (asks) {
    await requireReserve(project, job.task);
    // A chain that was over must own its checkpoint anew before anything is claimed: one name decides.
    const takenBy = request.takeCheckpoint === true ? personHere(project) : null;
    await claimCheckpoint(project, job.task, specForTask(going.spec, job.task.index), home, {
      renew: before.state === "over" || before.state === "held",
      takenBy,
    });
  }
  if (planned !== null) await setAside(project, job, planned);
  await putOnFile(project, job, going);
  const needsWord =
    request.over !== undefined || before.state === "held" || before.state === "over" || stopInForce(job.stops) !== null;
  if (needsWord)
    await createStop(project.folder, place, {
      ...resumeStop(project, null),
      ...(index === null ? {} : { task: index }),
      ...(request.over === undefined ? {} : { over: request.over }),
      ...(planned === null ? {} : { quarantine: planned.quarantine }),
    });
  if (!asks && change.changed.length === 0) return { kind: "goes-on", status: before, changed: [] };
  if (change.changed.length > 0) await withdrawQueued(project, job, change.spec);
  await go(project, job.task, going.spec, request);
  await submitterFor(project, place, going.spec, request);
  // A word on one task is none on the children.
  if (index === null && stopInForce(job.stops) !== null) await resumeChildren(project, place, request);
  const status = await chainStatus(project, place, index);
  const { changed } = change;
  return asks ? { kind: "resumed", status, changed, setAside: planned } : { kind: "goes-on", status, changed };
}

async function submitterFor(
  project: Project,
  place: JobPlace,
  spec: JobSpec,
  { patienceMs = PATIENCE_MS, signal, onWait }: ResumeRequest,
): Promise<void> {
  const options = { basis: "resume", patienceMs: Math.min(patienceMs, 60_000), signal, onWait } as const;
  await requireSubmitter(project, place, spec, options);
}

async function changedUnderSite(
  onFile: JobSpec,
  { flags = new Map(), environment = process.env, onNotice }: ResumeRequest,
): Promise<ChangedSpec> {
  const loaded = flags.size === 0 ? null : await loadSite(environment);
  if (loaded?.kind === "errors") throw new StintError("site", loaded.errors.join("\n"));
  const change = changeSpec(onFile, flags, loaded?.kind === "site" ? loaded.site : null);
  for (const notice of change.notices) onNotice?.(notice);
  return change;
}

/** A job of several tasks: what is held or stopped wants a slot again, in their order, and what is stranded goes on. */
async function resumeTasks(
  project: Project,
  place: JobPlace,
  home: Home,
  request: ResumeRequest,
): Promise<ResumeResult> {
  const name = shortName(project, place.id);
  for (const [flag, given] of [
    ["--over", request.over !== undefined],
    ["--quarantine", request.quarantine === true],
  ] as const)
    if (given) throw new StintError("usage", `${flag} is a word about one task: stint resume ${name}/INDEX ${flag} …`);
  const tasks = (await readJobTasks(project.folder, place)) ?? [];
  const [first] = tasks;
  const before = await jobStatus(project, place);
  if (first === undefined || before.job.decision === "finish") return { kind: "finished", status: before.job };
  const change = await changedUnderSite(first.jobSpec, request);
  const isFinished = (job: JobOnFile): boolean => job.state.settled?.record.decision.kind === "finish";
  const wanted = request.onlyStranded === true ? [] : tasks.filter((job) => isAtRest(job) && !isFinished(job));
  const stranded = tasks.filter((_, at) => before.tasks[at]?.state === "stranded");
  const asks = wanted.length > 0 || stranded.length > 0;
  const going = asks ? await boundHere(project, first, change, request) : change;
  const takenBy = request.takeCheckpoint === true ? personHere(project) : null;
  for (const { task } of [...wanted, ...stranded])
    await claimCheckpoint(project, task, specForTask(going.spec, task.index), home, {
      renew: wanted.some((job) => job.task.index === task.index),
      takenBy,
    });
  await putOnFile(project, first, going);
  if (wanted.length > 0) await createStop(project.folder, place, resumeStop(project, null));
  const { changed } = change;
  if (changed.length > 0) for (const job of tasks) await withdrawQueued(project, job, going.spec);
  const world = await worldOf(project, place, going.spec);
  // Also where nothing is stranded: what the scheduler did not take before is handed over now.
  const { moved, refused } = await advanceJob(
    world,
    place,
    request.signal === undefined ? {} : { signal: request.signal },
  );
  if (asks && refused !== null && moved === 0) await go(project, refused.task, going.spec, request);
  // What had begun is where its mover left it.
  for (const { task, state } of stranded)
    if (state.open.length > 0 || state.settled !== null) await go(project, task, going.spec, request);
  if (asks || changed.length > 0) await submitterFor(project, place, going.spec, request);
  if (tasks.some(({ stops }) => stopInForce(stops) !== null) && request.onlyStranded !== true)
    await resumeChildren(project, place, request);
  const status = await chainStatus(project, place);
  return asks ? { kind: "resumed", status, changed, setAside: null } : { kind: "goes-on", status, changed };
}

export interface ResumeAllEntry {
  readonly job: string;
  readonly result: ResumeResult | null;
  /** Null: it worked. */
  readonly error: StintError | null;
}

/** Mends every stranded chain of the project. One that cannot be mended does not keep the others from it. */
export async function resumeAll(project: Project, request: ResumeRequest = {}): Promise<readonly ResumeAllEntry[]> {
  const { jobs } = await jobTable(project);
  const places = new Map((await findJobs(project.folder, project.stintFolder)).map((place) => [place.id, place]));
  const entries: ResumeAllEntry[] = [];
  for (const { job, state } of jobs) {
    const place = places.get(job);
    if (state !== "stranded" || place === undefined) continue;
    try {
      entries.push({ job, result: await resumeJob(project, place, { ...request, onlyStranded: true }), error: null });
    } catch (error) {
      entries.push({ job, result: null, error: toStintError(error) });
    }
  }
  return entries;
}

async function homeOf(project: Project, place: JobPlace, takeCheckpoint: boolean): Promise<Home> {
  try {
    return await checkHome(project.folder, place);
  } catch (error) {
    if (!takeCheckpoint || !(error instanceof JournalError) || error.code !== "copied") throw error;
    return adoptHome(project.folder, place, realClock.nowMs());
  }
}

/** A word about an attempt that the scheduler or this machine can see alive would be a false one. */
async function checkWord(project: Project, job: JobOnFile, number: number): Promise<void> {
  const attempt = job.state.open.find((a) => a.number === number);
  const name = shortName(project, job.place.id);
  if (attempt === undefined) {
    const settled = job.state.settled?.number ?? 0;
    throw number >= 1 && number <= settled
      ? new StintError("usage", `attempt ${number} of ${name} is settled: nothing has to be said about it`)
      : new StintError("no-such-attempt", `${name} has no attempt ${number}`);
  }
  const seen = await stillSeen(project, job, attempt);
  if (seen !== null)
    throw new StintError("still-running", `attempt ${number} of ${name} is not over: ${seen}`, {
      hint: `end it with: stint cancel ${name}`,
    });
}

async function stillSeen(project: Project, job: JobOnFile, attempt: AttemptRecords): Promise<string | null> {
  const world = await worldOf(project, job.place, job.spec);
  const { started } = attempt;
  if (started !== null && world.aliveHere(started.body) === "alive")
    return `its process ${started.body.pid} lives here`;
  const ref = refOf(attempt);
  if (ref === null) return null;
  const seen = (await world.scheduler.observe([ref])).get(ref);
  return seen?.kind === "active" ? `the scheduler says ${seen.phase}` : null;
}

async function putOnFile(project: Project, job: JobOnFile, change: ChangedSpec): Promise<void> {
  if (JSON.stringify(change.spec) === JSON.stringify(job.jobSpec)) return;
  const revision = revisionOf(project, change.spec, change.origins);
  const { mine } = await createSpec(project.folder, job.place, job.revision + 1, revision);
  if (!mine)
    throw new StintError(
      "not-finished",
      `the settings of ${shortName(project, job.place.id)} were changed at the same time: look, and try again`,
    );
  forgetWorld(job.place);
}

/** Where it is typed counts: in that allocation the chain goes on, or in none. Throws StintError `not-finished`. */
async function boundHere(
  project: Project,
  job: JobOnFile,
  change: ChangedSpec,
  { environment = process.env, onNotice }: ResumeRequest,
): Promise<ChangedSpec> {
  if (job.spec.scheduler !== "local") return change;
  const onFile = await readSpec(project.folder, job.place);
  const origins = { ...onFile?.revision.origins, ...change.origins };
  const bounded = withAllocation(change.spec, origins, await allocationHere(environment));
  for (const notice of bounded.notices) onNotice?.(notice);
  requireTimeLeft(project, job.place, bounded.spec, job.state.settled?.record.carry.saves ?? NO_SAVES);
  return { ...change, spec: bounded.spec, origins: bounded.origins };
}

/** What stopped with its parent goes on with it. One that cannot is named, and keeps nobody from going on. */
async function resumeChildren(project: Project, place: JobPlace, request: ResumeRequest): Promise<void> {
  const { environment, signal, onNotice } = request;
  for (const child of await descendantsOf(project, place)) {
    if ((await chainStatus(project, child)).state !== "stranded") continue;
    try {
      await resumeJob(project, child, {
        ...(environment === undefined ? {} : { environment }),
        ...(signal === undefined ? {} : { signal }),
        ...(onNotice === undefined ? {} : { onNotice }),
      });
    } catch (error) {
      onNotice?.(`${shortName(project, child.id)} does not go on: ${toStintError(error).message}`);
    }
  }
}

/** Queued successors were submitted with the old settings: new numbers take their place. */
async function withdrawQueued(project: Project, job: JobOnFile, spec: JobSpec): Promise<void> {
  const world = await worldOf(project, job.place, spec);
  for (const attempt of job.state.open)
    if (attempt.go === null && attempt.started === null && attempt.claim !== null)
      await withdraw(world, job.task, attempt.number, "spec-changed", null);
}

async function go(project: Project, task: TaskPlace, spec: JobSpec, request: ResumeRequest): Promise<void> {
  const place = task.job;
  const world = await worldOf(project, place, spec);
  const status = () => chainStatus(project, place, task.index);
  const driven = await driveUntilGoing(world, task, {
    patienceMs: request.patienceMs ?? PATIENCE_MS,
    unreachableMs: request.unreachableMs ?? UNREACHABLE_MS,
    isRunning: async () => (await status()).state === "running",
    ...(request.signal === undefined ? {} : { signal: request.signal }),
    ...(request.onWait === undefined ? {} : { onWait: request.onWait }),
  });
  if (driven.kind === "refused")
    throw new StintError(
      "refused-by-scheduler",
      `the scheduler refuses ${shortName(project, place.id)}: ${driven.error}`,
      {
        hint: `correct it with: stint resume ${shortName(project, place.id)} --partition … (or --limit, --mem …)`,
      },
    );
  if (driven.kind === "waiting" && driven.forSlot === true) return;
  if ((driven.kind !== "waiting" && driven.kind !== "unreachable") || request.signal?.aborted === true) return;
  await requireHandedOver(world, project, task, driven);
  const now = await status();
  // Waiting, and nobody is seen who would end it: to say "goes on" would be a promise in nobody's name.
  if (now.state === "waiting" && !now.mover)
    throw new StintError(
      "not-finished",
      `${shortName(project, place.id)} does not go on yet: ${now.reason ?? driven.why}`,
      { hint: `try again with: stint resume ${shortName(project, place.id)}` },
    );
}
