/**
 * Setting the checkpoint aside (`resume --quarantine`). The word is on file first, as a drain, so that nothing starts while
 * files are moved; then the moves; the resume that follows says that they are made. Whoever resumes after a death in between
 * finishes what is on file, and says so; a word that is refused is void at once.
 */

import { dirname } from "node:path";
import {
  anyAtItsPlace,
  type MovedAside,
  makeQuarantine,
  moveAside,
  movedAlready,
  planQuarantine,
} from "../../checkpoint/index.ts";
import { isNothing, type JobSpec, type Quarantine, quoteShell } from "../../core/index.ts";
import { readOwnStops, stopsOfTask } from "../../journal/index.ts";
import { StintError, toStintError } from "./errors.ts";
import { nameOf } from "./job-name.ts";
import { isAtRest, type JobOnFile, readJob } from "./job-on-file.ts";
import { worldOf } from "./job-world.ts";
import type { Project } from "./project.ts";
import { newestWord, putWord, readWordState, voidWord, type Word } from "./quarantine-word.ts";
import { chainStatus } from "./status.ts";

export interface SetAside {
  readonly quarantine: Quarantine;
  /** The folder that takes the files. */
  readonly folder: string;
  /** What a person should know beside the moves, one line each. */
  readonly notes: readonly string[];
  /**
   * `asked`: it was asked for now. `left`: a word on file whose moves were not all made. `done`: its moves were made before, by
   * that resume or by another one at this moment: nothing more is moved.
   */
  readonly state: "asked" | "left" | "done";
  /** Whose word was on file before; null: it is asked for now. */
  readonly by: string | null;
  /** Of the word to carry out; null: none is on file yet, or it was done before. */
  readonly nonce: string | null;
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
  if (word?.state === "open") return onFile(word, "left");
  if (!asked) return null;
  // Where it was undone, or a person has put another one there, that is meant.
  if (word !== null && !(await anyAtItsPlace(word.quarantine.moves))) return onFile(word, "done");
  const name = nameOf(project, job);
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
    state: "asked",
    by: null,
    nonce: null,
  };
}

/**
 * Puts the word on file and moves. To be called when the checkpoint is owned. Returns what was done. Throws StintError `storage`,
 * `checkpoint`, `still-running`, `not-finished`: it says what was moved, what has become of the word, and how the chain stands.
 */
export async function setAside(project: Project, job: JobOnFile, planned: SetAside): Promise<SetAside> {
  if (planned.state === "done") return planned;
  const { quarantine, folder } = planned;
  const trouble = await makeQuarantine(folder);
  // All that can refuse does so before the word is on file; behind it only what has happened in between does.
  if (planned.state === "asked") {
    if (trouble !== null) throw new StintError("storage", trouble);
    requireAsPlanned(project, await readAgain(project, job), quarantine);
  }
  const nonce = planned.nonce ?? (await putWord(project, job, quarantine));
  const refuse = (code: "storage" | "checkpoint" | "still-running", why: string): Promise<never> =>
    refuseWord(project, job, { nonce, quarantine, code, why });
  if (trouble !== null) return refuse("storage", trouble);
  const outcome = await carryOut(project, job, quarantine, nonce);
  if (outcome.kind === "done") return { ...planned, nonce };
  const state = await readWordState(project, job, nonce);
  // Another resume at this moment has made the same moves and lets the chain go on, as was asked for here.
  if (state === "done" && outcome.kind !== "changed") return { ...planned, state: "done", nonce };
  if (outcome.kind === "ended")
    return refuse("still-running", `${nameOf(project, job)} was resumed by somebody else at the same moment`);
  return refuse(CODE[outcome.kind], outcome.why);
}

const CODE = { objected: "still-running", changed: "checkpoint", failed: "storage" } as const;

type CarriedOut = MovedAside | { readonly kind: "objected"; readonly why: string };

