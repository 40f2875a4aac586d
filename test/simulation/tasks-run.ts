/** A job of several tasks in the simulated world: real bodies, killed movers, people who stop and resume; then all must end. */
import { advance, advanceJob, newMemory, type World } from "../../src/chain/index.ts";
import type { Outcome, Stop } from "../../src/core/index.ts";
import {
  type AttemptPlace,
  createStop,
  encode,
  jobPlace,
  placeOfAttemptFolder,
  taskPlace,
} from "../../src/journal/index.ts";
import { guardAfterDeath, runBody } from "../../src/runner/index.ts";
import { Checkpoint, SimApplication, type Traits } from "./application.ts";
import { Cluster, EPOCH_MS, type Job, OWNER_UID, type RunningJob } from "./cluster.ts";
import { Actor, Simulator } from "./simulator.ts";
import { simulatedSpec } from "./spec.ts";

export interface TasksPlan {
  readonly seed: number;
  readonly tasks: number;
  readonly parallel: number;
  readonly ahead: number;
  /** Without faults nobody drives the job from outside: it must move itself. */
  readonly faults: boolean;
  /** So many submits of each task are refused at first. */
  readonly refuseFirst?: number;
}

export interface TasksResult {
  readonly violations: readonly string[];
  /** Tasks that are finished. */
  readonly finished: number;
  /** Applications that were started. */
  readonly started: number;
  readonly mostAtWork: number;
  readonly log: readonly string[];
}

const FAULTS_END_MS = 60_000;
const END_MS = 3_000_000;

export function runTasks(plan: TasksPlan): Promise<TasksResult> {
  return new TasksRun(plan).run();
}

class TasksRun {
  private readonly plan: TasksPlan;
  private readonly sim: Simulator;
  private readonly job = jobPlace("/project/.stint", "/ann/sim");
  private readonly checkpoints: readonly Checkpoint[];
  private readonly traits: Traits;
  private readonly cluster: Cluster;
  private readonly spec;
  private readonly alive = new Set<number>();
  private readonly bodies = new Map<string, () => void>();
  private faulty: boolean;
  private readonly limitMs: number;
  private done = false;
  private pids = 100;
  private started = 0;
  private mostAtWork = 0;

  constructor(plan: TasksPlan) {
    this.plan = plan;
    this.sim = new Simulator(plan.seed);
    this.faulty = plan.faults;
    // Who tries again needs time for it.
    this.limitMs = plan.refuseFirst === undefined ? 8_000 : 40_000;
    if (!plan.faults) this.sim.slow = 0;
    this.traits = { total: this.sim.between(3, 14), stubborn: false, crashes: plan.faults ? 0.02 : 0 };
    this.checkpoints = Array.from(
      { length: plan.tasks },
      (_, index) => new Checkpoint(`/project/state-${index}.txt`, () => this.count()),
    );
    const tasks = { kind: "tasks", indices: `0-${plan.tasks - 1}`, parallel: plan.parallel } as const;
    this.spec = { ...simulatedSpec(this.traits.total, plan.ahead, this.limitMs), tasks };
    this.cluster = new Cluster(this.sim, this.limitMs, (job) => this.startJob(job));
    const frame = { version: 1, nonce: "x", atMs: 0 };
    this.sim.put(`${this.job.folder}/spec/0001.json`, encode({ ...frame, spec: this.spec, origins: {} }));
    this.sim.put(`${this.job.folder}/env.json`, encode({ ...frame, env: {} }));
  }

  async run(): Promise<TasksResult> {
    const { sim, plan } = this;
    this.cluster.refuseFirst = plan.refuseFirst ?? 0;
    if (plan.faults) {
      this.cluster.refuse = sim.random() * 0.3;
      this.cluster.unclear = sim.random() * 0.1;
      this.people();
    }
    for (const name of ["submit a", "submit b"]) this.mover(name, plan.faults && sim.chance(0.5));
    await sim.run(
      plan.faults ? FAULTS_END_MS : END_MS,
      () => !plan.faults && this.isFinished(),
      () => this.faulty && this.fault(),
    );
    if (plan.faults) {
      this.faulty = false;
      sim.slow = 0;
      this.traits.crashes = 0;
      this.cluster.refuse = 0;
      this.cluster.unclear = 0;
      this.driver();
      await sim.run(
        END_MS,
        () => this.done,
        () => {},
      );
    }
    const { mostAtWork, started } = this;
    return { violations: sim.violations, finished: this.finished(), started, mostAtWork, log: sim.log };
  }

