/** One whole chain in the simulated world: bodies, guardians, drivers, faults; then the faults stop and it must end. */
import { advance, newMemory, type World } from "../../src/chain/index.ts";
import type { JobSpec, Outcome, Settled, Stop } from "../../src/core/index.ts";
import {
  type AttemptPlace,
  attemptNumbers,
  attemptPlace,
  createStop,
  encode,
  jobPlace,
  placeOfAttemptFolder,
  readAttempt,
  taskPlace,
} from "../../src/journal/index.ts";
import { type BodyPorts, guardAfterDeath, runBody } from "../../src/runner/index.ts";
import { CHECKPOINT, Checkpoint, SimApplication, type Traits } from "./application.ts";
import { Cluster, EPOCH_MS, type Job, OWNER_UID, type RunningJob } from "./cluster.ts";
import { Actor, Simulator } from "./simulator.ts";
import { simulatedSpec } from "./spec.ts";

export interface Result {
  readonly violations: readonly string[];
  readonly outcome: Outcome | null;
  readonly attempts: number;
  readonly started: number;
  readonly turns: number;
  readonly endMs: number;
  readonly log: readonly string[];
}

export interface Plan {
  readonly seed: number;
  readonly ahead: number;
  /** Without faults nobody drives the chain from outside: it must move itself. */
  readonly faults: boolean;
}

const STINT = "/project/.stint";
const FAULTS_END_MS = 60_000;
const END_MS = 3_000_000;

export async function runChain(plan: Plan): Promise<Result> {
  return new ChainRun(plan).run();
}

class ChainRun {
  private readonly sim: Simulator;
  private readonly plan: Plan;
  private readonly checkpoint = new Checkpoint();
  private readonly traits: Traits;
  private readonly limitMs: number;
  private readonly spec: JobSpec;
  private readonly task = taskPlace(jobPlace(STINT, "/ann/sim"), 0);
  private readonly cluster: Cluster;
  private faulty: boolean;
  private outcome: Outcome | null = null;
  private pids = 100;
  private readonly alive = new Set<number>();

  constructor(plan: Plan) {
    this.plan = plan;
    this.sim = new Simulator(plan.seed);
    if (!plan.faults) this.sim.slow = 0;
    this.faulty = plan.faults;
    // With long windows a lost node's application outlives the controller's patience: only the fence keeps it from harm.
    this.limitMs = plan.faults && this.sim.chance(0.3) ? 45_000 : 8_000;
    this.traits = {
      total: this.limitMs > 8_000 ? this.sim.between(60, 90) : this.sim.between(8, 25),
      stubborn: this.sim.chance(0.2),
      crashes: plan.faults ? this.sim.random() * 0.04 : 0,
    };
    this.spec = simulatedSpec(this.traits.total, plan.ahead, this.limitMs);
    this.cluster = new Cluster(this.sim, this.limitMs, (job) => this.startJob(job));
    const frame = { version: 1, nonce: "x", atMs: 0 };
    this.sim.put(`${this.task.job.folder}/spec/0001.json`, encode({ ...frame, spec: this.spec, origins: {} }));
    this.sim.put(`${this.task.job.folder}/env.json`, encode({ ...frame, env: {} }));
  }

  async run(): Promise<Result> {
    const { sim, plan } = this;
    if (plan.faults) {
      this.cluster.unclear = sim.random() * 0.2;
      this.cluster.refuse = sim.random() * 0.2;
    }
    this.submitter();
    if (plan.faults) this.people();
    await sim.run(
      plan.faults ? FAULTS_END_MS : END_MS,
      () => this.isOver(),
      () => this.faulty && this.fault(),
    );
    if (plan.faults) {
      this.calm();
      this.driver();
      await sim.run(
        END_MS,
        () => this.outcome !== null && this.outcome.kind === "over",
        () => {},
      );
    }
    await this.audit();
    return {
      violations: sim.violations,
      outcome: this.outcome,
      attempts: (await this.offline(() => attemptNumbers(sim.folder(new Actor("auditor")), this.task))).length,
      started: new Set(this.checkpoint.steps.map((s) => s.attempt)).size,
      turns: sim.turns,
      endMs: sim.nowMs,
      log: sim.log,
    };
  }

