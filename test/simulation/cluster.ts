/**
 * A simulated cluster with cgroup tracking: jobs, dependencies, limits, cancels, deaths and lost nodes. It is honest where
 * Slurm is: COMPLETING is active, a job is over only when its processes are gone, and a lost node is a doubtful end.
 */

import type { AccountRow, Over, Ref, Seen } from "../../src/core/index.ts";
import type { AccountAnswer, Scheduler } from "../../src/schedulers/index.ts";
import { type Actor, Actor as SimActor, type Simulator } from "./simulator.ts";

export interface Job {
  readonly ref: Ref;
  readonly id: string;
  readonly script: string;
  readonly attemptFolder: string;
  readonly after: readonly Ref[];
  readonly beginMs: number;
  state: "pending" | "running" | "over";
  limitEndMs: number | null;
  /** What the controller will say once it is over. */
  ending: { state: string; uid: number | null; exitCode: number | null; signal: number | null } | null;
  /** The controller has given its node up. */
  lost: "silent" | "answering" | "rebooted" | null;
  /** The controller and accounting have forgotten it. */
  forgotten: boolean;
  run: RunningJob | null;
}

/** The processes of a running job. */
export interface RunningJob {
  /** TERM to everyone, as by scancel or the limit. */
  term(): void;
  /** KILL to everyone, at once. */
  kill(): void;
  cutOff(on: boolean): void;
  readonly over: boolean;
}

/** The epoch of the simulated wall clock. */
export const EPOCH_MS = 1_000_000;
export const OWNER_UID = 1000;
const KILL_WAIT_MS = 1_000;
const NOTHING_TOLD: Omit<AccountRow, "ref" | "state" | "exitCode" | "signal" | "cancelledByUid"> = {
  run: 0,
  submitAtMs: null,
  eligibleAtMs: null,
  startAtMs: null,
  endAtMs: null,
  elapsedMs: null,
  suspendedMs: null,
  allocatedCpus: null,
  allocated: null,
  cpuTotalMs: null,
  cpuUserMs: null,
  cpuSystemMs: null,
  cpuIsLowerBound: true,
  memoryPeakBytes: null,
  memoryPeakIsLowerBound: true,
  requestedMemoryBytes: null,
  requestedMemoryPer: null,
  nodes: [],
  partition: null,
  account: null,
  steps: [],
  raw: null,
};

export class Cluster {
  readonly jobs = new Map<Ref, Job>();
  reachable = true;
  /** Probability of an unclear answer, of a refusal. */
  unclear = 0;
  refuse = 0;
  /** So many submits of each task are refused before one is taken. */
  refuseFirst = 0;
  /** How long a submit takes. */
  submitMs = 0;
  private readonly refusals = new Map<string, number>();
  private readonly sim: Simulator;
  private readonly limitMs: number;
  private readonly start: (job: Job) => RunningJob;
  private readonly daemon = new SimActor("slurmctld");
  private ids = 0;

  constructor(sim: Simulator, limitMs: number, start: (job: Job) => RunningJob) {
    this.sim = sim;
    this.limitMs = limitMs;
    this.start = start;
    void this.loop();
  }

  private async loop(): Promise<void> {
    for (;;) {
      await this.sim.sleep(this.daemon, 250);
      for (const job of this.jobs.values()) this.tick(job);
    }
  }

  private tick(job: Job): void {
    const { sim } = this;
    if (job.state === "pending") {
      const free = job.after.every((ref) => (this.jobs.get(ref)?.state ?? "over") === "over");
      if (!free || sim.nowMs < job.beginMs || sim.chance(0.3)) return;
      job.state = "running";
      job.limitEndMs = sim.nowMs + this.limitMs;
      job.run = this.start(job);
      sim.note(null, `job ${job.id} starts`);
      return;
    }
    if (job.state !== "running" || job.run === null) return;
    if (job.run.over) {
      job.state = "over";
      job.ending ??= { state: "COMPLETED", uid: null, exitCode: 0, signal: null };
      sim.note(null, `job ${job.id} is over: ${job.ending.state}`);
      return;
    }
    if (job.limitEndMs !== null && sim.nowMs >= job.limitEndMs && job.lost === null)
      this.end(job, { state: "TIMEOUT", uid: null, exitCode: 0, signal: null });
  }

  /** TERM, kill wait, KILL: what a cancel, a limit and a preemption have in common. */
  end(job: Job, ending: NonNullable<Job["ending"]>): void {
    if (job.state === "pending") {
      job.state = "over";
      job.ending = ending;
      return;
    }
    if (job.state !== "running" || job.ending !== null || job.run === null) return;
    job.ending = ending;
    job.run.term();
    const { run } = job;
    void this.sim.sleep(this.daemon, KILL_WAIT_MS).then(() => run.kill());
  }

  /** Another job with the same script, as an unclear submit leaves it. */
  twin(job: Job): void {
    this.ids += 1;
    const id = String(this.ids);
    const ref = `slurm/sim/${id}`;
    this.jobs.set(ref, {
      ...job,
      id,
      ref,
      after: [],
      state: "pending",
      limitEndMs: null,
      ending: null,
      lost: null,
      run: null,
    });
    this.sim.note(null, `job ${id} is a twin of ${job.id}`);
  }

