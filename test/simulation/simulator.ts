/**
 * A deterministic world for the protocol: one folder, one clock, many actors. Every operation on a port takes two turns
 * (to happen, and to be answered), and a seeded choice decides whose turn it is: so any interleaving can come up, an
 * actor can die between an effect and its answer, and a seed replays it exactly.
 */
import type { Folder } from "../../src/host/index.ts";

export class Actor {
  readonly name: string;
  alive = true;
  /** Cut off from folder and scheduler; its clock goes on. */
  cutOff = false;
  constructor(name: string) {
    this.name = name;
  }
}

interface Waiting {
  readonly actor: Actor;
  readonly resolve: () => void;
  /** A turn at the folder, which a cut-off actor does not get. */
  readonly folder: boolean;
}

export class Simulator {
  nowMs = 0;
  readonly files = new Map<string, string>();
  private readonly folders = new Map<string, Set<string>>();
  readonly log: string[] = [];
  readonly violations: string[] = [];
  turns = 0;
  /** How often an operation takes up to a second and a half. */
  slow = 0.02;
  private readonly ready: Waiting[] = [];
  private timers: { readonly atMs: number; readonly actor: Actor; readonly resolve: () => void }[] = [];
  private state: number;
  private nonces = 0;

  constructor(seed: number) {
    this.state = seed >>> 0 || 1;
  }

  /** mulberry32: in [0, 1). */
  random(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  between(low: number, high: number): number {
    return Math.floor(low + this.random() * (high - low + 1));
  }

  nonce(): string {
    this.nonces += 1;
    return `nonce-${this.nonces}`;
  }

  violate(text: string): void {
    this.violations.push(`${(this.nowMs / 1000).toFixed(3)} ${text}`);
  }

  note(actor: Actor | null, text: string): void {
    this.log.push(`${(this.nowMs / 1000).toFixed(3)} ${actor?.name ?? "world"}: ${text}`);
  }

  turn(actor: Actor, folder = true): Promise<void> {
    return new Promise((resolve) => this.ready.push({ actor, resolve, folder }));
  }

  sleep(actor: Actor, ms: number): Promise<void> {
    return new Promise((resolve) => this.timers.push({ atMs: this.nowMs + Math.max(0, ms), actor, resolve }));
  }

  /** An operation of an actor: it happens at one turn and is answered at another, or never. */
  async operation<T>(actor: Actor, effect: () => T, folder = true): Promise<T> {
    await this.turn(actor, folder);
    const value = effect();
    await this.turn(actor, folder);
    return value;
  }

  /** Runs until nothing can happen, or the condition holds, or the time is over. */
  async run(untilMs: number, done: () => boolean, eachTurn: () => void): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (done() || this.nowMs >= untilMs) return;
      eachTurn();
      this.turns += 1;
      if (this.turns > 400_000) throw new Error("the simulation does not come to an end");
      if (!this.next()) return;
    }
  }

  private next(): boolean {
    for (let i = this.ready.length - 1; i >= 0; i--) if (!this.ready[i]?.actor.alive) this.ready.splice(i, 1);
    const able = this.ready.filter((w) => !(w.folder && w.actor.cutOff));
    if (able.length > 0) {
      const chosen = able[Math.floor(this.random() * able.length)] as Waiting;
      this.ready.splice(this.ready.indexOf(chosen), 1);
      // Operations take time, sometimes a lot: timers of others may fire in between.
      this.nowMs += this.chance(this.slow) ? this.between(100, 1500) : this.between(0, 4);
      chosen.resolve();
      this.fireDue();
      return true;
    }
    this.timers = this.timers.filter((t) => t.actor.alive);
    if (this.timers.length === 0) return false;
    this.nowMs = Math.max(this.nowMs, Math.min(...this.timers.map((t) => t.atMs)));
    this.fireDue();
    return true;
  }

  private fireDue(): void {
    const due = this.timers.filter((t) => t.atMs <= this.nowMs);
    if (due.length === 0) return;
    this.timers = this.timers.filter((t) => t.atMs > this.nowMs);
    for (const timer of due) if (timer.actor.alive) timer.resolve();
  }

  /** The folder as one actor sees it. */
  folder(actor: Actor): Folder {
    const { files } = this;
    return {
      read: (path) => this.operation(actor, () => files.get(path) ?? null),
      list: (path) => this.operation(actor, () => this.names(path)),
      createOnce: (path, content) =>
        this.operation(actor, () => {
          const there = files.get(path);
          if (there === undefined) this.put(path, content);
          return { created: there === undefined, content: there ?? content };
        }),
      replace: (path, content) =>
        this.operation(actor, () => {
          if (/(claim|started|go|exited|settled)\.json$/.test(path)) this.violate(`${path} was replaced`);
          this.put(path, typeof content === "string" ? content : Buffer.from(content).toString());
        }),
      append: (path, content) => this.operation(actor, () => this.put(path, (files.get(path) ?? "") + content)),
      makeFolder: (path) => this.operation(actor, () => this.put(`${path}/`, "")),
      remove: (path) => this.operation(actor, () => void files.delete(path)),
      stamp: (path) => this.operation(actor, () => files.get(path) ?? null),
      identity: (path) => this.operation(actor, () => (this.names(path) === null ? null : path)),
    };
  }

  private names(path: string): readonly string[] | null {
    const names = this.folders.get(path);
    return names === undefined ? null : [...names];
  }

  /** Puts a file (or, with a name ending in "/", a folder) in its place. */
  put(path: string, content: string): void {
    this.files.set(path, content);
    const parts = path.split("/");
    for (let i = parts.length - 1; i > 0; i--) {
      const folder = parts.slice(0, i).join("/");
      const name = parts[i] ?? "";
      const names = this.folders.get(folder) ?? new Set<string>();
      this.folders.set(folder, names);
      if (name === "") continue;
      if (names.has(name)) return;
      names.add(name);
    }
  }
}
