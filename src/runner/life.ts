/**
 * An application's life (protocol §3, steps 8 and 9). Nothing on the way to TERM waits for a file: the window runs on timers
 * alone, while a second loop reads stops and fence and writes the heartbeat as well as the folder lets it.
 */
import { type SignalNote, type Stops, stopInForce, stopNumber } from "../core/index.ts";
import { readStops } from "../journal/index.ts";
import { hasLostPlace, isStale } from "./fence.ts";
import type { Application, ApplicationExit, Body, EndedBy } from "./ports.ts";
import type { SampleFile } from "./sample-file.ts";
import { graceMs, limitAtOf, type Window, windowOf } from "./window.ts";

/** A tick this late means that the machine stood still: the fence is read before anything goes on. */
const LATE_MS = 60_000;
/** The end of the window is asked for once more this long before it. */
const ASK_AGAIN_MS = 30_000;

export interface LifeEnd {
  readonly exit: ApplicationExit | null;
  readonly endedBy: EndedBy;
  /** Of the last process that was seen to end, as long as nothing is left. */
  readonly endedMs: number;
  /** Whether something of the attempt was left when its time was up. */
  readonly left: boolean;
}

/** One application's life: two loops that share what was wished and what was done. */
export class Life {
  readonly application: Application;
  readonly sent: SignalNote[] = [];
  termSent = false;
  finished = false;
  /** Highest stop number known when a drain or cancel was acted upon. */
  stopNumber: number | null = null;
  private readonly ports: Body;
  private readonly samples: SampleFile;
  private readonly begunMs: number;
  private window: Window;
  private wish: "drain" | "cancel" | "fence" | null = null;
  private wake: () => void = () => {};
  private cancelledMs: number | null = null;
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
    if (exit === null && (by === "fence" || this.frozen)) return this.end(exit, "fence", endedMs || now, true);
    // After the main process's end this is for what it left behind; a TERM that the scheduler sent to everyone is not repeated.
    let left = exit === null || this.application.anyLeft();
    const leftBehind = exit !== null && left;
    if (by !== "scheduler" && left) this.term(by, exit === null);
    while (left && world.clock.monotonicMs() < this.killAtMs(by, now)) {
      const restMs = this.killAtMs(by, now) - world.clock.monotonicMs();
      if (exit === null) await Promise.race([exited, world.clock.sleep(Math.min(restMs, 200))]);
      else await world.clock.sleep(Math.min(restMs, 50));
      await Promise.resolve();
      left = exit === null || this.application.anyLeft();
    }
    if (exit === null) {
      this.note("SIGKILL", "the application did not end in time");
      await this.application.sweep();
      left = false;
      await Promise.race([exited, world.clock.sleep(2_000)]);
      await Promise.resolve();
    }
    // A cancel that came while a drain or the window's end was under way is what ended it.
    const cancelled = this.cancelledMs !== null && by !== "application";
    const lastEndedMs = leftBehind || endedMs === 0 ? world.clock.monotonicMs() : endedMs;
    return this.end(exit, cancelled ? "cancel" : by, lastEndedMs, left);
  }

  /** When KILL comes; a cancel on the way brings it nearer. */
  private killAtMs(by: EndedBy, begunMs: number): number {
    const limit = this.window.killAtMs ?? Infinity;
    const own = by === "window" ? (this.window.killAtMs ?? begunMs) : Math.min(limit, begunMs + this.graceFor(by));
    return this.cancelledMs === null ? own : Math.min(own, this.cancelledMs + this.graceFor("cancel"));
  }

  /** Frozen at the end of the window: until KILL is due the fence may still say that all is well, and TERM can be sent. */
  private async untilThawed(exited: () => boolean): Promise<void> {
    const { clock } = this.ports.world;
    const untilMs = this.window.killAtMs ?? clock.monotonicMs();
    while (this.frozen && !exited() && this.wish !== "fence" && clock.monotonicMs() < untilMs) await clock.sleep(100);
  }

  private end(exit: ApplicationExit | null, endedBy: EndedBy, endedMs: number, left: boolean): LifeEnd {
    return { exit, endedBy, endedMs, left };
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

  noteKill(why: string): void {
    this.note("SIGKILL", why);
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

  /** Begins to watch; none of the loops can end the runner by an error. */
  watch(): void {
    const { log } = this.ports.world;
    const failed = (error: unknown): void => log(`watch: ${error instanceof Error ? error.message : String(error)}`);
    this.watchFolder().catch(failed);
    this.guardFence(sampleEveryMs(this.ports.spec.sampleIntervalMs, this.window, this.begunMs)).catch(failed);
  }

  /** Heartbeat, stops and fence. It may hang on a sick folder for as long as it likes: the window doesn't wait for it. */
  private async watchFolder(): Promise<void> {
    const { world, spec, allocation } = this.ports;
    const everyMs = sampleEveryMs(spec.sampleIntervalMs, this.window, this.begunMs);
    let reread = false;
    // The scheduler could not be asked when the attempt began: until it answers, the user's own limit is the best word.
    let unknownLimit = allocation.limitEndAtMs === null && spec.limitMs !== null;
    let askedMs = this.begunMs;
    let trouble = "";
    let last = world.clock.monotonicMs();
    while (!this.finished) {
      await world.clock.sleep(everyMs);
      if (this.finished) return;
      const now = world.clock.monotonicMs();
      if (now - last > everyMs + LATE_MS) this.freeze();
      last = now;
      const unwritten = await this.samples.write().catch((error: unknown) => error);
      try {
        // Also where nothing can be written: a wish that is on file counts.
        const { stops, lost } = await this.look();
        const stop = stopInForce(stops);
        if (lost) this.wishFor("fence");
        else if (stop !== null) this.wishFor(stop, stopNumber(stops));
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
      if (unknownLimit && now - askedMs >= ASK_AGAIN_MS) {
        askedMs = now;
        unknownLimit = !(await this.askLimitAgain());
      }
      if (!reread && this.window.termAtMs !== null && this.untilTermMs() < Math.max(ASK_AGAIN_MS, everyMs * 2)) {
        await this.askLimitAgain();
        // A limit that was extended is asked for again when the new window's end is near.
        reread = this.untilTermMs() < Math.max(ASK_AGAIN_MS, everyMs * 2);
      }
    }
  }

  /** Stops and fence as they are now: an answer that was long on its way says how they were. */
  private async look(): Promise<{ readonly stops: Stops; readonly lost: boolean }> {
    const { world, place } = this.ports;
    for (;;) {
      const begunMs = world.clock.monotonicMs();
      const stops = await readStops(world.folder, place.task);
      const lost = await hasLostPlace(this.ports);
      if (lost || !isStale(this.ports, begunMs)) return { stops, lost };
    }
  }

  /** Reached neither folder nor scheduler for a while: another may have been told that we are dead. */
  private async guardFence(everyMs: number): Promise<void> {
    const { world, spec, allocation } = this.ports;
    while (!this.finished) {
      await world.clock.sleep(Math.max(everyMs, 1_000));
      if (this.finished || world.clock.monotonicMs() - this.reachedMs < spec.timing.fenceMs) continue;
      const answers = await world.scheduler.observe([allocation.ref]).catch(() => null);
      const seen = answers?.get(allocation.ref);
      if (seen !== undefined && seen.kind === "active") this.reachedMs = world.clock.monotonicMs();
      else if (!this.finished) this.freeze();
    }
  }

  private async askLimitAgain(): Promise<boolean> {
    const { world, spec } = this.ports;
    try {
      const limitEndAtMs = await this.ports.readLimitEnd();
      if (limitEndAtMs === null) return false;
      this.window = windowOf(limitAtOf(limitEndAtMs, world.clock), spec);
      this.wake();
      return true;
    } catch (error) {
      world.log(`limit: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    }
  }

  private wishFor(wish: "drain" | "cancel" | "fence", number: number | null = null): void {
    this.wish = wish;
    this.stopNumber = number;
    if (wish === "cancel") this.cancelledMs ??= this.ports.world.clock.monotonicMs();
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