/** A body links its go before it reads the stops; the word is linked before we look for a go: one of the two sees the other. */
async function carryOut(project: Project, job: JobOnFile, quarantine: Quarantine, nonce: string): Promise<CarriedOut> {
  const isOpen = async (): Promise<boolean> => (await readWordState(project, job, nonce)) === "open";
  if (!(await isOpen())) return { kind: "ended" };
  try {
    requireAsPlanned(project, await readAgain(project, job), quarantine);
  } catch (error) {
    if (error instanceof StintError) return { kind: "objected", why: error.message };
    throw error;
  }
  return moveAside(quarantine.moves, isOpen);
}

interface RefusedWord {
  readonly nonce: string;
  readonly quarantine: Quarantine;
  readonly code: "storage" | "checkpoint" | "still-running";
  readonly why: string;
}

/**
 * Throws. The word is void, unless some of its files are moved and the others still can be: what is left would be half a
 * checkpoint, so that the next resume moves the rest first.
 */
async function refuseWord(
  project: Project,
  job: JobOnFile,
  { nonce, quarantine, code, why }: RefusedWord,
): Promise<never> {
  const name = nameOf(project, job);
  const moved = await movedAlready(quarantine.moves);
  const made =
    moved.length === 0 ? "nothing was moved" : moved.map(({ from, to }) => `${from} was moved to ${to}`).join(", ");
  const isOpen = (await readWordState(project, job, nonce)) === "open";
  if (code === "storage" && moved.length > 0 && isOpen)
    throw new StintError(code, why, {
      hint: `${made}; the next stint resume ${quoteShell(name)} moves the rest first, and says so`,
    });
  try {
    await voidWord(project, job, nonce, why);
  } catch (error) {
    const hint = `${made}, but the word is still on file (${toStintError(error).message}): the next stint resume ${quoteShell(name)} carries it out`;
    throw new StintError(code, why, { hint, cause: error });
  }
  const now = await chainStatus(project, job.place, job.task.index);
  const advice = now.state === "held" || now.state === "over" ? `; to go on: stint resume ${quoteShell(name)}` : "";
  throw new StintError(code, why, {
    hint: `${made}${moved.length === 0 ? ", and nothing will be" : "; nothing more will be"}; ${name} is ${now.state}${now.reason === null ? "" : ` (${now.reason})`}${advice}`,
  });
}

/** The newest word on this state of the checkpoint: once another attempt has run, its files are others. */
async function wordOnFile(project: Project, job: JobOnFile): Promise<Word | null> {
  const word = newestWord(stopsOfTask(await readOwnStops(project.folder, job.place), job.task.index));
  if (word === null || word.quarantine.afterAttempt !== newestThatRan(job)) return null;
  // Whoever died right behind its resume has left a chain that is to go on, and nothing of it.
  const isQuiet = word.state === "done" ? job.state.open.every(isNothing) : isAtRest(job);
  return isQuiet ? word : null;
}

function onFile({ quarantine, by, nonce }: Word, state: "left" | "done"): SetAside {
  return {
    quarantine,
    folder: dirname(quarantine.moves[0]?.to ?? ""),
    notes: [],
    state,
    by,
    nonce: state === "left" ? nonce : null,
  };
}

function newestThatRan({ lastRan }: JobOnFile): number {
  return lastRan === null || lastRan.record.carry.attempts === 0 ? 0 : lastRan.number;
}

function readAgain(project: Project, { place, task }: JobOnFile): Promise<JobOnFile | null> {
  return readJob(project.folder, place, task.index);
}

function requireAsPlanned(project: Project, job: JobOnFile | null, quarantine: Quarantine): void {
  if (job === null) return;
  requireRest(project, job);
  if (newestThatRan(job) !== quarantine.afterAttempt)
    throw new StintError(
      "still-running",
      `an attempt of ${nameOf(project, job)} has run meanwhile: look, and try again`,
    );
}

function requireRest(project: Project, job: JobOnFile): void {
  if (isAtRest(job)) return;
  const name = nameOf(project, job);
  throw new StintError(
    "still-running",
    `${name} is not at rest: a checkpoint is only set aside when nothing of the job is left that may use it`,
    { hint: `end it first with: stint drain ${quoteShell(name)} --wait (or stint cancel ${quoteShell(name)})` },
  );
}
