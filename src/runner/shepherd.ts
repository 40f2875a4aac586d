/**
 * The shepherd of one local attempt. It plays the batch system and the guardian: waits for its turn, starts the runner,
 * ends it at the limit, testifies if the runner could not, keeps the scheduler's record (`local.json`), and moves the chain
 * on if nobody else has. It outlives the command that submitted it, its terminal and its runner.
 */
import { join } from "node:path";
import { APPLICATION_FILE, type ApplicationRecord, openWorld, type World } from "../chain/index.ts";
import type { JobSpec, ProcessRef, Started } from "../core/index.ts";
import { type Application, realClock, spawnApplication, subreaperPrefix } from "../host/index.ts";
import { type AttemptPlace, placeOfAttemptFolder, readRecord } from "../journal/index.ts";
import { LOCAL_KILL_WAIT, LOCAL_LIMIT, MARK, runnerEnvironment } from "../schedulers/index.ts";
import { listenForEnd } from "./asked.ts";
import { openAttempt } from "./attempt.ts";
import { guardAfterDeath } from "./guardian.ts";
import { attemptLog } from "./log.ts";
import { isMovedOn, moveOn } from "./move-on.ts";
import { awaitEnd, type Ending, type Flock, sweepFlock } from "./shepherd-ending.ts";
import { Pen } from "./shepherd-pen.ts";
import { turnOf, waitForTurn } from "./shepherd-turn.ts";
import { cpuBelow, memoryPeakOf } from "./shepherd-usage.ts";

export async function shepherd(attemptFolder: string): Promise<void> {
  requireMark(attemptFolder);
  const asked = listenForEnd();
  const pen = new Pen(attemptFolder);
  const turn = turnOf(process.env);
  if (turn !== null) {
    void pen.write({ phase: "pending" });
    if ((await waitForTurn(pen.folder, attemptFolder, turn, asked)) === "left") return leave(attemptFolder, pen);
  }
  // Nothing is read before the runner is on its way: this is the time between two attempts.
  const flock = await startRunner(attemptFolder, pen);
  const ending: Ending =
    flock === null ? { cause: null, exit: { code: 127, signal: null } } : await awaitEnd(flock, asked);
  await bringHome(attemptFolder, pen, flock, ending);
}

/** Its script typed by hand would be a second shepherd for the attempt, whose processes nobody could tell from the first's. */
function requireMark(attemptFolder: string): void {
  const place = placeOfAttemptFolder(attemptFolder);
  const ending = place === null ? null : `/${place.task.index}/${place.number}`;
  if (ending !== null && (process.env[MARK] ?? "").endsWith(ending)) return;
  throw new Error(`only stint itself starts ${attemptFolder}/script.sh; to go on with a job: stint resume JOB`);
}

async function startRunner(attemptFolder: string, pen: Pen): Promise<Flock | null> {
  const limitMs = numberIn(LOCAL_LIMIT);
  const startedMs = realClock.monotonicMs();
  const limitEndMs = limitMs === null ? null : startedMs + limitMs;
  const [node, script] = [process.execPath, process.argv[1] ?? ""];
  const argv = [...subreaperPrefix(), node, ...process.execArgv, script, "body", attemptFolder];
  const runner: Application = await spawnApplication(argv, {
    cwd: "/",
    env: runnerEnvironment(process.env, pen.ref, limitEndMs),
    stdin: null,
    stdout: 1,
    stderr: 2,
  });
  const startedAtMs = realClock.nowMs();
  pen.startedMs = startedMs;
  void pen.write({
    phase: "running",
    startedAtMs,
    limitEndAtMs: limitMs === null ? null : startedAtMs + limitMs,
    runner: runner.kind === "started" ? runner.ref : null,
  });
  if (runner.kind === "failed") {
    console.error(`stint shepherd: ${runner.failure.message}`);
    return null;
  }
  const { ref, exit } = runner;
  return {
    mark: process.env[MARK] ?? "",
    runner: ref,
    exit,
    killWaitMs: numberIn(LOCAL_KILL_WAIT) ?? 30_000,
    limitEndMs,
  };
}

