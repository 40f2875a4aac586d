/**
 * Submit: from a resolved job to a chain that somebody moves. Every step makes a record that is made once or leaves what is
 * there, so that after a crash at any point typing the same again mends it, and typing it twice at once gives one chain.
 */
import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { hasTaskPlan, isNothing, type JobSpec, NO_SAVES, type Origins, refOf, specForTask } from "../../core/index.ts";
import { realClock } from "../../host/index.ts";
import {
  attemptPlace,
  checkHome,
  createHome,
  createSpec,
  createStop,
  type JobPlace,
  jobPlace,
  scriptCopy,
  type TaskPlace,
  taskPlace,
} from "../../journal/index.ts";
import { isBoundOtherwise } from "../../spec/index.ts";
import { advanceJob } from "../advance.ts";
import type { World } from "../world.ts";
import { boundHere, requireTimeLeft } from "./allocation-here.ts";
import { requireKnownIndices } from "./array-limit.ts";
import { checkBeforeStart, freePlace, requireSamePurpose, settingsNotice } from "./before-submit.ts";
import type { ChainStatus } from "./chain-status.ts";
import { claimCheckpoint, requireFreeCheckpoint } from "./checkpoint-claim.ts";
import { driveUntilGoing, handOver } from "./drive.ts";
import { StintError } from "./errors.ts";
import { requireHandedOver } from "./handed-over.ts";
import { shellName } from "./job-name.ts";
import { attemptsOf, hasTasks, isAtRest, type JobOnFile, readJob, readJobTasks } from "./job-on-file.ts";
import { ensureEnvironment, personHere, requireReserve, resumeStop, revisionOf } from "./job-records.ts";
import { firstHandOver, firstScript, firstSubmitter, successorHandOvers, worldOf } from "./job-world.ts";
import { rememberProject } from "./known-projects.ts";
import { requireParentGoesOn } from "./parent-job.ts";
import { type Project, projectForSubmit, requireOwn, requireOwnJob, type Where } from "./project.ts";
import { requireAccepted, takeBackUnrun } from "./refused-job.ts";
import { reviseSpec, withdrawQueued } from "./revise-spec.ts";
import { installRuntime, type RuntimeBundle, requireRunnablePath } from "./runtime-bundle.ts";
import { chainStatus, jobStatus, taskState } from "./status.ts";
import { requireSubmitter } from "./submitter-job.ts";
import { requireUsableCheckpoint } from "./usable-checkpoint.ts";

export interface SubmitRequest extends Where {
  /** `/user/name`, as resolved. */
  readonly job: string;
  readonly spec: JobSpec;
  readonly origins: Origins;
  readonly runtime: RuntimeBundle;
  /** The batch script's content, where the command is one. */
  readonly script?: Uint8Array;
  /** A new job `name.2`, `name.3` … where the name is taken. */
  readonly again?: boolean;
  /** A person's word that a checkpoint whose owner's folder is gone is free. */
  readonly takeCheckpoint?: boolean;
  /** Only say what would be done. */
  readonly dryRun?: boolean;
  /** The caller stays and goes on trying (`watchJob`): when the patience ends without a scheduler's yes, that is no error. */
  readonly attended?: boolean;
  /** How long to keep trying where the scheduler says "not now", in ms. */
  readonly patienceMs?: number;
  /** Aborted before anything was made: nothing is. Later: ends the wait for the scheduler; what was submitted stays. */
  readonly signal?: AbortSignal;
  readonly onWait?: (why: string) => void;
  /** Of a job with several tasks: so many own their checkpoint by now. */
  readonly onClaimed?: (claimed: number, of: number) => void;
  /** Of a job with several tasks: so many have been handed over, of so many that may begin. */
  readonly onBegun?: (begun: number, due: number) => void;
}

