/** A chain of one test: its story is printed when the test fails, and nothing of it stays behind. */
import type { TestContext } from "vitest";
import type { Budgets, JobSpec, SlurmOptions } from "../../src/core/index.ts";
import { jobSpec } from "../support/job-spec.ts";
import type { Cluster } from "./cluster.ts";
import { type ProjectOptions, SlurmProject } from "./slurm-project.ts";

export type MakeChain = (
  t: TestContext,
  script: string,
  changes?: ChainChanges,
  more?: Partial<ProjectOptions>,
) => Promise<SlurmProject>;

type ChainChanges = Partial<Omit<JobSpec, "slurm" | "budgets">> & {
  readonly slurm?: Partial<SlurmOptions>;
  readonly budgets?: Partial<Budgets>;
};

/** `script`: the text of the application. */
export function chainsOn(slurm: Cluster): MakeChain {
  return async (t, script, { slurm: options, budgets, ...plain } = {}, { files, spec, ...more } = {}) => {
    const parts = jobSpec({
      ...(options === undefined ? {} : { slurm: options }),
      ...(budgets === undefined ? {} : { budgets }),
    });
    let made: SlurmProject | null = null;
    made = await SlurmProject.make({
      slurm,
      files: { "app.sh": script, ...files },
      spec: (folder) => ({ ...plain, slurm: parts.slurm, budgets: parts.budgets, ...spec?.(folder) }),
      ...more,
      onFinished: (cleanup) =>
        t.onTestFinished(async () => {
          if (t.task.result?.state === "fail" && made !== null) console.log(`${t.task.name}\n${await made.story()}`);
          await cleanup();
        }),
    });
    return made;
  };
}

/** Longer than any of these tests: whatever ends, it is not the window. */
export const LONG = { limitMs: 600_000, marginMs: 10_000 } as const;
