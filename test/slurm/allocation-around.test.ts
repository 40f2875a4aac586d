/** When does the allocation end that a command is typed in? The answers of squeue are what a real Slurm printed. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { type Ran, surroundingAllocation } from "../../src/schedulers/slurm/index.ts";

const SQUEUE = readFileSync(new URL("fixtures/squeue.txt", import.meta.url), "utf8");
const answered: Ran = { kind: "ended", exitCode: 0, stdout: SQUEUE, stderr: "" };
const refused: Ran = {
  kind: "ended",
  exitCode: 1,
  stdout: "",
  stderr: "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
};
const unknown: Ran = { ...refused, stderr: "slurm_load_jobs error: Invalid job id specified\n" };
const END_TIME = { SLURM_JOB_END_TIME: "1796071802" };

async function around(environment: Readonly<Record<string, string>>, answer: Ran = answered) {
  const calls: string[] = [];
  const found = await surroundingAllocation(environment, async (program) => {
    calls.push(program);
    return answer;
  });
  return { found, calls };
}

it("asks the controller once, whose word is newer than the environment's", async () => {
  const { found, calls } = await around({ SLURM_JOB_ID: "51", SLURM_CPUS_ON_NODE: "8", ...END_TIME });
  const endAtMs = Date.parse("2026-11-30T20:50:02Z");
  expect(found).toEqual({ id: "51", endAtMs, by: "squeue", cpus: 8, error: null });
  expect(calls).toEqual(["squeue"]);
});

it("knows an allocation without an end", async () => {
  expect((await around({ SLURM_JOB_ID: "53" })).found).toMatchObject({ endAtMs: null, cpus: null, error: null });
});

it.each([
  ["the controller is silent", "51", refused, "squeue: slurm_load_jobs error: Unable to contact slurm controller"],
  ["nobody knows the job", "51", unknown, "squeue shows no running job 51 of yours"],
  ["the job has not begun", "52", answered, "squeue shows no running job 52 of yours"],
  ["the job is over", "49", answered, "squeue shows no running job 49 of yours"],
])("says why the end is not known when %s, unless the environment has it", async (_, id, answer, error) => {
  const { found } = await around({ SLURM_JOB_ID: id }, answer);
  expect(found).toMatchObject({ endAtMs: null, error: expect.stringContaining(error) });
  const told = await around({ SLURM_JOB_ID: id, ...END_TIME }, answer);
  expect(told.found).toMatchObject({ endAtMs: 1_796_071_802_000, by: "SLURM_JOB_END_TIME", error: null });
});

it("asks nobody outside of an allocation", async () => {
  expect(await around({ PATH: "/bin" })).toEqual({ found: null, calls: [] });
});
