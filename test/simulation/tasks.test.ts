import { expect, test } from "vitest";
import { runTasks, type TasksResult } from "./tasks-run.ts";

/** Printed with every failure; `STINT_SEED` replays one. */
const SEED = Number(process.env.STINT_SEED ?? Math.floor(Math.random() * 1e9));
const ROUNDS = process.env.STINT_FULL === "1" ? 2_000 : 40;

function say(seed: number, { log }: TasksResult): string {
  return `seed ${seed}\n${log.slice(-80).join("\n")}`;
}

test.each([
  [2, 1],
  [4, 2],
])(
  "without faults %d tasks, %d at a time, all come to their end by themselves",
  async (tasks, parallel) => {
    let most = 0;
    for (let i = 0; i < ROUNDS / 3; i++) {
      const seed = SEED + i;
      const result = await runTasks({ seed, tasks, parallel, ahead: i % 3, faults: false });
      expect(result.violations, say(seed, result)).toEqual([]);
      expect(result.finished, say(seed, result)).toBe(tasks);
      most = Math.max(most, result.mostAtWork);
    }
    expect(most).toBe(parallel);
  },
  900_000,
);

test('a scheduler that says "not now" when a task ends loses no other task: who has ended it tries again', async () => {
  for (let i = 0; i < ROUNDS / 10; i++) {
    const seed = SEED + 2_000_000 + i;
    const result = await runTasks({
      seed,
      tasks: 4,
      parallel: 1 + (i % 2),
      ahead: i % 3,
      faults: false,
      refuseFirst: 2,
    });
    expect(result.violations, say(seed, result)).toEqual([]);
    expect(result.finished, say(seed, result)).toBe(4);
  }
}, 900_000);

test.each([
  [2, 1],
  [5, 2],
])(
  "no killed mover, refusal or person makes more than may of %d tasks work (%d at a time), and all end",
  async (tasks, parallel) => {
    let started = 0;
    for (let i = 0; i < ROUNDS; i++) {
      const seed = SEED + 1_000_000 + i;
      const result = await runTasks({ seed, tasks, parallel, ahead: i % 3, faults: true });
      started += result.started;
      expect(result.violations, say(seed, result)).toEqual([]);
      expect(result.finished, say(seed, result)).toBe(tasks);
    }
    // A simulation in which nothing happens proves nothing.
    expect(started).toBeGreaterThan(ROUNDS * tasks);
  },
  900_000,
);