  /** Reads the folder after the end, with turns served one by one. */
  private async offline<T>(read: () => Promise<T>): Promise<T> {
    let value: { v: T } | null = null;
    void read().then((v) => {
      value = { v };
    });
    await this.sim.run(
      Number.POSITIVE_INFINITY,
      () => value !== null,
      () => {},
    );
    return (value as unknown as { v: T }).v;
  }

  private isOver(): boolean {
    if (this.plan.faults) return false;
    const last = Number(this.sim.files.get(CHECKPOINT) ?? "0") >= this.traits.total;
    const settled = [...this.sim.files].some(
      ([path, text]) => path.endsWith("settled.json") && text.includes('"finish"'),
    );
    const idle = [...this.cluster.jobs.values()].every((job) => job.state === "over");
    if (last && settled && idle) {
      this.outcome = { kind: "over", verdict: "completed", decision: { kind: "finish" }, attempt: 0 };
      return true;
    }
    return false;
  }

  private world(actor: Actor, pid: number): World {
    const { sim } = this;
    return {
      folder: sim.folder(actor),
      scheduler: this.cluster.scheduler(actor),
      clock: {
        nowMs: () => EPOCH_MS + sim.nowMs,
        monotonicMs: () => sim.nowMs,
        sleep: (ms) => sim.sleep(actor, ms),
      },
      self: { host: "n1", machineId: "m", bootId: "b", pidNamespace: "p", pid, startTicks: pid },
      aliveHere: (ref) => (this.alive.has(ref.pid) ? "alive" : "gone"),
      nonce: () => sim.nonce(),
      script: (place) => `#!/bin/bash\n# ${place.folder}\n`,
      readCheckpoint: () =>
        sim.operation(actor, () => {
          const text = sim.files.get(CHECKPOINT);
          return text === undefined ? ({ kind: "absent" } as const) : ({ kind: "value", value: Number(text) } as const);
        }),
      log: (line) => sim.note(actor, line),
      ownerUid: OWNER_UID,
      memory: newMemory(),
    };
  }

  private actor(name: string): { readonly actor: Actor; readonly world: World; readonly pid: number } {
    const actor = new Actor(name);
    this.pids += 1;
    const pid = this.pids;
    this.alive.add(pid);
    return { actor, pid, world: this.world(actor, pid) };
  }

  private end(actor: Actor, pid: number): void {
    actor.alive = false;
    this.alive.delete(pid);
  }

  /** `stint submit`: two of them at once, each of which may die at any moment. */
  private submitter(): void {
    for (const name of ["submit a", "submit b"]) {
      const { actor, world, pid } = this.actor(name);
      void this.keepAdvancing(world, 5_000).finally(() => this.end(actor, pid));
      if (this.plan.faults && this.sim.chance(0.3))
        void this.sim.sleep(new Actor("killer"), this.sim.between(0, 200)).then(() => this.end(actor, pid));
    }
  }

  private async keepAdvancing(world: World, forMs: number): Promise<void> {
    const until = this.sim.nowMs + forMs;
    for (;;) {
      const outcome = await advance(world, this.task);
      if (outcome.kind !== "waiting" || this.sim.nowMs > until) return;
      await world.clock.sleep(Math.min(outcome.lookAgainMs, 1_000));
    }
  }

  /** Others who call `advance` now and then, and a user who drains, cancels and resumes. */
  private people(): void {
    const clock = new Actor("people");
    const at = (ms: number, act: () => void): void => void this.sim.sleep(clock, ms).then(act);
    for (let i = 0; i < 4; i++)
      at(this.sim.between(0, FAULTS_END_MS), () => {
        const { actor, world, pid } = this.actor(`passer-by ${i}`);
        void this.keepAdvancing(world, 3_000)
          .catch(() => {})
          .finally(() => this.end(actor, pid));
        if (this.sim.chance(0.5)) void this.sim.sleep(clock, this.sim.between(0, 300)).then(() => this.end(actor, pid));
      });
    if (this.sim.chance(0.4))
      at(this.sim.between(2_000, 30_000), () => void this.say(this.sim.chance(0.5) ? "drain" : "cancel"));
    if (this.sim.chance(0.4)) at(this.sim.between(20_000, 50_000), () => void this.say("resume"));
  }