  /** No more tasks have an application at work than may. */
  private count(): void {
    const atWork = this.checkpoints.filter(({ running }) => [...running].some(({ frozen }) => !frozen)).length;
    this.mostAtWork = Math.max(this.mostAtWork, atWork);
    if (atWork > this.plan.parallel) this.sim.violate(`${atWork} tasks are at work, ${this.plan.parallel} may be`);
  }

  private finished(): number {
    return this.checkpoints.filter((_, index) =>
      [...this.sim.files].some(
        ([path, text]) =>
          path.startsWith(`${taskPlace(this.job, index).folder}/`) &&
          path.endsWith("settled.json") &&
          text.includes('"finish"'),
      ),
    ).length;
  }

  private isFinished(): boolean {
    return (
      this.finished() === this.plan.tasks && [...this.cluster.jobs.values()].every(({ state }) => state === "over")
    );
  }

  /** Somebody who begins what may begin, once or until it is done; killed on the way where the plan says so. */
  private mover(name: string, killed: boolean): void {
    const { actor, world, pid } = this.actor(name);
    void (async () => {
      for (const until = this.sim.nowMs + 5_000; this.sim.nowMs < until; ) {
        if ((await advanceJob(world, this.job)).refused === null) return;
        await world.clock.sleep(500);
      }
    })()
      .catch((error: unknown) => this.sim.violate(`${name}: ${String(error)}`))
      .finally(() => this.end(actor, pid));
    if (killed) void this.sim.sleep(new Actor("killer"), this.sim.between(0, 400)).then(() => this.end(actor, pid));
  }

  private people(): void {
    const clock = new Actor("people");
    const at = (ms: number, act: () => void): void => void this.sim.sleep(clock, ms).then(act);
    for (let i = 0; i < 6; i++)
      at(this.sim.between(0, FAULTS_END_MS), () => this.mover(`passer-by ${i}`, this.sim.chance(0.5)));
    for (let i = 0; i < 8; i++)
      at(this.sim.between(1_000, FAULTS_END_MS), () => {
        const kind = this.sim.chance(0.3) ? "drain" : this.sim.chance(0.2) ? "cancel" : "resume";
        const task = this.sim.chance(0.3) ? null : this.sim.between(0, this.plan.tasks - 1);
        void this.say(kind, task);
      });
  }

  private async say(kind: Stop["kind"], task: number | null): Promise<void> {
    const { actor, world, pid } = this.actor(`${kind} ${task ?? "all"}`);
    this.sim.note(actor, "says it");
    const frame = { version: 1, nonce: this.sim.nonce(), atMs: this.sim.nowMs, by: "ann" };
    await createStop(world.folder, this.job, { ...frame, kind, ...(task === null ? {} : { task }) });
    if (task !== null) await advance(world, taskPlace(this.job, task));
    await advanceJob(world, this.job);
    this.end(actor, pid);
  }

  /** After the faults: looks again and again at each task, and resumes what is held or was stopped. */
  private driver(): void {
    const { world } = this.actor("driver");
    void (async () => {
      for (let resumes = 0; !this.done; ) {
        const outcomes: Outcome[] = [];
        for (let index = 0; index < this.plan.tasks; index++)
          outcomes.push(await advance(world, taskPlace(this.job, index)));
        const ended = outcomes.filter((outcome) => outcome.kind === "held" || outcome.kind === "over");
        const stopped = ended.some((outcome) => outcome.kind === "held" || outcome.decision.kind === "stop");
        if (stopped && resumes < 60) {
          resumes += 1;
          await this.say("resume", null);
        } else if (ended.length === this.plan.tasks) this.done = true;
        await world.clock.sleep(1_000);
      }
    })().catch((error: unknown) => this.sim.violate(`driver: ${String(error)}`));
  }

  private fault(): void {
    const { sim, cluster } = this;
    if (!sim.chance(0.004)) return;
    const running = [...cluster.jobs.values()].filter(({ state, ending }) => state === "running" && ending === null);
    const job = running[sim.between(0, Math.max(0, running.length - 1))];
    if (job === undefined) return;
    const kind = sim.between(0, 3);
    if (kind === 0) this.bodies.get(job.ref)?.();
    if (kind === 1) {
      sim.note(null, `job ${job.id}: all killed`);
      job.ending = { state: "FAILED", uid: null, exitCode: 0, signal: 9 };
      job.run?.kill();
    }
    if (kind === 2) cluster.end(job, { state: "CANCELLED", uid: OWNER_UID, exitCode: 0, signal: null });
    if (kind === 3) cluster.end(job, { state: "PREEMPTED", uid: null, exitCode: 0, signal: null });
  }

