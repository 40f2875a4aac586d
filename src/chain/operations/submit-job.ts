/**
 * Submit: from a resolved job to a chain that somebody moves. Every step makes a record that is made once or leaves what is
 * there, so that after a crash at any point typing the same again mends it, and typing it twice at once gives one chain.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { readCheckpoint, spaceFor } from "../../checkpoint/index.ts";
import {
  type JobSpec,
  type Origins,
  progressOf,
  RECORD_VERSION,
  type SpecRevision,
  type Stop,
  totalReached,
} from "../../core/index.ts";
import { realClock, thisMachine } from "../../host/index.ts";
import {
  checkHome,
  createHome,
  createRecord,
  createSpec,
  createStop,
  type Home,
  type JobPlace,
  jobPlace,
  taskPlace,
} from "../../journal/index.ts";
import { samePurpose } from "../../spec/index.ts";
import { type ChainStatus, isAtRest, type JobOnFile, readJob } from "./chain-status.ts";
import { claimCheckpoint, requireFreeCheckpoint } from "./checkpoint-claim.ts";
import { type Driven, driveUntilGoing } from "./drive.ts";
import { StintError } from "./errors.ts";
import { environmentForJob } from "./job-environment.ts";
import { shortName } from "./job-name.ts";
import { firstScript, forgetWorld, worldOf } from "./job-world.ts";
import { type Project, projectForSubmit, requireOwn, requireOwnJob, type Where } from "./project.ts";
import { installRuntime, type RuntimeBundle } from "./runtime-bundle.ts";
import { chainStatus } from "./status.ts";

export interface SubmitRequest extends Where {
  /** `/user/name`, as resolved. */
  readonly job: string;
  readonly spec: JobSpec;
  readonly origins: Origins;
  readonly runtime: RuntimeBundle;
  /** A new job `name.2`, `name.3` … where the name is taken. */
  readonly again?: boolean;
  /** A person's word that a checkpoint whose owner's folder is gone is free. */
  readonly takeCheckpoint?: boolean;
  /** Only say what would be done. */
  readonly dryRun?: boolean;
  /** How long to keep trying where the scheduler says "not now", in ms. */
  readonly patienceMs?: number;
  readonly signal?: AbortSignal;
  readonly onWait?: (why: string) => void;
}

export type SubmitResult =
  /** A new job; its first attempt is queued. */
  | { readonly kind: "submitted"; readonly status: ChainStatus }
  /** The same name again, and what it found was not being moved: it is now. */
  | { readonly kind: "continued"; readonly status: ChainStatus }
  /** The same name again: it goes on by itself, is finished, or ended and can be resumed. Nothing was changed. */
  | { readonly kind: "there"; readonly status: ChainStatus; readonly notice: string | null }
  /** The checkpoint of a new job has reached the total already. Nothing was created. */
  | { readonly kind: "total-reached"; readonly job: string; readonly progress: number; readonly total: number }
  | { readonly kind: "dry-run"; readonly job: string; readonly folder: string; readonly script: string };

/** Where the scheduler says "not now", it is asked again for this long. */
const PATIENCE_MS = 10 * 60_000;
/** To be freed when the disk is full, so that the end of an attempt can still be put on file. */
const RESERVE_BYTES = 64 * 1024;

/**
 * Submits a job, or continues the one of that name. Throws StintError: `command-differs` (2) where the name stands for other
 * work, `checkpoint` (2) where the checkpoint cannot be used, `checkpoint-owned` (5), `copied` (5), `not-owner` (5),
 * `refused-by-scheduler` (1), `storage` (1).
 */
