/** The process that is the body of an attempt: the real parts behind its ports. */
import { hostname } from "node:os";
import { join } from "node:path";
import {
  APPLICATION_FILE,
  type ApplicationRecord,
  ensureReserve,
  markOf,
  openWorld,
  reservePath,
  type World,
  withReserve,
} from "../chain/index.ts";
import { type JobSpec, NO_SAVES, RECORD_VERSION } from "../core/index.ts";
import {
  endSelf,
  pooledFolder,
  processRef,
  realClock,
  slurmOomKills,
  spawnApplication,
  thisMachine,
  userNameOrId,
} from "../host/index.ts";
import { type AttemptPlace, checkHome, readEnvironment, readStops, readTask } from "../journal/index.ts";
import { type Allocation, LOCAL_LIMIT_END, LOCAL_REF, MARK, markQuery, parseLocalRef } from "../schedulers/index.ts";
import { RunningApplication } from "./application.ts";
import { openAttempt } from "./attempt.ts";
import { runBody } from "./body.ts";
import { otherOwner, spaceTrouble } from "./checkpoint-objections.ts";
import { launchArgv, launchEnvironment } from "./launch.ts";
import { sampleEveryMs } from "./life.ts";
import { attemptLog } from "./log.ts";
import {
  type AttemptAt,
  inputPath,
  type OutputPaths,
  openInput,
  openOutput,
  outputOffsets,
  outputPaths,
} from "./output-files.ts";
import { listenOutside, type RealOutside } from "./outside.ts";
import { writesForJob } from "./own-job.ts";
import type { BodyPorts, Objection, StartAnswer } from "./ports.ts";
import { surviveRejections } from "./rejections.ts";
import { awaitWord, isStandby } from "./standby.ts";
import { type Watchdog, watchdog } from "./watchdog.ts";
import { limitAtOf, windowOf, withMargin } from "./window.ts";

/** Runs the body of the attempt with this folder to its end, and ends this process. */
export async function bodyProcess(attemptFolder: string): Promise<never> {
  const outside = listenOutside(process.env[LOCAL_REF] !== undefined);
  const log = attemptLog(attemptFolder, "runner");
  surviveRejections(log);
  if (isStandby()) {
    void readOnce(attemptFolder);
    if (!(await awaitWord())) return endSelf(0);
  }
  try {
    const ports = await realPorts(attemptFolder, outside, log);
    const end = await runBody(ports);
    if (end.kind === "left") log(`left: ${end.why}`);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    log(`failed: ${text}`);
    console.error(`stint runner: ${text}`);
    return endSelf(1);
  }
  return endSelf(0);
}

/** So that what comes after the word finds its code compiled: nobody waits for it, and what it reads is read again. */
async function readOnce(attemptFolder: string): Promise<void> {
  try {
    const folder = pooledFolder();
    const { place, spec } = await openAttempt(folder, attemptFolder);
    await checkHome(folder, place.task.job);
    await openWorld(place.task.job, spec, { folder });
    await Promise.all([readTask(folder, place.task), readStops(folder, place.task)]);
  } catch {
    // Whatever is wrong here is said when it matters.
  }
}

async function realPorts(attemptFolder: string, outside: RealOutside, log: (line: string) => void): Promise<BodyPorts> {
  const plain = pooledFolder();
  const { place, spec } = await openAttempt(plain, attemptFolder);
  const limitEnd = process.env[LOCAL_LIMIT_END];
  const reserve = reservePath(place.task);
  const dog = watchdog(withReserve(plain, reserve), limitEnd === undefined ? null : Number(limitEnd));
  const { uuid } = await checkHome(dog.folder, place.task.job);
  const folder = writesForJob(dog.folder, place.task.job, uuid);
  const world = await openWorld(place.task.job, spec, {
    folder,
    log,
    task: place.task.index,
    keepsGenerations: true,
  });
  const allocation = await world.scheduler.here(process.env);
  if (allocation === null)
    throw new Error(`this process is in no allocation of ${spec.scheduler}: it can't run an attempt`);
  const mark = markOf(uuid, place);
  // The shepherd waited until its job was removed and another one had its name.
  if (spec.scheduler === "local" && process.env[MARK] !== mark)
    throw new Error(`${place.task.job.folder} is another job than the one that this was started for`);
  const life = new Start(world, place, spec, allocation, dog, outside, mark);
  return {
    world,
    place,
    spec,
    allocation,
    guardian: guardianOf(allocation),
    outside,
    start: (environment, lastLook) => life.start(environment, lastLook),
    leaving: () => outside.isAsked(),
    readLimitEnd: async () => (await world.scheduler.here(process.env))?.limitEndAtMs ?? null,
    otherOwner: () => otherOwner(dog.folder, spec, place.task, uuid),
    spaceTrouble: async () => (await ensureReserve(plain, reserve)) ?? (await spaceTrouble(spec, log)),
    outputOffsets: () => outputOffsets(life.output),
  };
}

