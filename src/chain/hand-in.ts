/**
 * Handing in what was claimed, an attempt or a submitter: its script is given to the scheduler once, what was accepted is put on file
 * by whoever knows it, and a job that nobody is sure of is looked for by its script.
 */
import { join } from "node:path";
import {
  type Claimer,
  type ProcessRef,
  RECORD_VERSION,
  type Ref,
  type SchedulerName,
  type Submitted,
} from "../core/index.ts";
import { createRecord } from "../journal/index.ts";
import type { Submission } from "../schedulers/index.ts";
import type { World } from "./world.ts";

/** A claim: the folder that its job's script lies in, and what the log calls it. */
export interface Claimed {
  readonly folder: string;
  /** `attempt 3`. */
  readonly what: string;
}

/** Waits between submits of the same claim after a clear refusal: 1 s, doubling to 5 min. */
const REFUSAL_FIRST_MS = 1_000;
const REFUSAL_MAX_MS = 300_000;

/** What a job was submitted with, and is known by. */
export function scriptPath({ folder }: { readonly folder: string }): string {
  return join(folder, "script.sh");
}

/** Whether it is this process, on whichever host: one that is looked at here. */
export function isThisProcess(world: World, { pid, startTicks }: ProcessRef): boolean {
  return pid === world.self.pid && startTicks === world.self.startTicks;
}

/** Who has claimed it, as far as this process can tell. */
export function claimerOf(world: World, by: ProcessRef, folder: string): Claimer {
  const lives = world.aliveHere(by);
  if (!isThisProcess(world, by) || lives !== "alive") return lives;
  if (world.memory.submitting.has(folder)) return "alive";
  return world.memory.unclear.has(folder) ? "unclear" : "me";
}

/** `prepare` writes the script; null: it must not be handed in yet. The answer is the job that was accepted just now; null: none. */
export async function handIn(
  world: World,
  claimed: Claimed,
  prepare: (script: string) => Promise<Submission | null>,
): Promise<Ref | null> {
  const { submitting } = world.memory;
  if (submitting.has(claimed.folder)) return null;
  submitting.add(claimed.folder);
  try {
    return await submitOnce(world, claimed, prepare);
  } finally {
    submitting.delete(claimed.folder);
  }
}

async function submitOnce(
  world: World,
  claimed: Claimed,
  prepare: (script: string) => Promise<Submission | null>,
): Promise<Ref | null> {
  const { folder, what } = claimed;
  const { accepted, refusals, unclear } = world.memory;
  const before = accepted.get(folder);
  if (before !== undefined) {
    await putOnFile(world, claimed, before);
    return null;
  }
  const submission = await prepare(scriptPath(claimed));
  if (submission === null) return null;
  const answer = await world.scheduler.submit(submission);
  switch (answer.kind) {
    case "accepted":
      refusals.delete(folder);
      // Remembered first: a record that can't be written now must not make a second job of it.
      accepted.set(folder, answer);
      await putOnFile(world, claimed, answer);
      return answer.ref;
    case "refused": {
      const { error, transient } = answer;
      const count = (refusals.get(folder)?.count ?? 0) + 1;
      const againMs = Math.min(REFUSAL_MAX_MS, REFUSAL_FIRST_MS * 2 ** Math.min(count - 1, 20));
      world.log(`${what} not submitted: ${error}`);
      refusals.set(folder, { error, transient, count, againAtMs: world.clock.monotonicMs() + againMs });
      return null;
    }
    case "unclear":
      world.log(`submit of ${what} got no clear answer: ${answer.error}`);
      unclear.add(folder);
      return null;
  }
}

interface JobId {
  readonly ref: Ref;
  readonly cluster: string | null;
  readonly id: string;
}

async function putOnFile(world: World, claimed: Claimed, job: JobId): Promise<void> {
  await recordJob(world, claimed, job, "claimer");
  world.memory.accepted.delete(claimed.folder);
}

/** Looks for a job with this script and puts it on file. */
export async function adoptJob(world: World, claimed: Claimed): Promise<"none" | "unreachable" | "adopted"> {
  const found = await world.scheduler.find(scriptPath(claimed));
  if (found === "none" || found === "unreachable") return found;
  await recordJob(world, claimed, found, "adopted");
  return "adopted";
}

/** Links `submitted`; the job itself or an adopter may have been first. */
export async function recordJob(
  world: World,
  { folder, what }: Claimed,
  { ref, cluster, id }: JobId,
  by: Submitted["by"],
): Promise<void> {
  const frame = { version: RECORD_VERSION, nonce: world.nonce(), atMs: world.clock.nowMs() };
  const record: Submitted = { ...frame, scheduler: schedulerOf(ref), cluster, id, ref, by };
  const { mine } = await createRecord(world.folder, join(folder, "submitted.json"), record);
  if (mine) world.log(`${what} is ${ref}`);
}

function schedulerOf(ref: Ref): SchedulerName {
  return ref.startsWith("slurm/") ? "slurm" : "local";
}
