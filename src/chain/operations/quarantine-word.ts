/**
 * The word to set a checkpoint aside (`resume --quarantine`), as it stands on file: a stop of kind drain that names every move.
 * A resume above it ends it, and says with the same moves that they are made; a record that names its nonce voids it.
 */
import { randomUUID } from "node:crypto";
import { type Quarantine, RECORD_VERSION, type Stop, stopInForce, stopNumber } from "../../core/index.ts";
import { realClock } from "../../host/index.ts";
import { createStopAfter, type OwnStop, readOwnStops, stopsOfTask } from "../../journal/index.ts";
import { StintError } from "./errors.ts";
import { nameOf } from "./job-name.ts";
import { hasTasks, isAtRest, type JobOnFile, readJob } from "./job-on-file.ts";
import { personHere } from "./job-records.ts";
import type { Project } from "./project.ts";

export interface Word {
  readonly nonce: string;
  readonly by: string;
  readonly quarantine: Quarantine;
  /** `done`: a resume above it says that its moves are made. */
  readonly state: "open" | "done";
}

/** The newest word that is to be carried out or has been; null: none, void, or ended by somebody who did not carry it out. */
export function newestWord(stops: readonly Stop[]): Word | null {
  const at = stops.findLastIndex(({ kind, quarantine }) => kind !== "resume" && quarantine !== undefined);
  const stop = stops[at];
  if (stop?.quarantine === undefined) return null;
  const state = wordState(stops, stop.nonce);
  if (state !== "open" && state !== "done") return null;
  return { nonce: stop.nonce, by: stop.by, quarantine: stop.quarantine, state };
}

/** `ended`: by a resume that knew nothing of it. */
export function wordState(stops: readonly Stop[], nonce: string): "open" | "done" | "ended" | "void" {
  const at = stops.findIndex((stop) => stop.nonce === nonce);
  const word = stops[at]?.quarantine;
  const above = stops.slice(at + 1);
  if (word === undefined || above.some(({ voids }) => voids === nonce)) return "void";
  const resumes = above.filter(({ kind }) => kind === "resume");
  if (resumes.some(({ quarantine }) => quarantine !== undefined && isSameDeed(quarantine, word))) return "done";
  return resumes.length > 0 ? "ended" : "open";
}

/** Two persons may say the same at once: whoever makes the moves makes them for both. */
export function isSameDeed(a: Quarantine, b: Quarantine): boolean {
  return JSON.stringify(a.moves) === JSON.stringify(b.moves);
}

/** Puts the word on file. Returns its nonce, or that of one who said the same. Throws StintError `not-finished`. */
export async function putWord(project: Project, job: JobOnFile, quarantine: Quarantine): Promise<string> {
  let nonce = randomUUID() as string;
  await createStopAfter(project.folder, job.place, (before) => {
    const open = requireNoOther(project, job, before, quarantine);
    if (open !== null) nonce = open.nonce;
    if (open !== null) return null;
    return {
      version: RECORD_VERSION,
      nonce,
      atMs: realClock.nowMs(),
      kind: "drain",
      by: personHere(project),
      note: "the checkpoint is being set aside",
      ...ofTask(job),
      quarantine,
    };
  });
  return nonce;
}

/** What makes a stop one of this task alone, where its job has several. */
export function ofTask(job: JobOnFile): Pick<Stop, "task"> {
  return hasTasks(job) ? { task: job.task.index } : {};
}

/**
 * The open word on this task's checkpoint, if any. `own`: all stops of its job. Throws StintError `not-finished` where it is another one than `mine`: whoever resumes now would start on
 * files that somebody is moving.
 */
export function requireNoOther(
  project: Project,
  job: JobOnFile,
  own: readonly OwnStop[],
  mine: Quarantine | null,
): Word | null {
  const word = newestWord(stopsOfTask(own, job.task.index));
  if (word === null || word.state !== "open") return null;
  if (mine !== null && isSameDeed(word.quarantine, mine)) return word;
  throw new StintError(
    "not-finished",
    `the checkpoint of ${nameOf(project, job)} is being set aside at this moment, by ${word.by}: look, and try again`,
  );
}

export async function readWordState(
  project: Project,
  { place, task }: JobOnFile,
  nonce: string,
): Promise<ReturnType<typeof wordState>> {
  return wordState(stopsOfTask(await readOwnStops(project.folder, place), task.index), nonce);
}

/**
 * Nobody may carry the word out any more, and what ruled before it rules again: another stop, or nothing, so that a chain which
 * was going on goes on. Where a resume has ended it already nothing is put on file.
 */
export async function voidWord(project: Project, job: JobOnFile, nonce: string, why: string): Promise<void> {
  const { place, task } = job;
  await createStopAfter(project.folder, place, async (own) => {
    const stops = stopsOfTask(own, task.index);
    if (wordState(stops, nonce) !== "open") return null;
    const at = stops.findIndex((stop) => stop.nonce === nonce);
    const ruled = stops.toSpliced(at, 1).at(-1) ?? null;
    const isStopped = ruled !== null && ruled.kind !== "resume";
    const now = isStopped ? null : await readJob(project.folder, place, task.index);
    // Of a chain at rest a drain changes nothing, and a resume would start it.
    const rests = now !== null && restedWithout(now, { ruling: ruled, highest: stops[at - 1]?.number ?? 0 });
    return {
      version: RECORD_VERSION,
      nonce: randomUUID(),
      atMs: realClock.nowMs(),
      kind: isStopped ? ruled.kind : rests ? "drain" : "resume",
      by: personHere(project),
      note: ruled?.note ?? `the checkpoint was not set aside: ${why}`,
      ...ofTask(job),
      voids: nonce,
    };
  });
}

/** Whether the chain would be at rest if the word had never been said. */
function restedWithout(job: JobOnFile, own: { readonly ruling: Stop | null; readonly highest: number }): boolean {
  const stops = { ...job.stops, lists: [own, ...job.stops.lists.slice(1)] };
  const settled = job.state.settled?.record ?? null;
  // A body, or whoever else moved the chain, has acted upon the word.
  const byWord =
    settled?.decision.kind === "stop" &&
    settled.decision.why === "drained" &&
    settled.stopNumber > stopNumber(stops) &&
    stopInForce(stops) === null;
  return !byWord && isAtRest({ ...job, stops });
}