export type SubmitResult =
  /** A new job; its first attempt is queued. `notice`: what is not as it was asked for, though the job is on its way. */
  | { readonly kind: "submitted"; readonly status: ChainStatus; readonly notice: string | null }
  /** The same name again, and what it found was not being moved: it is now. */
  | { readonly kind: "continued"; readonly status: ChainStatus; readonly notice: string | null }
  /** The same name again: it goes on by itself, is finished, or ended and can be resumed. Nothing was changed. */
  | { readonly kind: "there"; readonly status: ChainStatus; readonly notice: string | null }
  /** The checkpoint of a new job has reached the total already. Nothing was created. */
  | { readonly kind: "total-reached"; readonly job: string; readonly progress: number; readonly total: number }
  /** The signal came before anything was made. */
  | { readonly kind: "given-up"; readonly job: string }
  | {
      readonly kind: "dry-run";
      readonly job: string;
      readonly folder: string;
      /** The command that would hand over the first attempt, word by word. */
      readonly handOver: readonly string[];
      readonly script: string;
      /** The command that each successor would be handed over by; JOB stands for ids that are not known yet. */
      readonly successors: readonly (readonly string[])[];
      /** The same for its first submitter; null: it is in another mode. */
      readonly submitter: { readonly handOver: readonly string[]; readonly script: string } | null;
    };

/** Where the scheduler says "not now", it is asked again for this long. */
const PATIENCE_MS = 10 * 60_000;
/** Where it cannot be asked at all and has taken nothing, this is enough: a person is told what else there is to do. */
const UNREACHABLE_MS = 60_000;

/**
 * Submits a job, or continues the one of that name. Throws StintError: `command-differs` (2) where the name stands for other
 * work, `checkpoint` (2) where the checkpoint cannot be used, `checkpoint-owned` (5), `copied` (5), `not-owner` (5),
 * `refused-by-scheduler` (1), `storage` (1); `unreachable` (4) or `not-finished` (75) when the patience ends and the scheduler
 * has taken nothing.
 */
export async function submitJob(request: SubmitRequest): Promise<SubmitResult> {
  const project = projectForSubmit(request);
  requireOwn(project.stintFolder);
  const place =
    request.again === true ? await freePlace(project, request.job) : jobPlace(project.stintFolder, request.job);
  const name = place.id.split("/").at(-1) ?? request.spec.name;
  const spec: JobSpec = { ...request.spec, name };
  if (await isGivenUp(request)) return { kind: "given-up", job: place.id };
  await requireParentGoesOn(project, place);
  const there = await readJob(project.folder, place);
  if (there !== null && request.dryRun !== true) await rememberProject(request, project.stintFolder);
  if (there !== null) return again(project, there, { ...request, spec });
  requireRunnablePath(project);
  const done = await checkBeforeStart(place, spec);
  if (done !== null) return done;
  const takenBy = request.takeCheckpoint === true ? personHere(project) : null;
  await requireFreeCheckpoint(project, place, spec, takenBy);
  await requireKnownIndices(spec, request.environment);
  if (request.dryRun === true)
    return {
      kind: "dry-run",
      job: place.id,
      folder: place.folder,
      handOver: firstHandOver(place, spec),
      script: firstScript(place, spec),
      successors: successorHandOvers(place, spec),
      submitter: firstSubmitter(place, spec),
    };
  requireTimeLeft(project, place, spec, NO_SAVES);
  if (await isGivenUp(request)) return { kind: "given-up", job: place.id };
  await project.folder.makeFolder(project.stintFolder);
  await rememberProject(request, project.stintFolder);
  await createHome(project.folder, place, randomUUID(), realClock.nowMs());
  await ensureEnvironment(project, place, request);
  await installRuntime(project, request.runtime);
  await keepScript(project, place, request);
  const { mine, record } = await createSpec(project.folder, place, 1, revisionOf(project, spec, request.origins));
  if (!mine) await requireSamePurpose(project, place, record.spec, spec);
  await ensureReady(project, place, (await readJobTasks(project.folder, place)) ?? [], { ...request, takenBy });
  return settle(project, place, record.spec, request, mine ? "submitted" : "continued");
}

/** The copy that every attempt runs: what is done to the file later changes nothing. Its content is its name. */
async function keepScript(
  project: Project,
  place: JobPlace,
  { spec, script }: Pick<SubmitRequest, "spec" | "script">,
): Promise<void> {
  if (spec.command.kind !== "batch") return;
  if (script === undefined)
    throw new StintError("internal", `the content of ${spec.command.name} is missing: hand on script`);
  const copy = scriptCopy(place, spec.command);
  await project.folder.makeFolder(dirname(copy));
  await project.folder.replace(copy, script);
}

