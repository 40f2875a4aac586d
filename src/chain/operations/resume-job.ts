/** Resume: a person's word that a chain goes on; also the cure for a stranded one. */

import {
  type AttemptRecords,
  isNothing,
  type JobSpec,
  quoteShell,
  refOf,
  specForTask,
  stopInForce,
} from "../../core/index.ts";
import { realClock } from "../../host/index.ts";
import {
  adoptHome,
  checkHome,
  createStopAfter,
  findJobs,
  type Home,
  type JobPlace,
  JournalError,
  stopsOfTask,
  type TaskPlace,
} from "../../journal/index.ts";
import { type FlagValues, isBoundOtherwise } from "../../spec/index.ts";
import { advanceJob } from "../advance.ts";
import { identitiesOf } from "../job-identity.ts";
import { loadSite } from "../site.ts";
import type { World } from "../world.ts";
import { boundHere } from "./allocation-here.ts";
import { furtherAdvice } from "./before-submit.ts";
import { cancelWithdrawn } from "./cancel-withdrawn.ts";
import type { ChainStatus } from "./chain-status.ts";
import { type ChangedSpec, changeSpec } from "./change-spec.ts";
import { claimCheckpoint } from "./checkpoint-claim.ts";
import { type DrivenOrFailed, driveAllUntilGoing } from "./drive.ts";
import { StintError, toStintError } from "./errors.ts";
import { requireHandedOver } from "./handed-over.ts";
import { nameOf, shellName, shortName, targetName } from "./job-name.ts";
import { hasTasks, isAtRest, type JobOnFile, readJob, readJobTasks } from "./job-on-file.ts";
import { personHere, requireReserve, resumeStop } from "./job-records.ts";
import { worldOf } from "./job-world.ts";
import { descendantsOf } from "./parent-job.ts";
import { type Project, requireOwnJob } from "./project.ts";
import { ofTask, requireNoOther, wordState } from "./quarantine-word.ts";
import { requireAccepted } from "./refused-job.ts";
import { reviseSpec, withdrawQueued } from "./revise-spec.ts";
import { planSetAside, type SetAside, setAside } from "./set-aside.ts";
import { chainStatus, jobStatus, jobTable, taskState } from "./status.ts";
import { requireSubmitter } from "./submitter-job.ts";
import { requireUsableCheckpoint } from "./usable-checkpoint.ts";

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
  /** A person's word to start on a checkpoint that is invalid or gone, whatever the application makes of it. */
  readonly asItIs?: boolean;
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
 * `no-such-attempt` (3), `checkpoint` (2) where there is nothing to set aside, or where it is invalid or gone and nobody says
 * `asItIs`, `usage` (2), `storage` (1),
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
    if (further !== null) throw new StintError("ended", `${nameOf(project, job)}: ${further}`);
    return { kind: "finished", status: before };
  }
  if (request.over !== undefined) await checkWord(project, job, request.over);
  const taskSpec = specForTask(change.spec, job.task.index);
  const planned = await planSetAside(project, job, taskSpec, request.quarantine === true);
  if (request.dryRun === true) return { kind: "dry-run", status: before, setAside: planned };
  const moved = before.mover;
  const asItIs = request.asItIs === true;
  const asks = request.over !== undefined || stopInForce(job.stops) !== null || planned !== null || asItIs || !moved;
  // What runs writes it at this moment, and ends by its own rules; everything else would start on what is there now.
  const isRunning = before.state === "running";
  if (asItIs && isRunning)
    throw new StintError("still-running", `${nameOf(project, job)} runs: --as-it-is is a word about the next start`);
  if (asks && planned === null && !asItIs && !isRunning) await requireUsableCheckpoint(project, job, taskSpec);
  const { environment = process.env } = request;
  const going = await boundHere(project, job, change, asks ? environment : null);
  for (const notice of going.notices) request.onNotice?.(notice);
  const changed = [...change.changed, ...(isBoundOtherwise(job.jobSpec, going.spec) ? ["allocation"] : [])];
  if (asks) {
    await requireReserve(project, job.task);
    // A chain that was over must own its checkpoint anew before anything is claimed: one name decides.
    const takenBy = request.takeCheckpoint === true ? personHere(project) : null;
    await claimCheckpoint(project, job.task, specForTask(going.spec, job.task.index), home, {
      renew: before.state === "over" || before.state === "held",
      takenBy,
    });
  }
  const aside = planned === null ? null : await setAside(project, job, planned);
  await reviseSpec(project, job, going);
  const needsWord =
    request.over !== undefined ||
    asItIs ||
    before.state === "held" ||
    before.state === "over" ||
    stopInForce(job.stops) !== null;
  if (needsWord) await linkResume(project, job, { over: request.over, asItIs }, aside);
  if (!asks && changed.length === 0) return { kind: "goes-on", status: before, changed: [] };
  const waited = changed.length > 0 ? await withdrawAllQueued(project, job, going.spec) : [];
  await go(project, job.task, going.spec, request);
  // The settings are those of all tasks: what was queued of the others is queued anew.
  if (changed.length > 0 && index !== null) await beginTasksAgain(project, place, going.spec, waited, request);
  await submitterFor(project, place, going.spec, request);
  // A word on one task is none on the children.
  if (index === null && stopInForce(job.stops) !== null) await resumeChildren(project, place, request);
  const status = await chainStatus(project, place, index);
  return asks ? { kind: "resumed", status, changed, setAside: aside } : { kind: "goes-on", status, changed };
}

