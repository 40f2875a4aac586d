/**
 * From spawn to testimony (protocol §3, steps 7 to 10). Nothing on the way to TERM waits for a file: the window runs on
 * timers alone, while a second loop reads stops and fence and writes the heartbeat as well as the folder lets it.
 */
import { join } from "node:path";
import {
  type Exited,
  type Progress,
  progressOf,
  progressValue,
  RECORD_VERSION,
  type SignalNote,
  type Started,
  stopInForce,
} from "../core/index.ts";
import { createRecord, readStops, readTask } from "../journal/index.ts";
import { hasLostPlace } from "./fence.ts";
import type { Application, ApplicationExit, Body, BodyPorts, EndedBy } from "./ports.ts";
import { SampleFile } from "./sample-file.ts";
import { graceMs, limitAtOf, type Window, windowOf } from "./window.ts";

/** A tick this late means that the machine stood still: the fence is read before anything goes on. */
const LATE_MS = 60_000;
/** The end of the window is asked for once more this long before it. */
const ASK_AGAIN_MS = 30_000;

export async function runApplication(
  ports: Body,
  started: Started,
  before: Progress,
  objection: "drain" | "cancel" | "fence" | null,
): Promise<void> {
  const { world } = ports;
  const startedAtMs = world.clock.nowMs();
  const begunMs = world.clock.monotonicMs();
  if (objection !== null) {
    await testify(ports, { ...noExit, endedBy: objection, startedAtMs, ranMs: 0 });
    return;
  }
  const answer = await ports.start(environmentFor(ports, started, before));
  if (answer.kind === "failed") {
    await testify(ports, { ...noExit, spawnError: answer.error, endedBy: "application", startedAtMs, ranMs: 0 });
    return;
  }
  const { application } = answer;
  const samples = new SampleFile(world.folder, join(ports.place.folder, "samples.csv"), () =>
    application.takeSamples(),
  );
  const life = new Life(ports, application, samples, begunMs);
  void life.watch();
  const end = await life.untilOver();
  const survivors = await application.sweep();
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
    signalsSent: life.sent,
    startedAtMs,
    ranMs: Math.round(end.endedMs - begunMs),
    survivors,
    ...application.usage(),
  });
}

/** What the application gets beside its own environment (design §5, application contract). */
function environmentFor(ports: BodyPorts, started: Started, before: Progress): Record<string, string> {
  const { spec, place } = ports;
  const env: Record<string, string> = {
    STINT_JOB_ID: place.task.job.id,
    STINT_TASK_ID: place.task.id,
    STINT_ATTEMPT: String(place.number),
    STINT_RESUME: progressValue(before) === null ? "0" : "1",
  };
  if (started.windowEndAtMs !== null) env.STINT_DEADLINE = String(Math.floor(started.windowEndAtMs / 1000));
  if (spec.checkpoint !== null) env.CKPT_PATH = spec.checkpoint.path;
  if (spec.total !== null) env.MAX_ITER = String(spec.total);
  if (spec.checkpointEvery !== null) env.CHECKPOINT_EVERY = spec.checkpointEvery;
  return env;
}

type Testimony = Omit<Exited, "version" | "nonce" | "atMs" | "by" | "progressAfter" | "signalsReceived">;

