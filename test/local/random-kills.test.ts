/** SIGKILL at random moments to runner, shepherd, command line, or all; the chain comes to its end all the same. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findMembers, readCommandLine, signalMembers } from "../../src/host/index.ts";
import { CLI } from "../cli/stint.ts";
import { expectNothingLost } from "./exactly-once.ts";
import { COUNTER, eventually, Project } from "./harness.ts";

const ROUNDS = process.env.STINT_FULL === undefined ? 10 : 200;

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
      const person = new Person(project);
      const end = eventually("the end of the chain", () => project.ending(), 90_000);
      let over = false;
      const ended = () => {
        over = true;
      };
      end.then(ended, ended);
      for (let kills = 0; kills < 6 && !over; kills++) {
        await new Promise((resolve) => setTimeout(resolve, 100 + random() * 900));
        const what = ["body", "shepherd", "both", "cli", "all"][Math.floor(random() * 5)];
        if (what === "cli" || what === "all") person.killCommand();
        const kinds = what === "both" || what === "all" ? ["body", "shepherd"] : [what];
        signalMembers(
          ours(project).filter(({ command }) => kinds.includes(command)),
          "SIGKILL",
        );
      }
      try {
        expect(await end).toMatchObject({ kind: "finish" });
      } finally {
        await person.leave();
      }
      expectNothingLost(project.steps(), 30);
    });
  }
});

/** Types `stint resume` and `stint wait` by turns, whatever they answer: a chain all of whose processes are killed is moved on. */
class Person {
  readonly #project: Project;
  #command: ChildProcess | null = null;
  #leaving = false;
  readonly #done: Promise<void>;

  constructor(project: Project) {
    this.#project = project;
    this.#done = this.#type();
  }

  killCommand(): void {
    this.#command?.kill("SIGKILL");
  }

  async leave(): Promise<void> {
    this.#leaving = true;
    this.killCommand();
    await this.#done;
  }

  async #type(): Promise<void> {
    const { folder, job } = this.#project;
    const env = { ...process.env, STINT_DIR: join(folder, ".stint") };
    for (let turn = 0; !this.#leaving; turn++) {
      const words = [turn % 2 === 0 ? "wait" : "resume", job.id];
      const command = spawn(process.execPath, [CLI, ...words], { cwd: folder, env, stdio: "ignore" });
      this.#command = command;
      await new Promise((resolve) => command.once("close", resolve));
    }
  }
}

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
