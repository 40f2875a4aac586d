import { expect, test } from "vitest";
import { Checkpoint, SimApplication } from "../../test/simulation/application.ts";
import { Actor, Simulator } from "../../test/simulation/simulator.ts";
import { jobSpec } from "../../test/support/job-spec.ts";
import { newMemory } from "../chain/index.ts";
import type { Exited, Started } from "../core/index.ts";
import type { Folder } from "../host/index.ts";
import { attemptPlace, jobPlace, taskPlace } from "../journal/index.ts";
import type { Scheduler } from "../schedulers/index.ts";
import type { Body } from "./ports.ts";
import { runApplication } from "./run-application.ts";

const STALL_MS = 30_000;

test("how long saving took is the time to the end of the last process, also on a folder that stalls then", async () => {
  const sim = new Simulator(7);
  sim.slow = 0;
  const body = new Actor("body");
  const place = attemptPlace(taskPlace(jobPlace("/project/.stint", "/ann/sim"), 0), 1);
  sim.put(`${place.folder}/started.json`, "");
  const application = new SimApplication(sim, new Checkpoint(), { total: 1_000, stubborn: false, crashes: 0 }, 1);
  let overMs = Number.NaN;
  void application.exit.then(() => {
    overMs = sim.nowMs;
  });
  const stalled = async (): Promise<void> => {
    if (!Number.isNaN(overMs)) await sim.sleep(body, STALL_MS);
  };
  // Nothing but the end of the application and the last samples waits: they are what comes before the testimony.
  const sweep = application.sweep.bind(application);
  application.sweep = () => stalled().then(sweep);
  application.takeSamples = () => "row\n";
  const folder: Folder = { ...sim.folder(body), append: () => stalled() };
  let done = false;
  void runApplication(bodyPorts(sim, body, folder, place, application), started, { state: "absent" }).then(() => {
    done = true;
  });
  await sim.run(
    600_000,
    () => done,
    () => {},
  );
  const exited = JSON.parse(sim.files.get(`${place.folder}/exited.json`) ?? "null") as Exited;
  expect(exited.atMs - overMs).toBeGreaterThanOrEqual(2 * STALL_MS);
  const [term] = exited.signalsSent;
  expect(term).toMatchObject({ signal: "SIGTERM", why: "window" });
  expect(exited.saving?.killed).toBe(false);
  expect(Math.abs((exited.saving?.ms ?? Number.NaN) - (overMs - (term?.afterMs ?? 0)))).toBeLessThan(250);
});

const started = { limitEndAtMs: 20_000 } as Started;

function bodyPorts(
  sim: Simulator,
  actor: Actor,
  folder: Folder,
  place: Body["place"],
  application: SimApplication,
): Body {
  const spec = { ...jobSpec({ limitMs: 20_000, sampleIntervalMs: 1_000 }), marginMs: 5_000 };
  return {
    world: {
      folder,
      scheduler: { name: "local", observe: async () => new Map() } as unknown as Scheduler,
      clock: { nowMs: () => sim.nowMs, monotonicMs: () => sim.nowMs, sleep: (ms) => sim.sleep(actor, ms) },
      self: { host: "h", machineId: "m", bootId: "b", pidNamespace: "n", pid: 1, startTicks: 1 },
      aliveHere: () => "alive",
      nonce: () => sim.nonce(),
      script: () => "",
      readCheckpoint: async () => ({ kind: "absent" }),
      log: () => {},
      ownerUid: 0,
      memory: newMemory(),
    },
    place,
    spec,
    limitAtMs: 20_000,
    allocation: {
      ref: "local/b/1/1",
      cluster: null,
      id: "1",
      restartCount: 0,
      nodes: ["h"],
      limitEndAtMs: 20_000,
      tracking: "other",
      cgroup: null,
      attributes: {},
    },
    guardian: null,
    outside: { received: () => [], asked: new Promise(() => {}) },
    start: async () => ({ kind: "started", application }),
    leaving: () => false,
    readLimitEnd: async () => null,
    otherOwner: async () => null,
    spaceTrouble: async () => null,
    outputOffsets: async () => ({ stdout: 0, stderr: 0 }),
  };
}