const noExit: Testimony = {
  exitCode: null,
  signal: null,
  spawnError: null,
  endedBy: "unknown",
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

interface LifeEnd {
  readonly exit: ApplicationExit | null;
  readonly endedBy: EndedBy;
  readonly endedMs: number;
}

/** One application's life: two loops that share what was wished and what was done. */
class Life {
  readonly application: Application;
  readonly sent: SignalNote[] = [];
  termSent = false;
  finished = false;
  private readonly ports: BodyPorts;
  private readonly samples: SampleFile;
  private readonly begunMs: number;
  private window: Window;
  private wish: "drain" | "cancel" | "fence" | null = null;
  private wake: () => void = () => {};
  private frozen = false;
  private reachedMs: number;

  constructor(ports: Body, application: Application, samples: SampleFile, begunMs: number) {
    const { spec } = ports;
    this.ports = ports;
    this.application = application;
    this.samples = samples;
    this.begunMs = begunMs;
    this.reachedMs = begunMs;
    this.window = windowOf(ports.limitAtMs, spec);
  }

  /** Steps 8 and 9: the window, then the ladder, until the main process and all of its tree are gone or KILL is due. */
  async untilOver(): Promise<LifeEnd> {
    const { world } = this.ports;
    let exit: ApplicationExit | null = null;
    let asked = false;
    let endedMs = 0;
    const exited = this.application.exit.then((value) => {
      exit = value;
      endedMs = world.clock.monotonicMs();
    });
    const outside = this.ports.outside.asked.then(() => {
      asked = true;
    });
    while (exit === null && this.wish === null && !asked && !this.isDue()) {
      const woken = new Promise<void>((resolve) => {
        this.wake = resolve;
      });
      await Promise.race([exited, outside, woken, world.clock.sleep(this.untilTermMs())]);
      await Promise.resolve();
    }
    await this.untilThawed(() => exit !== null);
    const now = world.clock.monotonicMs();
    const by: EndedBy = exit !== null ? "application" : (this.wish ?? (asked ? "scheduler" : "window"));
    const killAtMs =
      by === "window"
        ? (this.window.killAtMs ?? now)
        : Math.min(this.window.killAtMs ?? Infinity, now + this.graceFor(by));
    if (exit === null && (by === "fence" || this.frozen)) return this.end(exit, "fence", endedMs || now);
    // After the main process's end this is for what it left behind; a TERM that the scheduler sent to everyone is not repeated.
    if (by !== "scheduler" && (exit === null || this.application.anyLeft())) this.term(by, exit === null);
    while (world.clock.monotonicMs() < killAtMs && (exit === null || this.application.anyLeft())) {
      const left = killAtMs - world.clock.monotonicMs();
      if (exit === null) await Promise.race([exited, world.clock.sleep(Math.min(left, 200))]);
      else await world.clock.sleep(Math.min(left, 50));
      await Promise.resolve();
    }
    if (exit === null) {
      this.note("SIGKILL", "the application did not end in time");
      await this.application.sweep();
      await Promise.race([exited, world.clock.sleep(2_000)]);
      await Promise.resolve();
    }
    return this.end(exit, by, endedMs || world.clock.monotonicMs());
  }

  /** Frozen at the end of the window: until KILL is due the fence may still say that all is well, and TERM can be sent. */
  private async untilThawed(exited: () => boolean): Promise<void> {
    const { clock } = this.ports.world;
    const untilMs = this.window.killAtMs ?? clock.monotonicMs();
    while (this.frozen && !exited() && this.wish !== "fence" && clock.monotonicMs() < untilMs) await clock.sleep(100);
  }

  private end(exit: ApplicationExit | null, endedBy: EndedBy, endedMs: number): LifeEnd {
    return { exit, endedBy, endedMs };
  }

  private graceFor(by: EndedBy): number {
    const { spec } = this.ports;
    return graceMs(by === "drain" || by === "cancel" || by === "scheduler" ? by : "leftover", spec);
  }

  private term(why: EndedBy, asks: boolean): void {
    this.note("SIGTERM", why === "application" ? "left behind by the application" : why);
    this.termSent = asks;
    this.application.term();
  }

  private note(signal: string, why: string): void {
    this.sent.push({ signal, why, afterMs: Math.round(this.ports.world.clock.monotonicMs() - this.begunMs) });
  }

  private isDue(): boolean {
    return this.window.termAtMs !== null && this.ports.world.clock.monotonicMs() >= this.window.termAtMs;
  }

  private untilTermMs(): number {
    if (this.window.termAtMs === null) return 3_600_000;
    return Math.max(1, Math.min(3_600_000, this.window.termAtMs - this.ports.world.clock.monotonicMs()));
  }

  /** Heartbeat, stops and fence. It may hang on a sick folder for as long as it likes: the window doesn't wait for it. */
  async watch(): Promise<void> {
    const { world, spec, place } = this.ports;
    const everyMs = sampleEveryMs(spec.sampleIntervalMs, this.window, this.begunMs);
    let reread = false;
    let trouble = "";
    let last = world.clock.monotonicMs();
    void this.guardFence(everyMs);
    while (!this.finished) {
      await world.clock.sleep(everyMs);
      if (this.finished) return;
      const now = world.clock.monotonicMs();
      if (now - last > everyMs + LATE_MS) this.freeze();
      last = now;
      const unwritten = await this.samples.write().catch((error: unknown) => error);
      try {
        // Also where nothing can be written: a wish that is on file counts.
        const stop = stopInForce(await readStops(world.folder, place.task.job));
        if (await hasLostPlace(this.ports)) this.wishFor("fence");
        else if (stop !== null) this.wishFor(stop);
        if (unwritten !== undefined) throw unwritten;
        this.reachedMs = world.clock.monotonicMs();
        this.thaw();
        if (trouble !== "") world.log("heartbeat: well again");
        trouble = "";
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        // Once: a sick folder stays sick for hours, and its log may be among what is sick.
        if (text !== trouble) world.log(`heartbeat: ${text}`);
        trouble = text;
      }
      if (!reread && this.window.termAtMs !== null && this.untilTermMs() < Math.max(ASK_AGAIN_MS, everyMs * 2)) {
        reread = true;
        await this.askLimitAgain();
      }
    }
  }

  /** Reached neither folder nor scheduler for a while: another may have been told that we are dead. */
  private async guardFence(everyMs: number): Promise<void> {
    const { world, spec, allocation } = this.ports;
    while (!this.finished) {
      await world.clock.sleep(Math.max(everyMs, 1_000));
      if (this.finished || world.clock.monotonicMs() - this.reachedMs < spec.timing.fenceMs) continue;
      const seen = (await world.scheduler.observe([allocation.ref])).get(allocation.ref);
      if (seen !== undefined && seen.kind === "active") this.reachedMs = world.clock.monotonicMs();
      else if (!this.finished) this.freeze();
    }
  }

  private async askLimitAgain(): Promise<void> {
    const { world, spec } = this.ports;
    try {
      const limitEndAtMs = await this.ports.readLimitEnd();
      if (limitEndAtMs === null) return;
      this.window = windowOf(limitAtOf(limitEndAtMs, world.clock), spec);
      this.wake();
    } catch (error) {
      world.log(`limit: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private wishFor(wish: "drain" | "cancel" | "fence"): void {
    this.wish = wish;
    this.wake();
  }

  private freeze(): void {
    if (this.frozen) return;
    this.frozen = true;
    this.note("SIGSTOP", "out of touch: the fence is read first");
    this.application.freeze();
  }

  private thaw(): void {
    if (!this.frozen || this.wish === "fence") return;
    this.frozen = false;
    this.note("SIGCONT", "still in place");
    this.application.thaw();
  }
}

/** 5 s, or 1 s when the window is under a minute. */
export function sampleEveryMs(configuredMs: number | null, window: Window, nowMs: number): number {
  if (configuredMs !== null) return configuredMs;
  return window.termAtMs !== null && window.termAtMs - nowMs < 60_000 ? 1_000 : 5_000;
}