  private startJob(job: Job): RunningJob {
    const place = placeOfAttemptFolder(job.attemptFolder) as AttemptPlace;
    const checkpoint = this.checkpoints[place.task.index] as Checkpoint;
    const name = `${place.task.index}/${place.number}`;
    const { actor, world, pid } = this.actor(`body ${name}`);
    const guardian = this.actor(`guardian ${name}`);
    let application: SimApplication | null = null;
    let over = false;
    let ask: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    const finish = (): void => {
      over = true;
      application?.kill();
      this.end(actor, pid);
      this.end(guardian.actor, guardian.pid);
    };
    const guard = (): void => {
      const usage = { cpuUserMs: null, cpuSystemMs: null };
      void guardAfterDeath({
        world: guardian.world,
        place,
        spec: this.spec,
        guardian: { pid: guardian.pid, startTicks: guardian.pid },
        sweep: async () => {
          application?.kill();
          return [];
        },
        usage: () => usage,
      }).then(finish, finish);
    };
    void runBody({
      world,
      place,
      spec: this.spec,
      guardian: { pid: guardian.pid, startTicks: guardian.pid },
      allocation: {
        ref: job.ref,
        cluster: "sim",
        id: job.id,
        restartCount: 0,
        nodes: ["n1"],
        limitEndAtMs: job.limitEndMs === null ? null : EPOCH_MS + job.limitEndMs,
        tracking: "cgroup",
        cgroup: "/job",
        attributes: {},
      },
      outside: { received: () => [], asked },
      leaving: () => false,
      start: async (_environment, lastLook) => {
        const objection = await lastLook();
        if (objection !== null) return { kind: "refused", objection };
        await this.sim.turn(actor, false);
        this.started += 1;
        application = new SimApplication(this.sim, checkpoint, this.traits, place.number);
        return { kind: "started", application };
      },
      readLimitEnd: async () => null,
      otherOwner: async () => null,
      spaceTrouble: async () => null,
      outputOffsets: async () => ({ stdout: 0, stderr: 0 }),
    }).then(
      () => {
        this.end(actor, pid);
        guard();
      },
      (error: unknown) => {
        this.sim.violate(`body ${name}: ${error instanceof Error ? error.stack : String(error)}`);
        finish();
      },
    );
    this.bodies.set(job.ref, () => {
      if (!actor.alive) return;
      this.sim.note(null, `body ${name} killed`);
      this.end(actor, pid);
      guard();
    });
    return {
      term: () => {
        ask();
        application?.term();
      },
      kill: finish,
      cutOff: () => {},
      get over() {
        return over;
      },
    };
  }

  private actor(name: string): { readonly actor: Actor; readonly world: World; readonly pid: number } {
    const { sim } = this;
    const actor = new Actor(name);
    this.pids += 1;
    const pid = this.pids;
    this.alive.add(pid);
    const world: World = {
      folder: sim.folder(actor),
      scheduler: this.cluster.scheduler(actor),
      clock: { nowMs: () => EPOCH_MS + sim.nowMs, monotonicMs: () => sim.nowMs, sleep: (ms) => sim.sleep(actor, ms) },
      self: { host: "n1", machineId: "m", bootId: "b", pidNamespace: "p", pid, startTicks: pid },
      aliveHere: (ref) => (this.alive.has(ref.pid) ? "alive" : "gone"),
      nonce: () => sim.nonce(),
      script: (place) => `#!/bin/bash\n# ${place.folder}\n`,
      readCheckpoint: (task) =>
        sim.operation(actor, () => {
          const text = sim.files.get(this.checkpoints[task.index]?.path ?? "");
          return text === undefined ? ({ kind: "absent" } as const) : ({ kind: "value", value: Number(text) } as const);
        }),
      log: (line) => sim.note(actor, line),
      ownerUid: OWNER_UID,
      memory: newMemory(),
    };
    return { actor, world, pid };
  }

  private end(actor: Actor, pid: number): void {
    actor.alive = false;
    this.alive.delete(pid);
  }
}