  private async say(kind: Stop["kind"]): Promise<void> {
    const { actor, world, pid } = this.actor(kind);
    const stop = { version: 1, nonce: this.sim.nonce(), atMs: this.sim.nowMs, kind, by: "ann" };
    this.sim.note(actor, `says ${kind}`);
    await createStop(world.folder, this.task.job, stop);
    await advance(world, this.task);
    this.end(actor, pid);
  }

  /** After the faults: a driver that looks again and again, and a person who resumes what is held. */
  private driver(): void {
    const { world } = this.actor("driver");
    void (async () => {
      let resumes = 0;
      for (;;) {
        const outcome = await advance(world, this.task);
        const stopped = outcome.kind === "over" && outcome.decision.kind === "stop";
        if ((outcome.kind === "held" || stopped) && resumes < 30) {
          resumes += 1;
          this.sim.note(null, `driver sees ${JSON.stringify(outcome)}: resumes`);
          await this.say("resume");
        } else if (outcome.kind === "over") {
          this.outcome = outcome;
          return;
        }
        await world.clock.sleep(1_000);
      }
    })().catch((error: unknown) => this.sim.violate(`driver: ${String(error)}`));
  }

  private calm(): void {
    this.faulty = false;
    this.sim.slow = 0;
    this.cluster.reachable = true;
    this.cluster.unclear = 0;
    this.cluster.refuse = 0;
    this.traits.crashes = 0;
    for (const job of this.cluster.jobs.values()) if (job.lost === "silent") this.heal(job);
  }

  private heal(job: Job): void {
    if (this.sim.chance(0.5)) {
      job.run?.kill();
      job.lost = "rebooted";
      return;
    }
    // The node answers again: slurmd ends what it finds, within the kill wait.
    job.lost = "answering";
    job.run?.cutOff(false);
    void this.sim.sleep(new Actor("slurmd"), 900).then(() => job.run?.kill());
  }

  private fault(): void {
    const { sim, cluster } = this;
    if (!sim.chance(0.004)) return;
    const running = [...cluster.jobs.values()].filter(
      (job) => job.state === "running" && job.lost === null && job.ending === null,
    );
    const job = running[Math.floor(sim.random() * running.length)];
    const kind = this.limitMs > 8_000 && sim.chance(0.5) ? 5 : sim.between(0, 7);
    const queued = [...cluster.jobs.values()].find((j) => j.state === "pending");
    if (kind === 7 && queued !== undefined && sim.chance(0.5)) cluster.twin(queued);
    if (kind === 0) cluster.reachable = !cluster.reachable;
    if (job === undefined) return;
    const processes = this.processes.get(job.ref);
    if (kind === 1) processes?.killBody();
    if (kind === 2) {
      sim.note(null, `job ${job.id}: all killed`);
      job.ending = { state: "FAILED", uid: null, exitCode: 0, signal: 9 };
      job.run?.kill();
    }
    if (kind === 3)
      cluster.end(job, { state: "CANCELLED", uid: sim.chance(0.5) ? OWNER_UID : 0, exitCode: 0, signal: null });
    if (kind === 4) cluster.end(job, { state: "PREEMPTED", uid: null, exitCode: 0, signal: null });
    if (kind === 5) {
      sim.note(null, `job ${job.id}: node cut off`);
      job.run?.cutOff(true);
      void sim.sleep(new Actor("slurmctld"), 2_000).then(() => {
        if (job.state === "running") job.lost = "silent";
      });
      void sim.sleep(new Actor("cable"), sim.between(3_000, 60_000)).then(() => {
        if (job.lost === "silent") this.heal(job);
      });
    }
    if (kind === 6) {
      const over = [...cluster.jobs.values()].filter((j) => j.state === "over");
      const victim = over[Math.floor(sim.random() * over.length)];
      if (victim !== undefined) victim.forgotten = true;
    }
    if (kind === 7) cluster.twin(job);
  }

  private readonly processes = new Map<string, { killBody(): void }>();

