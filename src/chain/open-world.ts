/** The real world of a job: its folder, its scheduler, this process and this machine's clock. */
import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { formatGenerations, type GenerationMemory, parseGenerations, readCheckpoint } from "../checkpoint/index.ts";
import type { JobSpec, Reading } from "../core/index.ts";
import { aliveHere, type Folder, realClock, thisProcess } from "../host/index.ts";
import {
  type AttemptPlace,
  checkHome,
  type JobPlace,
  readTask,
  type SubmitterPlace,
  type TaskPlace,
} from "../journal/index.ts";
import { loadSlurm, localScheduler, localScript, NODE_FLAGS, type Scheduler } from "../schedulers/index.ts";
import { scriptText, submitterScriptText } from "../slurm/index.ts";
import { localAttempts } from "./local-attempts.ts";
import { rulesNow } from "./site-now.ts";
import { newMemory, type World } from "./world.ts";

export interface OpenOptions {
  /** `pooledFolder()` where a hung file system must not stop everything (runner), `blockingFolder()` for commands. */
  readonly folder: Folder;
  /** One line for whoever debugs; must not block. Default: nowhere. */
  readonly log?: (line: string) => void;
  /** The task that this process is there for. Default: none in particular. */
  readonly task?: number;
  /** Only the body of an attempt keeps the count of opaque checkpoint files on file. Default false. */
  readonly keepsGenerations?: boolean;
}

/**
 * Opens the world of one job for this process. Throws JournalError (`copied`, `missing`, `newer-version` …) when the job
 * folder can't be used.
 */
export async function openWorld(job: JobPlace, spec: JobSpec, options: OpenOptions): Promise<World> {
  const { folder, log = () => {}, task, keepsGenerations = false } = options;
  const home = await checkHome(folder, job);
  const ownerUid = (await stat(job.folder)).uid;
  return {
    folder,
    scheduler: await openScheduler({ job, spec, folder, uuid: home.uuid, ownerUid, task: task ?? null, log }),
    clock: realClock,
    self: thisProcess(),
    aliveHere,
    nonce: randomUUID,
    script: scriptFor,
    readCheckpoint: (task, now) => readProgress(folder, task, now, keepsGenerations),
    log,
    ownerUid,
    memory: newMemory(),
  };
}

interface SchedulerParts {
  readonly job: JobPlace;
  readonly spec: JobSpec;
  readonly folder: Folder;
  readonly uuid: string;
  readonly ownerUid: number;
  readonly task: number | null;
  readonly log: (line: string) => void;
}

async function openScheduler({ job, spec, folder, uuid, ownerUid, task, log }: SchedulerParts): Promise<Scheduler> {
  const environment = process.env;
  if (spec.scheduler === "local")
    return localScheduler({ folder, environment, ...localAttempts(folder, job, uuid, spec.killWaitMs, task) });
  const { slurmScheduler } = await loadSlurm();
  const { pollFloorMs, trustedBy } = rulesNow(environment, log);
  const pollMs = Math.max(spec.timing.pollMs, pollFloorMs);
  return slurmScheduler({ environment, clock: realClock, ownerUid, pollMs, trustedBy });
}

/** The text of an attempt's script; nothing need be there. */
export function scriptFor(place: AttemptPlace, spec: JobSpec): string {
  const parts = {
    node: spec.node,
    runner: join(place.task.job.stintFolder, "runtime", spec.runtime, "runner.mjs"),
    attemptFolder: place.folder,
  };
  return spec.scheduler === "local"
    ? localScript({ ...parts, title: `Attempt ${place.number} of ${place.task.id}` })
    : scriptText({ ...parts, nodeFlags: NODE_FLAGS });
}

/** The text of a submitter's script. */
export function submitterScriptFor({ job, folder }: SubmitterPlace, spec: JobSpec): string {
  const runner = join(job.stintFolder, "runtime", spec.runtime, "runner.mjs");
  return submitterScriptText({ node: spec.node, runner, folder, nodeFlags: NODE_FLAGS });
}

async function readProgress(folder: Folder, task: TaskPlace, spec: JobSpec, keeps: boolean): Promise<Reading> {
  if (spec.checkpoint?.progress.kind !== "files") return (await readCheckpoint(spec.checkpoint, spec.cwd)).reading;
  const path = join(task.folder, "generations.json");
  const before = parseGenerations(await folder.read(path)) ?? (await lostGenerations(folder, task));
  const { reading, memory } = await readCheckpoint(spec.checkpoint, spec.cwd, before);
  const changed = memory !== null && (memory.count !== before?.count || memory.fingerprint !== before.fingerprint);
  if (keeps && changed) await folder.replace(path, formatGenerations(memory));
  return reading;
}

/** Without its memory the count goes on from the highest that was reached, so that it does not fall behind. */
async function lostGenerations(folder: Folder, task: TaskPlace): Promise<GenerationMemory | null> {
  const highWater = (await readTask(folder, task)).settled?.record.carry.highWater ?? null;
  return highWater === null ? null : { count: highWater, fingerprint: "" };
}
