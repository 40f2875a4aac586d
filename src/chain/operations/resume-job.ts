/** Resume: a person's word that a chain goes on; also the cure for a stranded one. */

import { type AttemptRecords, type JobSpec, quoteShell, refOf, stopInForce } from "../../core/index.ts";
import { realClock } from "../../host/index.ts";
import {
  adoptHome,
  checkHome,
  createStopAfter,
  findJobs,
  type Home,
  type JobPlace,
  JournalError,
  taskPlace,
} from "../../journal/index.ts";
import { type FlagValues, isBoundOtherwise } from "../../spec/index.ts";
import { identitiesOf } from "../job-identity.ts";
import { loadSite } from "../site.ts";
import { boundHere } from "./allocation-here.ts";
import { furtherAdvice } from "./before-submit.ts";
import type { ChainStatus } from "./chain-status.ts";
import { type ChangedSpec, changeSpec } from "./change-spec.ts";
import { claimCheckpoint } from "./checkpoint-claim.ts";
import { driveUntilGoing } from "./drive.ts";
import { StintError, toStintError } from "./errors.ts";
import { requireHandedOver } from "./handed-over.ts";
import { shellName, shortName } from "./job-name.ts";
import { type JobOnFile, readJob } from "./job-on-file.ts";
import { personHere, requireReserve, resumeStop } from "./job-records.ts";
import { worldOf } from "./job-world.ts";
import { descendantsOf } from "./parent-job.ts";
import { type Project, requireOwnJob } from "./project.ts";
import { requireNoOther, wordState } from "./quarantine-word.ts";
import { reviseSpec, withdrawQueued } from "./revise-spec.ts";
import { planSetAside, type SetAside, setAside } from "./set-aside.ts";
import { chainStatus, jobTable } from "./status.ts";
import { requireSubmitter } from "./submitter-job.ts";
import { requireUsableCheckpoint } from "./usable-checkpoint.ts";

export interface ResumeRequest {
  /** Settings to change, as `parseFlags` with `resumeFlags` gives them. */
  readonly flags?: FlagValues;
  /** A person's word that this attempt is over (proof F). */
  readonly over?: number;
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
  const job = await readJob(project.folder, place);
  if (job === null)
    throw new StintError(
      "not-finished",
      `the submit of ${shortName(project, place.id)} did not come to its end: submit it again`,
    );
  const before = await chainStatus(project, place);
  const change = await changedUnderSite(job.spec, request);
  if (before.decision === "finish") {
    const further = furtherAdvice(before, change.spec.total, job.spec.mode === "attached" ? "run" : "submit");
    if (further !== null) throw new StintError("ended", `${shortName(project, place.id)}: ${further}`);
    return { kind: "finished", status: before };
  }
  if (request.over !== undefined) await checkWord(project, job, request.over);
  const planned = await planSetAside(project, job, change.spec, request.quarantine === true);
  if (request.dryRun === true) return { kind: "dry-run", status: before, setAside: planned };
  const moved = before.mover;
  const asItIs = request.asItIs === true;
  const asks = request.over !== undefined || stopInForce(job.stops) !== null || planned !== null || asItIs || !moved;
  // What runs writes it at this moment, and ends by its own rules; everything else would start on what is there now.
  const isRunning = before.state === "running";
  if (asItIs && isRunning)
    throw new StintError(
      "still-running",
      `${shortName(project, place.id)} runs: --as-it-is is a word about the next start`,
    );
  if (asks && planned === null && !asItIs && !isRunning) await requireUsableCheckpoint(project, job, change.spec);
  const { environment = process.env } = request;
  const going = await boundHere(project, job, change, asks ? environment : null);
  for (const notice of going.notices) request.onNotice?.(notice);
  const changed = [...change.changed, ...(isBoundOtherwise(job.spec, going.spec) ? ["allocation"] : [])];
  if (asks) {
    await requireReserve(project, place);
    // A chain that was over must own its checkpoint anew before anything is claimed: one name decides.
    const takenBy = request.takeCheckpoint === true ? personHere(project) : null;
    await claimCheckpoint(project, place, going.spec, home, {
      renew: before.state === "over" || before.state === "held",
      takenBy,
    });
  }
  const aside = planned === null ? null : await setAside(project, place, planned);
  await reviseSpec(project, job, going);
  const needsWord =
    request.over !== undefined ||
    asItIs ||
    before.state === "held" ||
    before.state === "over" ||
    stopInForce(job.stops) !== null;
  if (needsWord) await linkResume(project, place, { over: request.over, asItIs }, aside);
  if (!asks && changed.length === 0) return { kind: "goes-on", status: before, changed: [] };
  if (changed.length > 0) await withdrawQueued(project, job, going.spec);
  await go(project, place, going.spec, request);
  const { signal, onWait } = request;
  const patienceMs = Math.min(request.patienceMs ?? PATIENCE_MS, 60_000);
  await requireSubmitter(project, place, going.spec, { basis: "resume", patienceMs, signal, onWait });
  if (stopInForce(job.stops) !== null) await resumeChildren(project, place, request);
  const status = await chainStatus(project, place);
  return asks ? { kind: "resumed", status, changed, setAside: aside } : { kind: "goes-on", status, changed };
}

