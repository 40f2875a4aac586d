/** SIGKILL at random moments to runner, shepherd or both, until the chain has come to its end all the same. */
import { describe, expect, it } from "vitest";
import { findMembers, readCommandLine, signalMembers } from "../../src/host/index.ts";
import { expectNothingLost } from "./exactly-once.ts";
import { COUNTER, Project } from "./harness.ts";

const ROUNDS = process.env.STINT_FULL === undefined ? 6 : 200;

/** Numbers between 0 and 1 from a seed that a failure prints. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

describe("kills at random moments", () => {
  for (let round = 0; round < ROUNDS; round++) {
    const seed = Number(process.env.STINT_SEED ?? Math.floor(Math.random() * 1e9)) + round;
    it(`neither lose a saved step nor let two applications run at a time (seed ${seed})`, async () => {
      const random = randomFrom(seed);
      const budgets = { infrastructure: 100, neverRan: 100, inARow: 100 };
      const project = await Project.make(COUNTER, {
        total: 30,
        limitMs: 2_500,
        marginMs: 800,
        ahead: round % 3,
        env: { STEP: "0.03" },
        budgets: { failures: 3, stalled: 100, preemptions: 100, attempts: 1000, wallMs: 1e9, ...budgets },
      });
      await project.advance();
      // A driver, as an attached command is one: chains whose last processes were killed are moved on by somebody.
      const end = project.driveToEnd(90_000);
      let over = false;
      void end.finally(() => {
        over = true;
      });
      for (let kills = 0; kills < 5 && !over; kills++) {
        await new Promise((resolve) => setTimeout(resolve, 100 + random() * 900));
        const what = ["body", "shepherd", "both"][Math.floor(random() * 3)];
        const victims = ours(project).filter(({ command }) => what === "both" || command === what);
        signalMembers(victims, "SIGKILL");
      }
      expect(await end).toMatchObject({ kind: "over", decision: { kind: "finish" } });
      expectNothingLost(project.steps(), 30);
    });
  }
});

function ours(project: Project): { pid: number; startTicks: number; command: string }[] {
  const found = [];
  for (let number = 1; number <= 40; number++) {
    const mark = { name: "STINT_MARK", value: `${project.uuid}/0/${number}` };
    for (const { pid, startTicks } of findMembers({ roots: [], session: null, mark, cgroup: null, exclude: [] })) {
      const command = readCommandLine(pid)?.at(-2) ?? "";
      if (command === "body" || command === "shepherd") found.push({ pid, startTicks, command });
    }
  }
  return found;
}