/** Returns the tasks that had waited in the queue: nothing of them is queued or runs now. */
async function withdrawAllQueued(project: Project, job: JobOnFile, spec: JobSpec): Promise<readonly TaskPlace[]> {
  const world = await worldOf(project, job.place, spec);
  const read = async () => (hasTasks(job) ? ((await readJobTasks(project.folder, job.place)) ?? []) : [job]);
  const before = (await read()).filter(({ state }) => !state.open.every(isNothing));
  for (const one of before) await withdrawQueued(project, one, spec);
  if (!hasTasks(job)) return [];
  const now = await read();
  await cancelWithdrawn(world, now);
  const idle = new Set(now.filter(({ state }) => state.open.every(isNothing)).map(({ task }) => task.index));
  return before.flatMap(({ task }) => (idle.has(task.index) ? [task] : []));
}

/**
 * Begins what may begin of a job with several tasks. Where the scheduler says "not now" it is asked again, until as many as have
 * `waited` in its queue before are there again: what is left beyond these the others take on. `least`:
 * so many must be begun in any case. Throws StintError as `go`, with how many are left.
 */
async function beginTasksAgain(
  project: Project,
  place: JobPlace,
  spec: JobSpec,
  waited: readonly TaskPlace[],
  request: ResumeRequest,
  least = 0,
): Promise<void> {
  const world = await worldOf(project, place, spec);
  const endAtMs = world.clock.monotonicMs() + (request.patienceMs ?? PATIENCE_MS);
  const options = request.signal === undefined ? {} : { signal: request.signal };
  for (let begun = 0; ; begun += 1) {
    const { moved, refused } = await advanceJob(world, place, options);
    begun += moved;
    if (refused === null || request.signal?.aborted === true) return;
    const left = waited.length - (await onTheirWay(project, place, waited));
    if (left <= 0 && begun >= least) return;
    const patienceMs = Math.max(0, endAtMs - world.clock.monotonicMs());
    try {
      await go(project, refused.task, spec, { ...request, patienceMs });
    } catch (error) {
      if (!(error instanceof StintError) || left <= 1) throw error;
      const name = shellName(project, place.id);
      const hint = error.code === "refused-by-scheduler" ? error.hint : null;
      throw new StintError(
        error.code,
        `${left} of the ${waited.length} tasks of ${name} that were queued are taken back and not queued again: ${refused.error}`,
        { cause: error, hint: hint ?? `the new settings are on file; queue what is left with: stint resume ${name}` },
      );
    }
  }
}