/** The runner is gone: nothing of the attempt may be left, somebody must have testified, and the chain goes on. */
async function bringHome(attemptFolder: string, pen: Pen, flock: Flock | null, ending: Ending): Promise<void> {
  const endedAtMs = realClock.nowMs();
  const elapsedMs = realClock.monotonicMs() - pen.startedMs;
  if (await withinMs(PATIENCE_MS, isTwin(pen, attemptFolder))) {
    console.error("stint shepherd: the attempt belongs to another shepherd; left alone");
    return;
  }
  const application = await withinMs(PATIENCE_MS, applicationOf(pen, attemptFolder));
  const survivors = flock === null ? [] : await sweepFlock(flock, ending, application);
  const cpu = cpuBelow();
  const home = await patiently("the job folder", () => open(attemptFolder, pen));
  if (home === null) return;
  const { world, place, spec } = home;
  await patiently("the testimony", () =>
    guardAfterDeath({ world, place, spec, guardianPid: process.pid, sweep: async () => survivors, usage: () => cpu }),
  );
  await patiently("local.json", async () =>
    pen.write({
      phase: "over",
      endedAtMs,
      elapsedMs: Math.round(elapsedMs),
      state: ending.cause ?? (ending.exit.code === 0 ? "COMPLETED" : "FAILED"),
      exitCode: ending.exit.code,
      signal: ending.exit.signal,
      ...cpu,
      ...(await memoryPeakOf(world.folder, place)),
      survivors,
    }),
  );
  if (!(await isMovedOn(world, place))) await moveOn(world, place);
}

/** Taken back or ended before its turn. */
async function leave(attemptFolder: string, pen: Pen): Promise<void> {
  await pen.write({ phase: "over", endedAtMs: realClock.nowMs(), state: "CANCELLED" });
  const { world, place } = await open(attemptFolder, pen);
  if (!(await isMovedOn(world, place))) await moveOn(world, place);
}

interface Home {
  readonly world: World;
  readonly place: AttemptPlace;
  readonly spec: JobSpec;
}

async function open(attemptFolder: string, pen: Pen): Promise<Home> {
  const { place, spec } = await openAttempt(pen.folder, attemptFolder);
  const log = attemptLog(attemptFolder, "shepherd");
  return { place, spec, world: await openWorld(place.task.job, spec, { folder: pen.folder, log }) };
}

/** Started a second time for one attempt: the body belongs to the first, and may well be alive. */
async function isTwin(pen: Pen, attemptFolder: string): Promise<boolean> {
  const started = await readRecord<Started>(pen.folder, join(attemptFolder, "started.json"));
  const guardian = started?.guardian ?? null;
  return guardian !== null && (guardian.pid !== process.pid || guardian.bootId !== pen.bootId);
}

async function applicationOf(pen: Pen, attemptFolder: string): Promise<ProcessRef | null> {
  return (await readRecord<ApplicationRecord>(pen.folder, join(attemptFolder, APPLICATION_FILE)))?.process ?? null;
}

/** A folder that hangs must not keep us from ending what is left. */
const PATIENCE_MS = 3_000;

/** Null where it does not come in time or at all: the rest is done without it. */
async function withinMs<T>(ms: number, answer: Promise<T | null>): Promise<T | null> {
  return Promise.race([answer.catch(() => null), realClock.sleep(ms).then(() => null)]);
}

/** What must be on file is tried again for a minute; then it is said in `scheduler.log`, and the next driver finds us gone. */
async function patiently<T>(what: string, action: () => Promise<T>): Promise<T | null> {
  const endMs = realClock.monotonicMs() + 60_000;
  for (let pauseMs = 100; ; pauseMs = Math.min(5_000, pauseMs * 2)) {
    try {
      return await action();
    } catch (error) {
      if (realClock.monotonicMs() + pauseMs > endMs) {
        console.error(`stint shepherd: ${what}: ${error instanceof Error ? error.message : String(error)}`);
        return null;
      }
      await realClock.sleep(pauseMs);
    }
  }
}

function numberIn(name: string): number | null {
  const text = process.env[name];
  return text === undefined || text === "" ? null : Number(text);
}
