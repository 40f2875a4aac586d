/** A job of several tasks, and processes on several hosts that move it, one after the other; its jobs do nothing. */
import { newMemory, type World } from "../../src/chain/index.ts";
import type { JobSpec } from "../../src/core/index.ts";
import { attemptPlace, encode, jobPlace, taskPlace } from "../../src/journal/index.ts";
import { Cluster, EPOCH_MS, OWNER_UID, type RunningJob } from "./cluster.ts";
import { Actor, Simulator } from "./simulator.ts";
import { simulatedSpec } from "./spec.ts";

const frame = { version: 1, nonce: "x", atMs: 0 };

export class TaskMovers {
  readonly sim = new Simulator(1);
  readonly job = jobPlace("/project/.stint", "/ann/sim");
  readonly spec: JobSpec;
  readonly cluster: Cluster;
  readonly said: string[] = [];

  constructor(
    tasks: number,
    parallel: number | null = null,
    mode: "self" | "submitter" = "self",
    more: Partial<JobSpec> = {},
  ) {
    this.sim.slow = 0;
    const plan = { kind: "tasks", indices: `0-${tasks - 1}`, parallel } as const;
    const submitter = { limitMs: 3_600_000, marginMs: 60_000 } as NonNullable<JobSpec["submitter"]>;
    this.spec = {
      ...simulatedSpec(10, 0, 600_000),
      tasks: plan,
      mode,
      ...more,
      ...(mode === "submitter" ? { submitter } : {}),
    };
    this.cluster = new Cluster(this.sim, 600_000, doNothing);
    this.sim.put(`${this.job.folder}/spec/0001.json`, encode({ ...frame, spec: this.spec, origins: {} }));
    this.sim.put(`${this.job.folder}/env.json`, encode({ ...frame, env: {} }));
  }

  /** A living process of that host: those of other hosts cannot be seen from it. */
  world(host: string): World {
    const { sim } = this;
    const actor = new Actor(host);
    const self = { host, machineId: host, bootId: "b", pidNamespace: "p", pid: 7, startTicks: 7 };
    return {
      folder: sim.folder(actor),
      scheduler: this.cluster.scheduler(actor),
      clock: { nowMs: () => EPOCH_MS + sim.nowMs, monotonicMs: () => sim.nowMs, sleep: (ms) => sim.sleep(actor, ms) },
      self,
      aliveHere: (ref) => (ref.host !== host ? "elsewhere" : ref.pid === self.pid ? "alive" : "gone"),
      nonce: () => sim.nonce(),
      script: (place) => `#!/bin/bash\n# ${place.folder}\n`,
      readCheckpoint: async () => ({ kind: "absent" }),
      log: (line) => void this.said.push(line),
      ownerUid: OWNER_UID,
      memory: newMemory(),
    };
  }

  /** The world goes on until this is done. */
  async until<T>(doing: Promise<T>): Promise<T> {
    let isDone = false;
    const noted = doing.finally(() => {
      isDone = true;
    });
    await this.sim.run(
      Number.POSITIVE_INFINITY,
      () => isDone,
      () => {},
    );
    return noted;
  }

  claim(task: number, number: number, host: string): void {
    const by = { host, machineId: host, bootId: "b", pidNamespace: "p", pid: 3, startTicks: 3 };
    const claim = { ...frame, by, specRevision: 1, basis: "first", after: 0, notBeforeMs: null };
    this.sim.put(`${this.folder(task, number)}/claim.json`, encode(claim));
  }

  /** Attempts of a task that have a folder, and whether they were withdrawn or have a job. */
  attempts(task: number): readonly string[] {
    const found: string[] = [];
    for (let number = 1; this.sim.files.has(`${this.folder(task, number)}/claim.json`); number++) {
      const has = (record: string): boolean => this.sim.files.has(`${this.folder(task, number)}/${record}.json`);
      found.push(has("submitted") ? "submitted" : has("go") ? "withdrawn" : "claimed");
    }
    return found;
  }

  private folder(task: number, number: number): string {
    return attemptPlace(taskPlace(this.job, task), number).folder;
  }
}

/** A job without processes, which goes when it is told to. */
function doNothing(): RunningJob {
  let over = false;
  const end = (): void => {
    over = true;
  };
  return {
    term: end,
    kill: end,
    cutOff: () => {},
    get over() {
      return over;
    },
  };
}