/** How many of these tasks are known to the scheduler, or over. */
async function onTheirWay(project: Project, place: JobPlace, waited: readonly TaskPlace[]): Promise<number> {
  const indices = new Set(waited.map(({ index }) => index));
  const tasks = (await readJobTasks(project.folder, place)) ?? [];
  return tasks.filter(
    (job) =>
      indices.has(job.task.index) && (isAtRest(job) || job.state.open.some((a) => !isNothing(a) && refOf(a) !== null)),
  ).length;
}

/** A resume of this one task, or of a job that has only one. Throws StintError `not-finished` while somebody else sets the checkpoint aside. */
async function linkResume(
  project: Project,
  job: JobOnFile,
  { over, asItIs }: { readonly over: number | undefined; readonly asItIs: boolean },
  aside: SetAside | null,
): Promise<void> {
  const moves = aside === null || aside.state === "done" ? null : aside;
  await createStopAfter(project.folder, job.place, (before) => {
    requireNoOther(project, job, before, moves?.quarantine ?? null);
    // Another resume has ended the word since: what is on file above it is newer than what was asked for here.
    const nonce = aside?.nonce ?? null;
    const isOvertaken = nonce !== null && wordState(stopsOfTask(before, job.task.index), nonce) !== "open";
    if (isOvertaken && over === undefined && !asItIs) return null;
    return {
      ...resumeStop(project, null),
      ...ofTask(job),
      ...(over === undefined ? {} : { over }),
      ...(asItIs ? { asItIs } : {}),
      ...(moves === null ? {} : { quarantine: moves.quarantine }),
    };
  });
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

/** A job of several tasks: what is held or stopped wants a slot again, in their order, and what is stranded or about to stop goes on. */
async function resumeTasks(
  project: Project,
  place: JobPlace,
  home: Home,
  request: ResumeRequest,
): Promise<ResumeResult> {
  const name = shellName(project, place.id);
  for (const [flag, given] of [
    ["--over", request.over !== undefined],
    ["--quarantine", request.quarantine === true],
    ["--as-it-is", request.asItIs === true],
  ] as const)
    if (given) throw new StintError("usage", `${flag} is a word about one task: stint resume ${name}/INDEX ${flag} …`);
  const tasks = (await readJobTasks(project.folder, place)) ?? [];
  const [first] = tasks;
  const before = await jobStatus(project, place);
  if (first === undefined || before.job.decision === "finish") return { kind: "finished", status: before.job };
  const change = await changedUnderSite(first.jobSpec, request);
  const isFinished = (job: JobOnFile): boolean => job.state.settled?.record.decision.kind === "finish";
  const resumed = request.onlyStranded === true ? [] : tasks.filter((job) => !isFinished(job));
  const wanted = resumed.filter(isAtRest);
  // A stop that is still being carried out: who has not ended yet goes on all the same.
  const stopping = resumed.filter((job) => !isAtRest(job) && stopInForce(job.stops) !== null);
  const stateOf = new Map(tasks.map((job, at) => [job, before.tasks[at]?.state]));
  const stranded = tasks.filter((job) => stateOf.get(job) === "stranded");
  // What runs writes its checkpoint at this moment; everything else would start on what is there now.
  const resting = [...new Set([...wanted, ...stranded, ...stopping])].filter((job) => stateOf.get(job) !== "running");
  const asks = resting.length > 0 || stopping.length > 0;
  const lookedAt = new Map<JobOnFile, SetAside | null>();
  // Nothing of any task is put on file before all of them have been looked at.
  for (const job of resting) lookedAt.set(job, await look(project, job, specForTask(change.spec, job.task.index)));
  const { environment = process.env } = request;
  const going = await boundHere(project, first, change, asks ? environment : null);
  for (const notice of going.notices) request.onNotice?.(notice);
  const changed = [...change.changed, ...(isBoundOtherwise(first.jobSpec, going.spec) ? ["allocation"] : [])];
  const takenBy = request.takeCheckpoint === true ? personHere(project) : null;
  const claiming = [...new Set([...resting, ...stopping])];
  for (const [at, job] of claiming.entries()) {
    await requireReserveOf(project, job);
    await claimCheckpoint(project, job.task, specForTask(going.spec, job.task.index), home, {
      renew: wanted.includes(job),
      takenBy,
      isOneOfMany: at + 1 < claiming.length,
    });
  }
  for (const [job, planned] of lookedAt) if (planned !== null) await finishSetAside(project, job, planned, request);
  await reviseSpec(project, first, going);
  if (wanted.length + stopping.length > 0) await linkResumeOfAll(project, place, [...wanted, ...stopping]);
  const waited = changed.length > 0 ? await withdrawAllQueued(project, first, going.spec) : [];
  // Also where nothing is stranded: what the scheduler did not take before is handed over now.
  await beginTasksAgain(project, place, going.spec, waited, request, asks ? 1 : 0);
  // What had begun is where its mover, or the stop, left it.
  const begun = [...new Set([...stranded, ...stopping])].filter(
    ({ state }) => state.open.length > 0 || state.settled !== null,
  );
  await goAll(
    project,
    begun.map(({ task }) => task),
    going.spec,
    request,
  );
  if (asks || changed.length > 0) await submitterFor(project, place, going.spec, request);
  if (tasks.some(({ stops }) => stopInForce(stops) !== null) && request.onlyStranded !== true)
    await resumeChildren(project, place, request);
  const status = await chainStatus(project, place);
  return asks ? { kind: "resumed", status, changed, setAside: null } : { kind: "goes-on", status, changed };
}

/** What was left of setting its checkpoint aside, if anything; else it must be one that can be started on. */
async function look(project: Project, job: JobOnFile, spec: JobSpec): Promise<SetAside | null> {
  const left = await planSetAside(project, job, spec, false);
  if (left === null) await requireUsableCheckpoint(project, job, spec);
  return left;
}

/** Of a task that has run: one that has not makes its own before it starts. */
async function requireReserveOf(project: Project, { task, state }: JobOnFile): Promise<void> {
  if (state.settled !== null) await requireReserve(project, task);
}

/** Somebody died over it: with the resume of this one task its moves are made, and said to be. */
async function finishSetAside(
  project: Project,
  job: JobOnFile,
  planned: SetAside,
  { onNotice }: ResumeRequest,
): Promise<void> {
  const aside = await setAside(project, job, planned);
  await linkResume(project, job, { over: undefined, asItIs: false }, aside);
  for (const { from, to } of aside.quarantine.moves)
    onNotice?.(`${nameOf(project, job)}: moved ${from} to ${to}, as ${aside.by ?? "somebody"} asked for before`);
}

/** One word for all. Throws StintError `not-finished` while somebody sets the checkpoint of one of them aside. */
async function linkResumeOfAll(project: Project, place: JobPlace, wanted: readonly JobOnFile[]): Promise<void> {
  await createStopAfter(project.folder, place, (before) => {
    const named = new Set(before.flatMap(({ task, quarantine }) => (quarantine === undefined ? [] : [task])));
    for (const job of wanted) if (named.has(job.task.index)) requireNoOther(project, job, before, null);
    return resumeStop(project, null);
  });
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
  const name = nameOf(project, job);
  if (attempt === undefined) {
    const settled = job.state.settled?.number ?? 0;
    throw number >= 1 && number <= settled
      ? new StintError("usage", `attempt ${number} of ${name} is settled: nothing has to be said about it`)
      : new StintError("no-such-attempt", `${name} has no attempt ${number}`);
  }
  const seen = await stillSeen(project, job, attempt);
  if (seen !== null)
    throw new StintError("still-running", `attempt ${number} of ${name} is not over: ${seen}`, {
      hint: `end it with: stint cancel ${quoteShell(name)}`,
    });
}

async function stillSeen(project: Project, job: JobOnFile, attempt: AttemptRecords): Promise<string | null> {
  const world = await worldOf(project, job.place, job.spec);
  const { started } = attempt;
  if (started !== null && world.aliveHere(started.body) === "alive")
    return `its process ${started.body.pid} lives here`;
  const ref = refOf(attempt);
  if (ref === null) return null;
  const identities = identitiesOf(job.task, [attempt]);
  const seen = (await world.scheduler.observe([ref], identities)).get(ref);
  return seen?.kind === "active" ? `the scheduler says ${seen.phase}` : null;
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

/** Throws StintError where the task does not go on. */
function go(project: Project, task: TaskPlace, spec: JobSpec, request: ResumeRequest): Promise<void> {
  return goAll(project, [task], spec, request);
}

/** Drives these tasks of one job beside each other. Throws what one came to; of several, one StintError that names those that failed. */
async function goAll(
  project: Project,
  tasks: readonly TaskPlace[],
  spec: JobSpec,
  request: ResumeRequest,
): Promise<void> {
  const [first] = tasks;
  if (first === undefined) return;
  const place = first.job;
  const world = await worldOf(project, place, spec);
  const driven = await driveAllUntilGoing(world, tasks, {
    patienceMs: request.patienceMs ?? PATIENCE_MS,
    unreachableMs: request.unreachableMs ?? UNREACHABLE_MS,
    isRunning: async (task) => (await taskState(project, place, task.index)).state === "running",
    ...(request.signal === undefined ? {} : { signal: request.signal }),
    ...(request.onWait === undefined ? {} : { onWait: request.onWait }),
  });
  const failed: { readonly task: TaskPlace; readonly error: unknown }[] = [];
  for (const [at, task] of tasks.entries()) {
    try {
      await requireGoing(project, world, task, driven[at], request);
    } catch (error) {
      failed.push({ task, error });
    }
  }
  const [one] = failed;
  if (one === undefined) return;
  if (tasks.length === 1) throw one.error;
  throw together(project, place, failed, tasks.length);
}

/** So many are named, each with its own words. */
const MOST_NAMED = 3;

function together(
  project: Project,
  place: JobPlace,
  failed: readonly { readonly task: TaskPlace; readonly error: unknown }[],
  count: number,
): StintError {
  const errors = failed.map(({ task, error }) => ({ index: task.index, error: toStintError(error) }));
  const name = shortName(project, place.id);
  const named = errors.slice(0, MOST_NAMED).map(({ index, error }) => `${name}/${index}: ${error.message}`);
  const rest = errors.slice(MOST_NAMED).map(({ index }) => index);
  const more = rest.length === 0 ? "" : `; and tasks ${rest.join(", ")}`;
  const [{ error: first } = { error: null }] = errors;
  const tryAgain = `when that is mended: stint resume ${shellName(project, place.id)}`;
  return new StintError(
    first?.code ?? "internal",
    `${errors.length} of ${count} tasks do not go on: ${named.join("; ")}${more}`,
    { cause: first, hint: first?.code === "refused-by-scheduler" ? (first.hint ?? tryAgain) : tryAgain },
  );
}

async function requireGoing(
  project: Project,
  world: World,
  task: TaskPlace,
  driven: DrivenOrFailed | undefined,
  request: ResumeRequest,
): Promise<void> {
  if (driven === undefined) return;
  if (driven.kind === "failed") throw driven.error;
  const place = task.job;
  await requireAccepted(project, task, driven, true);
  if (driven.kind === "waiting" && driven.forSlot === true) return;
  if ((driven.kind !== "waiting" && driven.kind !== "unreachable") || request.signal?.aborted === true) return;
  await requireHandedOver(world, project, task, driven);
  const now = await chainStatus(project, place, task.index);
  // Waiting, and nobody is seen who would end it: to say "goes on" would be a promise in nobody's name.
  if (now.state === "waiting" && !now.mover)
    throw new StintError(
      "not-finished",
      `${targetName(project, { place, task: now.task })} does not go on yet: ${now.reason ?? driven.why}`,
      { hint: `try again with: stint resume ${shellName(project, place.id)}` },
    );
}