  private seen(job: Job | undefined): Seen {
    if (job === undefined || job.forgotten) return { kind: "absent" };
    if (job.lost !== null) return this.over(job, { state: "NODE_FAIL", uid: null, exitCode: 0, signal: null }, "D");
    if (job.state === "pending") return { kind: "active", phase: "pending", reason: "Dependency", limitEndAtMs: null };
    if (job.state === "running") {
      const phase = job.ending === null ? "running" : "completing";
      return { kind: "active", phase, reason: null, limitEndAtMs: job.limitEndMs };
    }
    return this.over(job, job.ending ?? { state: "COMPLETED", uid: null, exitCode: 0, signal: null }, "C");
  }

  private over(job: Job, ending: NonNullable<Job["ending"]>, proof: "C" | "D"): Over {
    return {
      kind: "over",
      state: ending.state,
      exitCode: ending.exitCode,
      signal: ending.signal,
      cancelledByUid: ending.uid,
      final: true,
      proof,
      nodes: proof === "D" ? job.lost : null,
      text: `${job.id} ${ending.state}`,
    };
  }

  /** Its accounting tells states and nothing of what was used. */
  private accountOf(ref: Ref): AccountAnswer {
    const seen = this.seen(this.jobs.get(ref));
    if (seen.kind !== "over") return { kind: "pending", why: `${ref} is not over` };
    const { state, exitCode, signal, cancelledByUid } = seen;
    return { kind: "final", rows: [{ ...NOTHING_TOLD, ref, state, exitCode, signal, cancelledByUid }] };
  }

  private isRefused(attemptFolder: string): boolean {
    const task = attemptFolder.split("/attempts/")[0] ?? "";
    const before = this.refusals.get(task) ?? 0;
    if (before >= this.refuseFirst) return this.sim.chance(this.refuse);
    this.refusals.set(task, before + 1);
    return true;
  }

  scheduler(actor: Actor): Scheduler {
    const { sim } = this;
    const reaches = (): boolean => this.reachable && !actor.cutOff;
    /** A command line tool: it takes its time, and gives up when nobody answers. */
    const call = async <T, U = T>(effect: () => T, otherwise: () => U): Promise<T | U> => {
      await sim.turn(actor, false);
      if (!reaches()) {
        await sim.sleep(actor, 500);
        return otherwise();
      }
      const value = effect();
      await sim.turn(actor, false);
      return value;
    };
    return {
      name: "slurm",
      submit: async (submission) => {
        if (this.submitMs > 0) await sim.sleep(actor, this.submitMs);
        return call(
          () => {
            if (this.isRefused(submission.attemptFolder))
              return { kind: "refused" as const, error: "QOSMaxSubmitJobLimit", transient: true };
            const unclear = sim.chance(this.unclear);
            if (unclear && sim.chance(0.4)) return { kind: "unclear" as const, error: "Socket timed out" };
            this.ids += 1;
            const id = String(this.ids);
            const job: Job = {
              ref: `slurm/sim/${id}`,
              id,
              script: submission.script,
              attemptFolder: submission.attemptFolder,
              after: submission.after,
              beginMs: (submission.notBeforeMs ?? EPOCH_MS) - EPOCH_MS,
              state: "pending",
              limitEndMs: null,
              ending: null,
              lost: null,
              forgotten: false,
              run: null,
            };
            const appear = (): void => void this.jobs.set(job.ref, job);
            // An accepted job may appear late: the answer was lost, the job was not.
            if (unclear) void sim.sleep(this.daemon, sim.between(0, 8_000)).then(appear);
            else appear();
            if (unclear) return { kind: "unclear" as const, error: "Socket timed out" };
            return { kind: "accepted" as const, ref: job.ref, cluster: "sim", id };
          },
          () => ({ kind: "unclear" as const, error: "unable to contact the controller" }),
        );
      },
      find: (script) =>
        call(
          () => {
            const job = [...this.jobs.values()].find((j) => j.script === script && !j.forgotten);
            return job === undefined ? ("none" as const) : { ref: job.ref, cluster: "sim", id: job.id };
          },
          () => "unreachable" as const,
        ),
      observe: (refs) =>
        call(
          () => new Map(refs.map((ref) => [ref, this.seen(this.jobs.get(ref))])),
          () => new Map<Ref, Seen>(refs.map((ref) => [ref, { kind: "unreachable", error: "controller away" }])),
        ),
      account: (refs) =>
        call(
          () => new Map(refs.map((ref) => [ref, this.accountOf(ref)])),
          () =>
            new Map<Ref, AccountAnswer>(refs.map((ref) => [ref, { kind: "unreachable", error: "accounting away" }])),
        ),
      withdraw: (refs) =>
        call(
          () => {
            for (const ref of refs) {
              const job = this.jobs.get(ref);
              if (job !== undefined) this.end(job, { state: "CANCELLED", uid: OWNER_UID, exitCode: 0, signal: null });
            }
          },
          () => undefined,
        ),
      kill: async () => undefined,
      warn: async () => "no-step",
      here: async () => null,
    };
  }
}
