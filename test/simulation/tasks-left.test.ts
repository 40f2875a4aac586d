import { expect, test } from "vitest";
import { advance, advanceJob, takeBackKept, type World } from "../../src/chain/index.ts";
import { attemptPlace, createStop, taskPlace } from "../../src/journal/index.ts";
import { beginOthers } from "../../src/runner/begin-others.ts";
import type { Body } from "../../src/runner/ports.ts";
import { TaskMovers } from "./task-movers.ts";

test.each(["another host", "here"])(
  "a claim without a job whose maker was on %s: whoever moves the other tasks goes on with it",
  async (host) => {
    const movers = new TaskMovers(2, 1);
    const world = movers.world("here");
    movers.claim(0, 1, host);
    // Its slot is kept until it is sure that no job of it appears.
    const first = await movers.until(advanceJob(world, movers.job));
    if (host !== "here") {
      expect(movers.attempts(0)).toEqual(["claimed"]);
      expect(first.lookAgainMs).toBeGreaterThan(0);
      await movers.until(world.clock.sleep(first.lookAgainMs ?? 0));
      await movers.until(advanceJob(world, movers.job));
    }
    expect(movers.attempts(0)).toEqual(["withdrawn", "submitted"]);
    expect(movers.attempts(1)).toEqual([]);
  },
);

test("a submit of ours that got no clear answer is gone on with by ourselves, and keeps no other task from beginning", async () => {
  const movers = new TaskMovers(2);
  const world = movers.world("here");
  movers.cluster.unclear = 1;
  expect(await movers.until(advanceJob(world, movers.job))).toMatchObject({ refused: { attempt: 1 }, left: 2 });
  movers.cluster.unclear = 0;
  // It never appears.
  await movers.until(world.clock.sleep(10_000));
  movers.cluster.jobs.clear();
  await movers.until(advanceJob(world, movers.job));
  expect(movers.attempts(1)).toEqual(["submitted"]);
  await movers.until(world.clock.sleep(10_000));
  await movers.until(advanceJob(world, movers.job));
  expect(movers.attempts(0)).toEqual(["withdrawn", "submitted"]);
});

test("who stays tries a refused submit again with the same number, after the back-off; who leaves takes the claim back", async () => {
  const movers = new TaskMovers(2);
  const world = movers.world("here");
  movers.cluster.refuse = 1;
  for (let i = 0; i < 5; i++) {
    const { refused } = await movers.until(advanceJob(world, movers.job, { keeps: true }));
    expect(refused).toMatchObject({ attempt: 1, error: "QOSMaxSubmitJobLimit" });
    await movers.until(world.clock.sleep(refused?.lookAgainMs ?? 0));
  }
  expect(movers.attempts(0)).toEqual(["claimed"]);
  expect(movers.said.filter((line) => line.includes("not submitted"))).toHaveLength(5);
  await movers.until(takeBackKept(world));
  expect(movers.attempts(0)).toEqual(["withdrawn"]);
  movers.cluster.refuse = 0;
  await movers.until(advanceJob(world, movers.job));
  expect([movers.attempts(0), movers.attempts(1)]).toEqual([["withdrawn", "submitted"], ["submitted"]]);
});

test("the scheduler is asked about nothing that it has accepted just now", async () => {
  const movers = new TaskMovers(5);
  const world = movers.world("here");
  let asked = 0;
  const { observe } = world.scheduler;
  const counting: World = {
    ...world,
    scheduler: {
      ...world.scheduler,
      observe: (refs, identities) => {
        asked += 1;
        return observe(refs, identities);
      },
    },
  };
  expect(await movers.until(advanceJob(counting, movers.job))).toMatchObject({ moved: 5, left: 0 });
  expect(asked).toBe(0);
  expect(await movers.until(advance(counting, taskPlace(movers.job, 0)))).toMatchObject({ kind: "going" });
  expect(asked).toBe(1);
});

test("no submit is begun that the time given is too short for", async () => {
  const movers = new TaskMovers(5);
  const world = movers.world("here");
  movers.cluster.submitMs = 4_000;
  const begunMs = world.clock.monotonicMs();
  expect(await movers.until(advanceJob(world, movers.job, { withinMs: 10_000 }))).toMatchObject({ moved: 2, left: 3 });
  expect(world.clock.monotonicMs() - begunMs).toBeLessThan(10_000);
});

test("a body that ends awaits the submit that it is in the middle of, and begins no more beside its application", async () => {
  const movers = new TaskMovers(5);
  const world = movers.world("here");
  movers.cluster.submitMs = 8_000;
  const place = attemptPlace(taskPlace(movers.job, 0), 1);
  const spec = { ...movers.spec, marginMs: 3_000 };
  const others = beginOthers({ world, place, spec, limitAtMs: null, leaving: () => false } as unknown as Body);
  await movers.until(world.clock.sleep(63_000));
  expect(movers.attempts(0)).toEqual(["claimed"]);
  await movers.until(others.end());
  expect(movers.attempts(0)).toEqual(["submitted"]);
  await movers.until(world.clock.sleep(200_000));
  expect(movers.attempts(1)).toEqual([]);
});

/** Counts what is read of the tasks of a job. */
function countingReads(world: World): { readonly world: World; readonly count: () => number } {
  let count = 0;
  const noting =
    <T>(act: (path: string) => Promise<T>) =>
    (path: string): Promise<T> => {
      if (path.includes("/tasks/")) count += 1;
      return act(path);
    };
  const { folder } = world;
  const read = noting(folder.read);
  const list = noting(folder.list);
  return { world: { ...world, folder: { ...folder, read, list } }, count: () => count };
}

test("no task of a job is read that is stopped as a whole", async () => {
  const movers = new TaskMovers(5);
  const { world, count } = countingReads(movers.world("here"));
  const say = (kind: "drain" | "resume", task?: number) =>
    movers.until(
      createStop(world.folder, movers.job, {
        ...{ version: 1, nonce: kind, atMs: 0, by: "ann", kind },
        ...(task === undefined ? {} : { task }),
      }),
    );
  await say("drain");
  await movers.until(advanceJob(world, movers.job));
  expect(count()).toBe(0);
  await say("resume", 3);
  await movers.until(advanceJob(world, movers.job));
  expect([2, 3, 4].map((task) => movers.attempts(task))).toEqual([[], ["submitted"], []]);
});

test("of many tasks that wait for a release each reads no more of the others than without that wish", async () => {
  const readsOf = async (hold: boolean): Promise<number> => {
    const movers = new TaskMovers(12, null, "self", { untilFirstRun: { hold, beginAtMs: null, dependency: null } });
    const { world, count } = countingReads(movers.world("here"));
    expect(await movers.until(advanceJob(world, movers.job))).toMatchObject({ moved: 12 });
    return count();
  };
  expect((await readsOf(true)) - (await readsOf(false))).toBeLessThan(12 * 11);
});