export async function submitJob(request: SubmitRequest): Promise<SubmitResult> {
  const project = projectForSubmit(request);
  requireOwn(project.stintFolder);
  const place =
    request.again === true ? await freePlace(project, request.job) : jobPlace(project.stintFolder, request.job);
  const name = place.id.split("/").at(-1) ?? request.spec.name;
  const spec: JobSpec = { ...request.spec, name };
  const there = await readJob(project.folder, place);
  if (there !== null) return again(project, there, { ...request, spec });
  const done = await checkBeforeStart(place, spec);
  if (done !== null) return done;
  const takenBy = request.takeCheckpoint === true ? personHere(project) : null;
  await requireFreeCheckpoint(project, spec, takenBy);
  if (request.dryRun === true)
    return { kind: "dry-run", job: place.id, folder: place.folder, script: firstScript(place, spec) };
  await project.folder.makeFolder(project.stintFolder);
  await createHome(project.folder, place, randomUUID(), realClock.nowMs());
  await ensureEnvironment(project, place, request);
  await installRuntime(project, request.runtime);
  const { mine, record } = await createSpec(project.folder, place, 1, revisionOf(project, spec, request.origins));
  if (!mine) requireSamePurpose(project, place, record.spec, spec);
  await ensureReady(project, place, record.spec, { takenBy });
  return settle(project, place, record.spec, request, mine ? "submitted" : "continued");
}

/** The same name again. */
async function again(project: Project, there: JobOnFile, request: SubmitRequest): Promise<SubmitResult> {
  const { place } = there;
  requireOwnJob(place);
  const home = await checkHome(project.folder, place);
  requireSamePurpose(project, place, there.spec, request.spec);
  const status = await chainStatus(project, place);
  const neverRan = (there.state.settled?.record.carry.attempts ?? 0) === 0 && isAtRest(there);
  const ended = status.state === "over" && status.decision === "stop";
  if (request.dryRun === true) return { kind: "there", status, notice: null };
  if (ended && neverRan) {
    // Refused by the scheduler or cancelled before it ever ran: what is typed now counts.
    await ensureEnvironment(project, place, request);
    await claimCheckpoint(project, place, request.spec, home, { renew: true });
    await installRuntime(project, request.runtime);
    await createSpec(project.folder, place, there.revision + 1, revisionOf(project, request.spec, request.origins));
    await createStop(project.folder, place, resumeStop(project, "submitted again"));
    return settle(project, place, request.spec, request, "continued");
  }
  if (status.state === "stranded") {
    await ensureEnvironment(project, place, request);
    await ensureReady(project, place, there.spec, {});
    return settle(project, place, there.spec, request, "continued");
  }
  return { kind: "there", status, notice: settingsNotice(project, there, request.spec) };
}

/** Everything that must stand before an attempt is claimed. */
async function ensureReady(
  project: Project,
  place: JobPlace,
  spec: JobSpec,
  options: { readonly takenBy?: string | null },
): Promise<Home> {
  const home = await checkHome(project.folder, place);
  await ensureReserve(project, place);
  await claimCheckpoint(project, place, spec, home, options);
  return home;
}

async function settle(
  project: Project,
  place: JobPlace,
  spec: JobSpec,
  request: SubmitRequest,
  kind: "submitted" | "continued",
): Promise<SubmitResult> {
  const world = await worldOf(project, place, spec);
  const driven = await driveUntilGoing(world, taskPlace(place, 0), {
    patienceMs: request.patienceMs ?? PATIENCE_MS,
    isRunning: async () => (await chainStatus(project, place)).state === "running",
    ...(request.signal === undefined ? {} : { signal: request.signal }),
    ...(request.onWait === undefined ? {} : { onWait: request.onWait }),
  });
  await requireAccepted(project, place, driven);
  return { kind, status: await chainStatus(project, place) };
}

/** After a lasting no nothing will ever run: the claim is withdrawn, and the same name may be typed again, corrected. */
async function requireAccepted(project: Project, place: JobPlace, driven: Driven): Promise<void> {
  if (driven.kind !== "refused") return;
  const job = await readJob(project.folder, place);
  if (job !== null && (job.state.settled?.record.carry.attempts ?? 0) === 0) {
    await createStop(project.folder, place, { ...resumeStop(project, driven.error), kind: "drain" });
    await driveUntilGoing(await worldOf(project, place, job.spec), taskPlace(place, 0), { patienceMs: 5_000 });
    forgetWorld(place);
  }
  throw new StintError(
    "refused-by-scheduler",
    `the scheduler refuses ${shortName(project, place.id)}: ${driven.error}`,
    {
      hint: "nothing runs; correct it and submit again under the same name",
    },
  );
}

