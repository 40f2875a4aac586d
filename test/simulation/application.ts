/** A simulated application: counts, saves now and then, answers TERM (or not), and tells when two of its kind overlap. */
import type { Application, ApplicationExit } from "../../src/runner/index.ts";
import { Actor, type Simulator } from "./simulator.ts";

export interface Traits {
  readonly total: number;
  /** Ignores TERM. */
  readonly stubborn: boolean;
  crashes: number;
}

export const CHECKPOINT = "/project/state.txt";

/** Who runs right now: at most one application that is not frozen. */
export class Checkpoint {
  readonly path: string;
  /** Called whenever an application of it starts or works. */
  readonly onWork: () => void;
  constructor(path = CHECKPOINT, onWork: () => void = () => {}) {
    this.path = path;
    this.onWork = onWork;
  }
  readonly running = new Set<SimApplication>();
  readonly steps: { readonly attempt: number; readonly step: number }[] = [];
}

export class SimApplication implements Application {
  readonly attempt: number;
  readonly exit: Promise<ApplicationExit>;
  frozen = false;
  private readonly actor: Actor;
  private readonly sim: Simulator;
  private readonly checkpoint: Checkpoint;
  private readonly traits: Traits;
  private resolve: (exit: ApplicationExit) => void = () => {};
  private asked = false;
  private over = false;

  constructor(sim: Simulator, checkpoint: Checkpoint, traits: Traits, attempt: number) {
    this.sim = sim;
    this.checkpoint = checkpoint;
    this.traits = traits;
    this.attempt = attempt;
    this.actor = new Actor(`application ${attempt}`);
    this.exit = new Promise((resolve) => {
      this.resolve = resolve;
    });
    checkpoint.running.add(this);
    this.checkAlone("starts");
    void this.work();
  }

  private checkAlone(what: string): void {
    if (this.frozen) return;
    this.checkpoint.onWork();
    for (const other of this.checkpoint.running)
      if (other !== this && !other.frozen)
        this.sim.violate(`application of attempt ${this.attempt} ${what} beside that of attempt ${other.attempt}`);
  }

  private async work(): Promise<void> {
    const { sim, traits } = this;
    let step = Number(sim.files.get(this.checkpoint.path) ?? "0");
    for (;;) {
      await sim.sleep(this.actor, sim.between(300, 900));
      if (this.frozen) continue;
      this.checkAlone("works");
      if (this.asked && !traits.stubborn) {
        this.save(step);
        this.end({ exitCode: 99, signal: null });
        return;
      }
      if (sim.chance(traits.crashes)) {
        this.end({ exitCode: 1, signal: null });
        return;
      }
      step += 1;
      this.checkpoint.steps.push({ attempt: this.attempt, step });
      if (step >= traits.total || sim.chance(0.4)) this.save(step);
      if (step >= traits.total) {
        this.end({ exitCode: 0, signal: null });
        return;
      }
    }
  }

  private save(step: number): void {
    const before = Number(this.sim.files.get(this.checkpoint.path) ?? "0");
    if (step < before) this.sim.violate(`attempt ${this.attempt} saved ${step} over ${before}`);
    this.sim.put(this.checkpoint.path, String(step));
  }

  private end(exit: ApplicationExit): void {
    if (this.over) return;
    this.over = true;
    this.actor.alive = false;
    this.checkpoint.running.delete(this);
    this.sim.note(this.actor, `ends ${JSON.stringify(exit)}`);
    this.resolve(exit);
  }

  term(): void {
    this.asked = true;
  }

  kill(): void {
    this.end({ exitCode: null, signal: "SIGKILL" });
  }

  freeze(): void {
    this.frozen = true;
  }

  thaw(): void {
    this.frozen = false;
    this.checkAlone("goes on");
  }

  anyLeft(): boolean {
    return !this.over;
  }

  async sweep(): Promise<readonly number[]> {
    this.kill();
    return [];
  }

  takeSamples(): string {
    return this.over ? "" : `${this.sim.nowMs}\n`;
  }

  usage() {
    return { cpuUserMs: null, cpuSystemMs: null, memoryPeakBytes: null, memoryPeakIsLowerBound: true };
  }
}