/** The shepherd, or the batch script that we were started from. */
function guardianOf(allocation: Allocation): BodyPorts["guardian"] {
  const local = parseLocalRef(allocation.ref);
  if (local !== null) return { pid: local.pid, startTicks: local.startTicks };
  const parent = processRef(process.ppid);
  return parent === null || parent.pid === 1 ? null : { pid: parent.pid, startTicks: parent.startTicks };
}

/** Starting the application, once. */
class Start {
  readonly output: OutputPaths;
  readonly #input: string | null;
  readonly #world: World;
  readonly #place: AttemptPlace;
  readonly #spec: JobSpec;
  readonly #allocation: Allocation;
  readonly #limitAtMs: number | null;
  readonly #dog: Watchdog;
  readonly #outside: RealOutside;
  readonly #mark: string;

  constructor(
    world: World,
    place: AttemptPlace,
    spec: JobSpec,
    allocation: Allocation,
    dog: Watchdog,
    outside: RealOutside,
    mark: string,
  ) {
    this.#world = world;
    this.#place = place;
    this.#spec = spec;
    this.#allocation = allocation;
    this.#limitAtMs = limitAtOf(allocation.limitEndAtMs, realClock);
    this.#dog = dog;
    this.#outside = outside;
    this.#mark = mark;
    const where: AttemptAt = {
      jobId: allocation.cluster === null ? null : allocation.id,
      // The batch script runs on the first one.
      node: (allocation.nodes[0] ?? hostname()).split(".")[0] ?? "",
      user: userNameOrId(),
    };
    this.output = outputPaths(spec, place, where);
    this.#input = inputPath(spec, place, where);
  }

  async start(
    contract: Readonly<Record<string, string>>,
    lastLook: () => Promise<Objection | null>,
  ): Promise<StartAnswer> {
    const spec = this.#spec;
    // On Slurm this process's own environment is the one on file with what Slurm has added for this very job.
    const base =
      spec.scheduler === "slurm" ? process.env : await readEnvironment(this.#dog.folder, this.#place.task.job);
    try {
      // Its own descriptor goes with this process; the application has it as its standard input.
      const input = this.#input === null ? null : await openInput(this.#input);
      const output = await openOutput(this.#place.folder, this.output);
      const objection = await lastLook();
      if (objection !== null) return { kind: "refused", objection };
      const started = await spawnApplication(launchArgv(spec, this.#place.task.job), {
        cwd: spec.cwd,
        env: launchEnvironment(base, spec, contract, this.#mark),
        stdin: input?.fd ?? null,
        stdout: output.stdout,
        stderr: output.stderr,
      });
      // The application has its own copies by now; a disk that refuses the close (EIO, EDQUOT) is its affair.
      output.close().catch((error: unknown) => this.#world.log(`output: ${String(error)}`));
      if (started.kind === "failed") return { kind: "failed", error: started.failure.message };
      const application = this.#follow(started);
      void this.#note(started.ref);
      return { kind: "started", application };
    } catch (error) {
      return { kind: "failed", error: error instanceof Error ? error.message : String(error) };
    }
  }

  #follow(started: Extract<Awaited<ReturnType<typeof spawnApplication>>, { kind: "started" }>): RunningApplication {
    const { scheduler, slurm, termTo, sampleIntervalMs } = this.#spec;
    const { ref, cgroup, id, tracking } = this.#allocation;
    const guardian = guardianOf(this.#allocation);
    const onSlurm = scheduler === "slurm";
    // Here it only matters whether the window is a short one.
    const limitMs = this.#limitAtMs === null ? null : this.#limitAtMs - realClock.monotonicMs();
    const window = windowOf(this.#limitAtMs, withMargin(this.#spec, NO_SAVES, limitMs));
    const application = new RunningApplication(started, {
      query: {
        mark: markQuery(this.#mark),
        ...(onSlurm ? { alsoEnv: { SLURM_JOB_ID: id } } : {}),
        cgroup,
        exclude: guardian === null ? [] : [guardian.pid],
      },
      ownCommandsApart: onSlurm,
      termTo,
      warn: onSlurm ? () => this.#world.scheduler.warn(ref, "SIGTERM") : null,
      isStep: slurm.launch === "srun",
      sampleEveryMs: sampleEveryMs(sampleIntervalMs, window, realClock.monotonicMs()),
      oomKills: onSlurm ? slurmOomKills : () => null,
      log: this.#world.log,
      onSwept: () => this.#dog.nothingRuns(),
    });
    // Where Slurm tracks processes by cgroup its TERM goes to the batch script alone, and to the tasks of srun; else to all.
    const toldByUs = !onSlurm || (tracking === "cgroup" && slurm.launch === "direct");
    this.#outside.applicationStarted(
      started.startedMonotonicMs,
      toldByUs ? () => application.termBesideSteps() : () => undefined, // told by Slurm
    );
    return application;
  }

  /** For whoever must find the application's session when we are gone. */
  async #note(process: ApplicationRecord["process"]): Promise<void> {
    const record: ApplicationRecord = { version: RECORD_VERSION, process: { ...thisMachine(), ...process } };
    try {
      await this.#world.folder.replace(join(this.#place.folder, APPLICATION_FILE), `${JSON.stringify(record)}\n`);
    } catch (error) {
      this.#world.log(`${APPLICATION_FILE}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