/** A signal to this process is heard only between two turns of its loop, and reading files is one long turn. */
async function isGivenUp({ signal }: SubmitRequest): Promise<boolean> {
  await nextTurn();
  return signal?.aborted === true;
}

/** The same name again. */
async function again(project: Project, there: JobOnFile, request: SubmitRequest): Promise<SubmitResult> {
  const { place } = there;
  requireOwnJob(place);
  const home = await checkHome(project.folder, place);
  await requireSamePurpose(project, place, there.jobSpec, request.spec);
  const status = await chainStatus(project, place);
  const tasks = (await readJobTasks(project.folder, place)) ?? [];
  const neverRan = tasks.every((task) => attemptsOf(task) === 0 && isAtRest(task));
  const ended = status.state === "over" && status.decision === "stop";
  if (request.dryRun === true) return { kind: "there", status, notice: null };
  if (ended && neverRan) {
    // Refused by the scheduler or cancelled before it ever ran: what is typed now counts.
    requireTimeLeft(project, place, request.spec, NO_SAVES);
    for (const task of tasks) await requireUsableCheckpoint(project, task, specForTask(request.spec, task.task.index));
    await ensureEnvironment(project, place, request);
    for (const [at, { task }] of tasks.entries())
      await claimCheckpoint(project, task, specForTask(request.spec, task.index), home, {
        renew: true,
        isOneOfMany: at + 1 < tasks.length,
      });
    await installRuntime(project, request.runtime);
    await keepScript(project, place, request);
    await createSpec(project.folder, place, there.revision + 1, revisionOf(project, request.spec, request.origins));
    await createStop(project.folder, place, resumeStop(project, "submitted again"));
    return settle(project, place, request.spec, request, "continued");
  }
  if (status.state === "stranded") {
    const bounded = await boundHere(project, there, { spec: there.jobSpec, origins: {} }, request.environment);
    const { spec } = bounded;
    for (const task of await strandedOf(project, tasks))
      await requireUsableCheckpoint(project, task, specForTask(spec, task.task.index));
    await reviseSpec(project, there, bounded);
    if (isBoundOtherwise(there.jobSpec, spec)) for (const task of tasks) await withdrawQueued(project, task, spec);
    await ensureEnvironment(project, place, request);
    await ensureReady(project, place, tasks, request);
    return settle(project, place, spec, request, "continued");
  }
  return { kind: "there", status, notice: settingsNotice(project, there, request.spec, status) };
}

/** Everything that must stand before an attempt is claimed. */
async function ensureReady(
  project: Project,
  place: JobPlace,
  tasks: readonly JobOnFile[],
  { takenBy = null, onClaimed }: Pick<SubmitRequest, "onClaimed"> & { readonly takenBy?: string | null },
): Promise<void> {
  const home = await checkHome(project.folder, place);
  const [first] = tasks;
  // Of several tasks each attempt makes its own reserve before it starts: those that wait take no room.
  if (first !== undefined) await requireReserve(project, first.task);
  // All of them at once: another's checkpoint is refused before anything runs. What is over needs none.
  const open = tasks.filter((one) => !isAtRest(one));
  for (const [at, { task, spec }] of open.entries()) {
    await claimCheckpoint(project, task, spec, home, { takenBy, isOneOfMany: at + 1 < open.length });
    onClaimed?.(at + 1, open.length);
  }
}

/** Those that nobody moves. */
async function strandedOf(project: Project, tasks: readonly JobOnFile[]): Promise<readonly JobOnFile[]> {
  const [first] = tasks;
  if (first === undefined || !hasTasks(first)) return tasks;
  const { tasks: statuses } = await jobStatus(project, first.place);
  const stranded = new Set(statuses.flatMap(({ task, state }) => (state === "stranded" ? [task] : [])));
  return tasks.filter(({ task }) => stranded.has(task.index));
}

