/**
 * From spawn to testimony (protocol §3, steps 7 to 10): starts the application, lets it live, and says how it ended.
 */
import { join } from "node:path";
import {
  type Exited,
  type JobSpec,
  type Progress,
  progressOf,
  progressValue,
  RECORD_VERSION,
  type Saving,
  type SignalNote,
  type Started,
  taskIndices,
} from "../core/index.ts";
import { createRecord, readTask } from "../journal/index.ts";
import { lastObjection } from "./fence.ts";
import { Life } from "./life.ts";
import type { Body, BodyPorts } from "./ports.ts";
import { SampleFile } from "./sample-file.ts";

export async function runApplication(ports: Body, started: Started, before: Progress): Promise<void> {
  const { world } = ports;
  const startedAtMs = world.clock.nowMs();
  const begunMs = world.clock.monotonicMs();
  const answer = await ports.start(environmentFor(ports, started, before), () => lastObjection(ports));
  if (answer.kind === "refused") {
    await testify(ports, { ...noExit, ...answer.objection, startedAtMs, ranMs: 0 });
    return;
  }
  if (answer.kind === "failed") {
    await testify(ports, { ...noExit, spawnError: answer.error, endedBy: "application", startedAtMs, ranMs: 0 });
    return;
  }
  const { application } = answer;
  const samples = new SampleFile(world.folder, join(ports.place.folder, "samples.csv"), () =>
    application.takeSamples(),
  );
  const life = new Life(ports, application, samples, begunMs);
  life.watch();
  const end = await life.untilOver();
  // Before anything waits for a file: what that takes is no part of the saving.
  const overMs = world.clock.monotonicMs() - begunMs;
  // What is left is killed; without a TERM of ours before it that tells nothing.
  const killed = life.termSent && (end.left || life.sent.some(({ signal }) => signal === "SIGKILL"));
  if (end.left && end.exit !== null) life.noteKill("left behind by the application");
  const survivors = await application.sweep();
  // What it left behind has computed on: that time was not waited.
  const endedMs = end.left ? world.clock.monotonicMs() : end.endedMs;
  life.finished = true;
  await samples.write().catch((error: unknown) => {
    // Samples are worth less than the testimony that follows.
    world.log(`samples lost: ${error instanceof Error ? error.message : String(error)}`);
  });
  await testify(ports, {
    exitCode: end.exit?.exitCode ?? null,
    signal: end.exit?.signal ?? null,
    spawnError: null,
    endedBy: end.endedBy,
    windowEnded: life.termSent,
    spawned: true,
    stopNumber: end.endedBy === "drain" || end.endedBy === "cancel" ? life.stopNumber : null,
    signalsSent: life.sent,
    startedAtMs,
    ranMs: Math.round(endedMs - begunMs),
    saving: life.termSent ? savingOf(life.sent, killed, overMs) : null,
    survivors,
    ...application.usage(),
  });
}

/** From our TERM to the end (or the KILL) of everything; null: there was no TERM. */
function savingOf(sent: readonly SignalNote[], killed: boolean, overMs: number): Saving | null {
  const term = sent.find(({ signal }) => signal === "SIGTERM");
  const kill = sent.find(({ signal }) => signal === "SIGKILL");
  return term === undefined ? null : { ms: Math.round((kill?.afterMs ?? overMs) - term.afterMs), killed };
}

/** What the application gets beside its own environment (design §5, application contract). */
function environmentFor(ports: Body, started: Started, before: Progress): Record<string, string> {
  const { spec, place } = ports;
  const env: Record<string, string> = {
    ...arrayEnvironment(spec, place.task.index),
    STINT_JOB_ID: place.task.job.id,
    STINT_JOB_FOLDER: place.task.job.folder,
    STINT_TASK_ID: place.task.id,
    STINT_TASK_INDEX: String(place.task.index),
    STINT_TASK_COUNT: String(taskIndices(spec.tasks).length),
    STINT_ATTEMPT: String(place.number),
    STINT_RESUME: progressValue(before) === null ? "0" : "1",
  };
  if (started.limitEndAtMs !== null)
    env.STINT_DEADLINE = String(Math.floor((started.limitEndAtMs - spec.marginMs) / 1000));
  if (spec.checkpoint !== null) env.CKPT_PATH = spec.checkpoint.path;
  if (spec.total !== null) env.MAX_ITER = String(spec.total);
  if (spec.checkpointEvery !== null) env.CHECKPOINT_EVERY = spec.checkpointEvery;
  return env;
}

/**
 * What an array's task expects. Its own index is Slurm's own on Slurm, too; but there each task is an array of one, and a program
 * that shares its work out by the number of tasks means all of them.
 */
function arrayEnvironment({ tasks }: JobSpec, index: number): Record<string, string> {
  if (tasks?.kind !== "array") return {};
  const indices = taskIndices(tasks);
  const [first = index, second = first + 1] = indices;
  const step = second - first;
  const isRegular = indices.every((one, at) => one === first + at * step);
  return {
    SLURM_ARRAY_TASK_ID: String(index),
    SLURM_ARRAY_TASK_COUNT: String(indices.length),
    SLURM_ARRAY_TASK_MIN: String(first),
    SLURM_ARRAY_TASK_MAX: String(indices.at(-1) ?? index),
    SLURM_ARRAY_TASK_STEP: String(isRegular ? step : 1),
  };
}

type Testimony = Omit<Exited, "version" | "nonce" | "atMs" | "by" | "progressAfter" | "signalsReceived">;

const noExit: Testimony = {
  exitCode: null,
  signal: null,
  spawnError: null,
  endedBy: "unknown",
  spawned: false,
  stopNumber: null,
  windowEnded: false,
  signalsSent: [],
  startedAtMs: 0,
  ranMs: null,
  cpuUserMs: null,
  cpuSystemMs: null,
  memoryPeakBytes: null,
  memoryPeakIsLowerBound: false,
  survivors: [],
};

/** Step 10: `exited`, with the progress as it is now that nothing of the attempt runs any more. */
async function testify(ports: BodyPorts, testimony: Testimony): Promise<void> {
  const { world, place, spec } = ports;
  const { settled } = await readTask(world.folder, place.task);
  const reading = await world.readCheckpoint(place.task, spec);
  const exited: Exited = {
    ...testimony,
    version: RECORD_VERSION,
    nonce: world.nonce(),
    atMs: world.clock.nowMs(),
    by: "body",
    progressAfter: progressOf(reading, settled?.record.carry.highWater ?? null),
    signalsReceived: ports.outside.received(),
  };
  await createRecord(world.folder, join(place.folder, "exited.json"), exited);
}