  /** The batch script of a job: the body, and the guardian behind it. */
  private startJob(job: Job): RunningJob {
    const place = placeOfAttemptFolder(job.attemptFolder) as AttemptPlace;
    const { actor, world, pid } = this.actor(`body ${place.number}`);
    const guardian = this.actor(`guardian ${place.number}`);
    let application: SimApplication | null = null;
    let over = false;
    let askedForReal: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      askedForReal = resolve;
    });
    const finish = (): void => {
      over = true;
      application?.kill();
      this.end(actor, pid);
      this.end(guardian.actor, guardian.pid);
    };
    const guard = (): void => {
      const ports = {
        world: guardian.world,
        place,
        spec: this.spec,
        guardian: { pid: guardian.pid, startTicks: guardian.pid },
        sweep: async () => {
          application?.kill();
          return [];
        },
        usage: () => ({ cpuUserMs: null, cpuSystemMs: null }),
      };
      void guardAfterDeath(ports).then(finish, finish);
    };
    const ports = this.ports(world, place, job, actor, () => {
      application = new SimApplication(this.sim, this.checkpoint, this.traits, place.number);
      return application;
    });
    void runBody({
      ...ports,
      guardian: { pid: guardian.pid, startTicks: guardian.pid },
      outside: { received: () => [], asked },
    }).then(
      () => {
        this.end(actor, pid);
        guard();
      },
      (error: unknown) => {
        this.sim.violate(`body ${place.number}: ${error instanceof Error ? error.stack : String(error)}`);
        finish();
      },
    );
    this.processes.set(job.ref, {
      killBody: () => {
        if (!actor.alive) return;
        this.sim.note(null, `body ${place.number} killed`);
        this.end(actor, pid);
        guard();
      },
    });
    return {
      term: () => {
        askedForReal();
        application?.term();
      },
      kill: finish,
      cutOff: (on) => {
        actor.cutOff = on;
        guardian.actor.cutOff = on;
      },
      get over() {
        return over;
      },
    };
  }

  private ports(
    world: World,
    place: AttemptPlace,
    job: Job,
    actor: Actor,
    start: () => SimApplication | undefined,
  ): BodyPorts {
    return {
      world,
      place,
      spec: this.spec,
      guardian: null,
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
      outside: { received: () => [], asked: new Promise(() => {}) },
      leaving: () => false,
      start: async (_environment, lastLook) => {
        const objection = await lastLook();
        if (objection !== null) return { kind: "refused", objection };
        await this.sim.turn(actor, false);
        const application = start();
        return application === undefined
          ? { kind: "failed", error: "no application" }
          : { kind: "started", application };
      },
      readLimitEnd: async () => null,
      otherOwner: async () => null,
      spaceTrouble: async () => null,
      outputOffsets: async () => ({ stdout: 0, stderr: 0 }),
    };
  }

  /** What must hold of the folder itself, whatever happened. */
  private async audit(): Promise<void> {
    const { sim } = this;
    const folder = sim.folder(new Actor("auditor"));
    const numbers = await this.offline(() => attemptNumbers(folder, this.task));
    let covered = 0;
    let open = 0;
    for (const number of numbers) {
      const records = await this.offline(() => readAttempt(folder, attemptPlace(this.task, number)));
      if (records.settled === null) open += 1;
      if (records.go?.what !== "start") continue;
      const named = new Set(records.go.proofs.map((proof) => proof.attempt));
      // Every lower attempt is named here or in the go that this one builds on.
      if (records.go.provedBy !== covered && records.go.provedBy > 0 && covered > records.go.provedBy)
        sim.violate(`go ${number} builds on ${records.go.provedBy}, but ${covered} started after it`);
      for (let lower = Math.max(1, records.go.provedBy); lower < number; lower++)
        if (!named.has(lower)) sim.violate(`go ${number} names no proof of attempt ${lower}`);
      for (let lower = 1; lower < number; lower++) {
        const text = sim.files.get(`${attemptPlace(this.task, lower).folder}/settled.json`);
        const settled = text === undefined ? null : (JSON.parse(text) as Settled);
        if (settled === null) sim.violate(`attempt ${number} started, and ${lower} is not settled`);
      }
      covered = number;
    }
    if (this.outcome?.kind === "over" && this.outcome.decision.kind === "finish") {
      const value = Number(sim.files.get(CHECKPOINT) ?? "0");
      if (value < this.traits.total) sim.violate(`finished at ${value} of ${this.traits.total}`);
    }
    if (open > this.plan.ahead + 2) sim.violate(`${open} attempts are left unsettled`);
  }
}
