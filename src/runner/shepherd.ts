/**
 * The shepherd of one local attempt. It plays the batch system and the guardian: waits for its turn, starts the runner,
 * ends it at the limit, testifies if the runner could not, keeps the scheduler's record (`local.json`), and moves the chain
 * on if nobody else has. It outlives the command that submitted it, its terminal and its runner.
 */
import { join } from "node:path";
import { APPLICATION_FILE, type ApplicationRecord, openWorld, type World } from "../chain/index.ts";
import { type JobSpec, limitWithin, type ProcessRef } from "../core/index.ts";
import { type Application, findMembers, realClock, spawnApplication, subreaperPrefix } from "../host/index.ts";
import { type AttemptPlace, placeOfAttemptFolder, readRecord } from "../journal/index.ts";
import {
  LOCAL_ALLOCATION_END,
  LOCAL_KILL_WAIT,
  LOCAL_LIMIT,
  MARK,
  memberRunning,
  queryOf,
  runnerEnvironment,
} from "../schedulers/index.ts";
import { listenForEnd } from "./asked.ts";
import { openAttempt } from "./attempt.ts";
import { guardAfterDeath } from "./guardian.ts";
import { attemptLog } from "./log.ts";
import { isMovedOn, moveOn } from "./move-on.ts";
import { isHopeless } from "./own-job.ts";
import { surviveRejections } from "./rejections.ts";
import { STAY_MS, seeToOthers } from "./see-to-others.ts";
import { awaitEnd, type Ending, type Flock, sweepFlock } from "./shepherd-ending.ts";
import { type Home, Pen } from "./shepherd-pen.ts";
import { turnOf, waitForTurn } from "./shepherd-turn.ts";
import { cpuBelow, memoryPeakOf } from "./shepherd-usage.ts";
import { Standby } from "./standby.ts";

export async function shepherd(attemptFolder: string): Promise<void> {
  surviveRejections((line) => console.error(`stint shepherd: ${line}`));
  const home = homeOf(attemptFolder);
  const asked = listenForEnd();
  const pen = new Pen(home);
  const turn = turnOf(process.env);
  const standby = new Standby();
  if (turn !== null) {
    pen.note({ phase: "pending" });
    const ready = () => standby.prepare(runnerArgv(attemptFolder), runnerEnvironment(process.env, pen.ref, null));
    const answer = await waitForTurn(pen, home, turn, asked, ready);
    if (answer !== "turn") await standby.dismiss();
    if (answer === "twin") return sayTwin();
    if (answer === "left") return leave(home, pen);
  }
  // Nothing is read before the runner is on its way: this is the time between two attempts.
  const flock = await startRunner(attemptFolder, pen, standby);
  const ending: Ending =
    flock === null ? { cause: null, exit: { code: 127, signal: null } } : await awaitEnd(flock, asked);
  await bringHome(home, pen, flock, ending);
}

/** Its script typed by hand would be a second shepherd for the attempt, whose processes nobody could tell from the first's. */
function homeOf(attemptFolder: string): Home {
  const place = placeOfAttemptFolder(attemptFolder);
  const ending = place === null ? null : `/${place.task.index}/${place.number}`;
  const mark = process.env[MARK] ?? "";
  if (place !== null && ending !== null && mark.endsWith(ending)) return { place, uuid: mark.slice(0, -ending.length) };
  throw new Error(`only stint itself starts ${attemptFolder}/script.sh; to go on with a job: stint resume JOB`);
}

function runnerArgv(attemptFolder: string): readonly string[] {
  const [node, script] = [process.execPath, process.argv[1] ?? ""];
  return [...subreaperPrefix(), node, ...process.execArgv, script, "body", attemptFolder];
}

async function startRunner(attemptFolder: string, pen: Pen, standby: Standby): Promise<Flock | null> {
  const limitMs = limitWithin(numberIn(LOCAL_LIMIT), numberIn(LOCAL_ALLOCATION_END), realClock.nowMs());
  const startedMs = realClock.monotonicMs();
  const limitEndMs = limitMs === null ? null : startedMs + limitMs;
  const runner: Application =
    (await standby.begin(limitEndMs)) ??
    (await spawnApplication(runnerArgv(attemptFolder), {
      cwd: "/",
      env: runnerEnvironment(process.env, pen.ref, limitEndMs),
      stdin: null,
      stdout: 1,
      stderr: 2,
    }));
  const startedAtMs = realClock.nowMs();
  pen.startedMs = startedMs;
  pen.note({
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
async function bringHome(home: Home, pen: Pen, flock: Flock | null, ending: Ending): Promise<void> {
  const { place } = home;
  const endedAtMs = realClock.nowMs();
  const elapsedMs = realClock.monotonicMs() - pen.startedMs;
  // Where no file can tell, another shepherd with this attempt's mark does: the sweep would end its attempt.
  if ((await withinMs(PATIENCE_MS, pen.isTwin())) ?? isTwinAlive()) return sayTwin();
  const application = await withinMs(PATIENCE_MS, applicationOf(home, pen));
  const survivors = flock === null ? [] : await sweepFlock(flock, ending, application);
  const cpu = cpuBelow();
  const opened = await patiently("the job folder", () => open(home, pen));
  if (opened === null) return;
  const { world, spec } = opened;
  const guardian = world.self;
  await patiently("the testimony", () =>
    guardAfterDeath({ world, place, spec, guardian, sweep: async () => survivors, usage: () => cpu }),
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
  await goOn(world, place);
}

/** Whoever died: the chain goes on, and so do the other tasks of its job. */
async function goOn(world: World, place: AttemptPlace): Promise<void> {
  if (!(await isMovedOn(world, place))) return moveOn(world, place);
  // The runner may have settled its attempt and died before it has begun others.
  await seeToOthers(world, place.task.job, world.clock.monotonicMs() + STAY_MS);
}

/** Taken back or ended before its turn. */
async function leave(home: Home, pen: Pen): Promise<void> {
  const { place } = home;
  await pen.write({ phase: "over", endedAtMs: realClock.nowMs(), state: "CANCELLED" });
  const { world } = await open(home, pen);
  await goOn(world, place);
}

/** Started a second time for one attempt: the body belongs to the first, and may well be alive. */
function sayTwin(): void {
  console.error("stint shepherd: the attempt belongs to another shepherd; left alone");
}

function isTwinAlive(): boolean {
  const mark = process.env[MARK] ?? "";
  return memberRunning(findMembers(queryOf({ mark, application: null })), "shepherd", mark) !== null;
}

/** Whatever this world writes is written into this attempt's own job alone. */
async function open({ place }: Home, pen: Pen): Promise<{ readonly world: World; readonly spec: JobSpec }> {
  await pen.requireSameJob();
  const { spec } = await openAttempt(pen.folder, place.folder);
  const log = attemptLog(place.folder, "shepherd");
  return { spec, world: await openWorld(place.task.job, spec, { folder: pen.folder, log, task: place.task.index }) };
}

async function applicationOf({ place }: Home, pen: Pen): Promise<ProcessRef | null> {
  const record = await readRecord<ApplicationRecord>(pen.folder, join(place.folder, APPLICATION_FILE));
  // After the reading: another job's application is none of ours.
  await pen.requireSameJob();
  return record?.process ?? null;
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
      if (isHopeless(error) || realClock.monotonicMs() + pauseMs > endMs) {
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