async function settle(
  project: Project,
  place: JobPlace,
  spec: JobSpec,
  request: SubmitRequest,
  kind: "submitted" | "continued",
): Promise<SubmitResult> {
  const world = await worldOf(project, place, spec);
  const { task, notice } = await beginAll(project, world, place, spec, request);
  if (task === null) {
    await requireFirstSubmitter(project, place, spec, request);
    return { kind, status: await chainStatus(project, place), notice };
  }
  const driven = await driveUntilGoing(world, task, {
    patienceMs: request.patienceMs ?? PATIENCE_MS,
    unreachableMs: UNREACHABLE_MS,
    isRunning: async () => (await taskState(project, place, task.index)).state === "running",
    ...(request.signal === undefined ? {} : { signal: request.signal }),
    ...(request.onWait === undefined ? {} : { onWait: request.onWait }),
  });
  await requireAccepted(project, task, driven);
  const goesOn = request.attended === true || request.signal?.aborted === true;
  const cutShort = request.signal?.aborted === true && driven.kind === "waiting";
  // A drain would wait for the same scheduler: who interrupts is told what is left instead.
  const isLost = cutShort && (await handOver(world, task)) === "unreachable";
  if (!goesOn || isLost || driven.kind === "unreachable") await requireHandedOver(world, project, task, driven);
  const rest = (await beginAll(project, world, place, spec, request)).notice;
  await requireFirstSubmitter(project, place, spec, request);
  return { kind, status: await chainStatus(project, place), notice: rest };
}

/**
 * Of a job with several tasks: begins all that may begin, one after the other. `task`: nothing of the job lives, and this one is to
 * be handed over with patience; null: what may live lives. `notice`: what is not handed over yet, and who will do it. Of a job with
 * one task that is always its own affair.
 */
async function beginAll(
  project: Project,
  world: World,
  place: JobPlace,
  spec: JobSpec,
  { signal, onBegun }: SubmitRequest,
): Promise<{ readonly task: TaskPlace | null; readonly notice: string | null }> {
  if (!hasTaskPlan(spec)) return { task: taskPlace(place, 0), notice: null };
  const { moved, refused, left } = await advanceJob(world, place, {
    ...(signal === undefined ? {} : { signal }),
    ...(onBegun === undefined ? {} : { onMoved: onBegun }),
  });
  if (refused === null) return { task: null, notice: null };
  const isUnclear = world.memory.unclear.has(attemptPlace(refused.task, refused.attempt).folder);
  const notice = await leftWords(project, place, spec, { left, error: isUnclear ? null : refused.error });
  return { task: moved === 0 ? refused.task : null, notice };
}

/** `error`: the scheduler's "not now"; null: it gave no clear answer. */
async function leftWords(
  project: Project,
  place: JobPlace,
  { mode }: JobSpec,
  { left, error }: { readonly left: number; readonly error: string | null },
): Promise<string> {
  const tasks = (await readJobTasks(project.folder, place)) ?? [];
  const living = tasks.map(({ state }) =>
    state.open.filter((attempt) => !isNothing(attempt) && refOf(attempt) !== null),
  );
  const taken = living.filter((attempts) => attempts.length > 0).length;
  const run = living.some((attempts) => attempts.some(({ go, exited }) => go?.what === "start" && exited === null));
  const why =
    error === null
      ? `the scheduler gave no clear answer for the next one, so the other ${left} are not handed over yet`
      : `the scheduler does not take the other ${left} now (${error})`;
  const now = `at once with: stint resume ${shellName(project, place.id)}`;
  const who = run ? "the running ones hand them over later" : `the first that runs hands them over later, or ${now}`;
  return `${taken} tasks are on their way; ${why}: ${mode === "submitter" ? "the submitter hands them over later" : who}`;
}

/** How long a person waits for a submitter that is refused for now: the first attempt, which is on its way, can make one too. */
const SUBMITTER_PATIENCE_MS = 60_000;

/** Mode submitter. After a lasting no to its submitter a new job is taken back as a whole. */
async function requireFirstSubmitter(
  project: Project,
  place: JobPlace,
  spec: JobSpec,
  request: SubmitRequest,
): Promise<void> {
  const patienceMs = Math.min(request.patienceMs ?? PATIENCE_MS, SUBMITTER_PATIENCE_MS);
  const { signal, onWait } = request;
  try {
    await requireSubmitter(project, place, spec, { basis: "first", patienceMs, signal, onWait });
  } catch (error) {
    if (error instanceof StintError && error.code === "refused-by-scheduler")
      await takeBackUnrun(project, place, error.message);
    throw error;
  }
}
