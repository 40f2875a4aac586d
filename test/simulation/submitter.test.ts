import { expect, test } from "vitest";
import type { World } from "../../src/chain/index.ts";
import { createStop, HEARTBEAT_FILE, submitterPlace } from "../../src/journal/index.ts";
import { runSubmitter } from "../../src/runner/submitter.ts";
import { EPOCH_MS } from "./cluster.ts";
import { TaskMovers } from "./task-movers.ts";

function submitter(movers: TaskMovers, world: World) {
  const place = submitterPlace(movers.job, 1);
  let ask = () => {};
  let isAsked = false;
  const asked = new Promise<void>((resolve) => {
    ask = () => {
      isAsked = true;
      resolve();
    };
  });
  const ended = runSubmitter({
    world,
    place,
    allocation: {
      ref: "slurm/sim/900",
      cluster: "sim",
      id: "900",
      restartCount: 0,
      nodes: ["n1"],
      limitEndAtMs: null,
      tracking: "cgroup",
      cgroup: null,
      attributes: {},
    },
    outside: { asked },
    isAsked: () => isAsked,
    readLimitEnd: async () => null,
  });
  const beats = () => (movers.sim.files.get(`${place.folder}/${HEARTBEAT_FILE}`) ?? "").trimEnd().split("\n");
  return { ended, beats, ask };
}

test("a refused task: its submitter says so, tries the same attempt again, and takes the claim back when it leaves", async () => {
  const movers = new TaskMovers(3, 1, "submitter");
  const world = movers.world("here");
  movers.cluster.refuse = 1;
  const { ended, beats, ask } = submitter(movers, world);
  await movers.until(world.clock.sleep(20_000));
  expect(movers.attempts(0)).toEqual(["claimed"]);
  expect(movers.said.filter((line) => line.includes("not submitted")).length).toBeGreaterThan(2);
  expect(beats().at(-1)).toContain("task 0 is not taken now: QOSMaxSubmitJobLimit");
  ask();
  expect(await movers.until(ended)).toBe("asked");
  expect(movers.attempts(0)).toEqual(["withdrawn"]);
});

test("the end of a task keeps its submitter from no beat, however many others may begin then", async () => {
  const movers = new TaskMovers(14, null, "submitter");
  const world = movers.world("here");
  movers.cluster.submitMs = 4_000;
  const { ended, beats, ask } = submitter(movers, world);
  await movers.until(world.clock.sleep(12_000));
  const stop = { version: 1, nonce: "s", atMs: EPOCH_MS, by: "ann", kind: "drain", task: 0 } as const;
  await movers.until(createStop(world.folder, movers.job, stop));
  await movers.until(world.clock.sleep(90_000));
  expect(movers.attempts(13)).toEqual(["submitted"]);
  const times = beats().map((line) => Number(line.split(" ")[0]));
  const gaps = times.slice(1).map((at, i) => at - (times[i] ?? 0));
  expect(Math.max(...gaps)).toBeLessThan(20_000);
  ask();
  await movers.until(ended);
});