/** What would make a new job pointless from the start. Null: nothing is against it. Throws StintError `checkpoint`. */
async function checkBeforeStart(place: JobPlace, spec: JobSpec): Promise<SubmitResult | null> {
  if (spec.checkpoint === null) return null;
  const { reading } = await readCheckpoint(spec.checkpoint, spec.cwd);
  if (reading.kind === "invalid")
    throw new StintError("checkpoint", `the checkpoint ${spec.checkpoint.path} cannot be used: ${reading.why}`, {
      hint: "mend it, remove it to begin anew, or name another with --checkpoint",
    });
  if (reading.kind === "value" && spec.total !== null && totalReached(progressOf(reading, null), spec.total))
    return { kind: "total-reached", job: place.id, progress: reading.value, total: spec.total };
  const [trouble] = (await spaceFor(spec.checkpoint, spec.cwd)).filter((finding) => finding.severity === "error");
  if (trouble === undefined) return null;
  const full = trouble.kind === "no-space" || trouble.kind === "no-inodes";
  throw new StintError(full ? "storage" : "checkpoint", trouble.text);
}

/** First of `name`, `name.2`, `name.3` … that is not taken. */
async function freePlace(project: Project, id: string): Promise<JobPlace> {
  for (let number = 1; ; number++) {
    const place = jobPlace(project.stintFolder, number === 1 ? id : `${id}.${number}`);
    if ((await readJob(project.folder, place)) === null) return place;
  }
}

function requireSamePurpose(project: Project, place: JobPlace, onFile: JobSpec, now: JobSpec): void {
  const same = samePurpose(onFile, now);
  if (same.same) return;
  const name = shortName(project, place.id);
  throw new StintError("command-differs", `${name} is another job: ${same.differs}`, {
    hint: `choose another name with --name, or make a new job ${name}.2 with --again`,
  });
}

/** Settings that were given now and differ from those on file: they change nothing, and that must be said. */
function settingsNotice(project: Project, there: JobOnFile, now: JobSpec): string | null {
  const keys = (Object.keys(now) as (keyof JobSpec)[]).filter(
    (key) => !NOT_A_WISH.has(key) && JSON.stringify(now[key]) !== JSON.stringify(there.spec[key]),
  );
  if (keys.length === 0) return null;
  const words = keys.map((key) => key.replace(/Ms$/, "")).join(", ");
  return `${words}: what is on file stands; change it with: stint resume ${shortName(project, there.place.id)} --limit …`;
}

const NOT_A_WISH: ReadonlySet<keyof JobSpec> = new Set(["version", "node", "runtime", "mode", "name"]);

async function ensureEnvironment(project: Project, place: JobPlace, request: SubmitRequest): Promise<void> {
  await createRecord(project.folder, join(place.folder, "env.json"), {
    version: RECORD_VERSION,
    nonce: randomUUID(),
    atMs: realClock.nowMs(),
    env: environmentForJob(request.environment, request.spec.scheduler),
  });
}

/** Real, incompressible bytes: zeros may take no room at all. */
export async function ensureReserve(project: Project, place: JobPlace): Promise<void> {
  const task = taskPlace(place, 0);
  const path = join(task.folder, "reserve");
  if ((await project.folder.identity(path)) !== null) return;
  await project.folder.makeFolder(task.folder);
  await project.folder.replace(path, randomBytes(RESERVE_BYTES / 2).toString("hex"));
}

export function revisionOf(project: Project, spec: JobSpec, origins: Origins): SpecRevision {
  return {
    version: RECORD_VERSION,
    nonce: randomUUID(),
    atMs: realClock.nowMs(),
    by: personHere(project),
    spec,
    origins,
  };
}

/** Who does something, for the record. */
export function personHere(project: Project): string {
  return `${project.user}@${thisMachine().host}`;
}

export function resumeStop(project: Project, note: string | null): Stop {
  return {
    version: RECORD_VERSION,
    nonce: randomUUID(),
    atMs: realClock.nowMs(),
    kind: "resume",
    by: personHere(project),
    ...(note === null ? {} : { note }),
  };
}
