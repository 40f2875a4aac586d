/**
 * Setting the checkpoint aside (`resume --quarantine`). The word is on file first, as a drain, so that nothing starts while
 * files are moved; then the moves; the resume that follows says that they are done. Whoever resumes after a death in between
 * finishes what is on file.
 */
import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { makeQuarantine, moveAside, planQuarantine } from "../../checkpoint/index.ts";
import { type JobSpec, type Quarantine, RECORD_VERSION } from "../../core/index.ts";
import { realClock } from "../../host/index.ts";
import { createStop, type JobPlace, readOwnStops } from "../../journal/index.ts";
import { StintError } from "./errors.ts";
import { shortName } from "./job-name.ts";
import { hasTasks, isAtRest, type JobOnFile, readJob } from "./job-on-file.ts";
import { personHere } from "./job-records.ts";
import { worldOf } from "./job-world.ts";
import type { Project } from "./project.ts";

export interface SetAside {
  readonly quarantine: Quarantine;
  /** The folder that takes the files. */
  readonly folder: string;
  /** What a person should know beside the moves, one line each. */
  readonly notes: readonly string[];
  /** The word is on file already, and perhaps the moves are made. */
  readonly onFile: boolean;
}

/**
 * What is to be set aside: what a word on file says, else what is there now (only where it is `asked` for). Null: nothing.
 * Throws StintError `still-running` (5) where the chain is not at rest, `checkpoint` (2) where nothing can be moved, `usage` (2).
 */
export async function planSetAside(
  project: Project,
  job: JobOnFile,
  spec: JobSpec,
  asked: boolean,
): Promise<SetAside | null> {
  const word = await wordOnFile(project, job);
  if (word !== null && (asked || !word.done)) return setAsideOnFile(word.quarantine);
  if (!asked) return null;
  const name = shortName(project, job.place.id);
  if (spec.checkpoint === null)
    throw new StintError("usage", `${name} has no checkpoint: there is nothing to set aside`);
  requireRest(project, job);
  const afterAttempt = newestThatRan(job);
  const plan = await planQuarantine(spec.checkpoint, spec.cwd, afterAttempt);
  if (plan.kind === "nothing") throw new StintError("checkpoint", plan.why);
  const world = await worldOf(project, job.place, spec);
  const progress = await world.readCheckpoint(job.task, spec);
  return {
    quarantine: { afterAttempt, progress, moves: plan.moves },
    folder: plan.folder,
    notes: plan.notes,
    onFile: false,
  };
}

/** Puts the word on file and moves. To be called when the checkpoint is owned. Throws StintError `storage`, `still-running`. */
export async function setAside(project: Project, job: JobOnFile, planned: SetAside): Promise<void> {
  const { place, task } = job;
  const { quarantine, folder } = planned;
  const trouble = await makeQuarantine(folder);
  if (trouble !== null) throw new StintError("storage", trouble);
  if (!planned.onFile) {
    await createStop(project.folder, place, {
      version: RECORD_VERSION,
      nonce: randomUUID(),
      atMs: realClock.nowMs(),
      kind: "drain",
      by: personHere(project),
      note: "the checkpoint is being set aside",
      ...(hasTasks(job) ? { task: task.index } : {}),
      quarantine,
    });
    // A body links its go before it reads the stops; the stop is linked before we look for a go: one of the two sees the other.
    const now = await readJob(project.folder, place, task.index);
    if (now !== null) requireRest(project, now);
    if (now !== null && newestThatRan(now) !== quarantine.afterAttempt) throw ranMeanwhile(project, place);
  }
  const left = await moveAside(quarantine.moves);
  if (left !== null) throw new StintError("storage", left);
}

interface Word {
  readonly quarantine: Quarantine;
  /** A resume came after it, which is only linked when all is moved. */
  readonly done: boolean;
}

/** The newest word on this state of the checkpoint: once another attempt has run, its files are others. */
async function wordOnFile(project: Project, job: JobOnFile): Promise<Word | null> {
  const stops = await readOwnStops(project.folder, job.task);
  const at = stops.findLastIndex((stop) => stop.quarantine !== undefined);
  const quarantine = stops[at]?.quarantine;
  if (quarantine === undefined || !isAtRest(job) || quarantine.afterAttempt !== newestThatRan(job)) return null;
  return { quarantine, done: stops.slice(at).some((stop) => stop.kind === "resume") };
}

function setAsideOnFile(quarantine: Quarantine): SetAside {
  return { quarantine, folder: dirname(quarantine.moves[0]?.to ?? ""), notes: [], onFile: true };
}

function newestThatRan({ lastRan }: JobOnFile): number {
  return lastRan === null || lastRan.record.carry.attempts === 0 ? 0 : lastRan.number;
}

function requireRest(project: Project, job: JobOnFile): void {
  if (isAtRest(job)) return;
  const name = shortName(project, job.place.id);
  throw new StintError(
    "still-running",
    `${name} is not at rest: a checkpoint is only set aside when nothing of the job is left that may use it`,
    { hint: `end it first with: stint drain ${name} --wait (or stint cancel ${name})` },
  );
}

function ranMeanwhile(project: Project, place: JobPlace): StintError {
  return new StintError(
    "still-running",
    `an attempt of ${shortName(project, place.id)} has run meanwhile: nothing was moved; look, and try again`,
  );
}