/** Throws StintError `not-finished` while somebody else sets the checkpoint aside. */
async function linkResume(
  project: Project,
  place: JobPlace,
  { over, asItIs }: { readonly over: number | undefined; readonly asItIs: boolean },
  aside: SetAside | null,
): Promise<void> {
  const moves = aside === null || aside.state === "done" ? null : aside;
  await createStopAfter(project.folder, place, (before) => {
    requireNoOther(project, place, before, moves?.quarantine ?? null);
    // Another resume has ended the word since: what is on file above it is newer than what was asked for here.
    const nonce = aside?.nonce ?? null;
    const isOvertaken = nonce !== null && wordState(before, nonce) !== "open";
    if (isOvertaken && over === undefined && !asItIs) return null;
    return {
      ...resumeStop(project, null),
      ...(over === undefined ? {} : { over }),
      ...(asItIs ? { asItIs } : {}),
      ...(moves === null ? {} : { quarantine: moves.quarantine }),
    };
  });
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
      entries.push({ job, result: await resumeJob(project, place, request), error: null });
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
  const identities = identitiesOf(taskPlace(job.place, 0), [attempt]);
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

async function go(project: Project, place: JobPlace, spec: JobSpec, request: ResumeRequest): Promise<void> {
  const world = await worldOf(project, place, spec);
  const driven = await driveUntilGoing(world, taskPlace(place, 0), {
    patienceMs: request.patienceMs ?? PATIENCE_MS,
    unreachableMs: request.unreachableMs ?? UNREACHABLE_MS,
    isRunning: async () => (await chainStatus(project, place)).state === "running",
    ...(request.signal === undefined ? {} : { signal: request.signal }),
    ...(request.onWait === undefined ? {} : { onWait: request.onWait }),
  });
  if (driven.kind === "refused")
    throw new StintError(
      "refused-by-scheduler",
      `the scheduler refuses ${shortName(project, place.id)}: ${driven.error}`,
      {
        hint: `correct it with: stint resume ${shellName(project, place.id)} --partition … (or --limit, --mem …)`,
      },
    );
  if ((driven.kind !== "waiting" && driven.kind !== "unreachable") || request.signal?.aborted === true) return;
  await requireHandedOver(world, project, place, driven);
  const now = await chainStatus(project, place);
  // Waiting, and nobody is seen who would end it: to say "goes on" would be a promise in nobody's name.
  if (now.state === "waiting" && !now.mover)
    throw new StintError(
      "not-finished",
      `${shortName(project, place.id)} does not go on yet: ${now.reason ?? driven.why}`,
      { hint: `try again with: stint resume ${shellName(project, place.id)}` },
    );
}
