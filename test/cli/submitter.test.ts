/** Mode submitter as the command line has it, with Slurm's commands as scripts: what is submitted, shown and taken back. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { slurmCommands } from "./slurm-commands.ts";
import { newProject, type TestProject } from "./stint.ts";

const SUBMIT = [
  ...["submit", "--scheduler", "slurm", "--mode", "submitter", "--name", "sim", "--limit", "4h", "--ahead", "0"],
  ...["--timing-poll", "0.1s", "--timing-doubtful-twice", "0.1s"],
];
const COMMAND = ["--", "true"];

function start(project: TestProject) {
  const slurm = slurmCommands(project.folder);
  const stint = (args: readonly string[]) => project.stint(args, { env: { PATH: slurm.path } });
  const job = async () => JSON.parse((await stint(["status", "sim", "--json"])).stdout).job;
  const record = (number: string, name: string) => {
    const path = join(project.jobFolder("sim"), "submitters", number, `${name}.json`);
    return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : null;
  };
  const jobs = (): readonly string[] => readdirSync(join(project.folder, "slurm-bin", "jobs"));
  return { slurm, stint, job, record, jobs };
}

test("submit queues the first attempt and one submitter, once; cancel takes both back", async () => {
  const project = newProject();
  const { stint, job, record, jobs } = start(project);
  const submitted = await stint([...SUBMIT, ...COMMAND]);
  expect(submitted.status, submitted.stderr).toBe(0);
  expect(jobs()).toEqual(["1", "2"]);
  expect(record("0001", "claim")).toMatchObject({ basis: "first" });
  expect(record("0001", "submitted")).toMatchObject({ ref: "slurm/c/2" });
  expect(await job()).toMatchObject({
    state: "waiting",
    reason: expect.stringContaining("attempt 1 is queued"),
    submitter: { number: 1, ref: "slurm/c/2", phase: "queued" },
  });
  expect((await stint(["status", "sim"])).stdout).toMatch(/^mover +submitter job 2 is queued$/m);
  // The same name again finds all that is needed.
  expect((await stint([...SUBMIT, ...COMMAND])).status).toBe(0);
  expect(jobs()).toEqual(["1", "2"]);
  const cancelled = await stint(["cancel", "sim"]);
  expect(cancelled.status, cancelled.stderr).toBe(0);
  expect(record("0001", "ended")).toMatchObject({ reason: "withdrawn" });
  const states = join(project.folder, "slurm-bin", "states");
  expect(["1", "2"].map((id) => readFileSync(join(states, id), "utf8").trim())).toEqual(["CANCELLED", "CANCELLED"]);
  expect(await job()).toMatchObject({ state: "over", submitter: null });
});

test("without submitter and attempt the chain is stranded; resume makes both anew", async () => {
  const project = newProject();
  const { slurm, stint, job, record, jobs } = start(project);
  expect((await stint([...SUBMIT, ...COMMAND])).status).toBe(0);
  slurm.state("NODE_FAIL");
  expect(await job()).toMatchObject({ state: "stranded", submitter: null });
  const resumed = await stint(["resume", "sim", "--submitter-mem", "512M"]);
  expect(resumed.status, resumed.stderr).toBe(0);
  expect(record("0002", "claim")).toMatchObject({ basis: "resume" });
  expect(jobs()).toEqual(["1", "2", "3", "4"]);
  expect(await job()).toMatchObject({ state: "waiting", submitter: { number: 2, phase: "queued" } });
  expect((await stint(["cancel", "sim"])).status).toBe(0);
});

test("a lasting no to the submitter is said at once, and the attempt is taken back", async () => {
  const project = newProject();
  const { slurm, stint, job } = start(project);
  slurm.refuse("sbatch: error: invalid partition specified: nowhere", 2);
  const refused = await stint([...SUBMIT, "--submitter-partition", "nowhere", ...COMMAND]);
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain("the scheduler refuses the submitter of sim: sbatch: invalid partition");
  expect(refused.stderr).toContain("--submitter-partition");
  expect(await job()).toMatchObject({ state: "over" });
  expect(readFileSync(join(project.folder, "slurm-bin", "states", "1"), "utf8").trim()).toBe("CANCELLED");
  // Corrected, the same name goes on.
  slurm.refuse(null);
  const again = await stint([...SUBMIT, ...COMMAND]);
  expect(again.status, again.stderr).toBe(0);
  expect(await job()).toMatchObject({ state: "waiting", submitter: { phase: "queued" } });
  expect((await stint(["cancel", "sim"])).status).toBe(0);
});

test("--dry-run shows the submitter's own call and script", async () => {
  const project = newProject();
  const { stint } = start(project);
  const own = ["--submitter-limit", "12h", "--submitter-partition", "cpu", "-p", "gpu", "--sbatch-arg=--gres=gpu:1"];
  const { stdout, status } = await stint([...SUBMIT, "--dry-run", ...own, ...COMMAND]);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^submitter\.limit +12h +flag --submitter-limit$/m);
  const calls = stdout.split("\n").filter((line) => line.startsWith("sbatch "));
  expect(calls[0]).toContain("--gres=gpu:1 --partition=gpu --time=240");
  expect(calls[1]).toMatch(/^sbatch --partition=cpu .*--mem=256M .*--time=720 .*--job-name=sim-submitter /);
  expect(stdout).toMatch(/^exec .*runner\.mjs' submitter '.*\/sim\/submitters\/0001'$/m);
});

test("of several tasks one submitter moves all: it stays while one is left, and comes back with the first that is resumed", async () => {
  const project = newProject();
  const { stint, job, record, jobs } = start(project);
  const tasks = ["--array", "3-5", "--parallel", "1", "--checkpoint", "s-{task}.txt"];
  const submitted = await stint([...SUBMIT, ...tasks, ...COMMAND]);
  expect(submitted.status, submitted.stderr).toBe(0);
  expect(jobs()).toEqual(["1", "2"]);
  const calls = readFileSync(join(project.folder, "slurm-bin", "calls", "sbatch"), "utf8").split("\n");
  expect(calls[0]).toContain("--array=3 ");
  expect(calls[1]).toContain("--job-name=sim-submitter");
  expect(calls[1]).not.toContain("--array");
  expect(await job()).toMatchObject({ state: "waiting", submitter: { number: 1 }, tasks: { total: 3, waiting: 3 } });
  const shown = (await stint(["status", "sim"])).stdout;
  expect(shown).toMatch(/^mover +.*submitter job 2 is queued$/m);
  expect(shown).toMatch(/^3 +waiting +1 .*attempt 1 is queued/m);
  expect(shown).toMatch(/^4 +waiting .*waits for a slot: 1 at a time$/m);

  // The next task begins, and the submitter is still needed.
  expect((await stint(["cancel", "sim/3"])).status).toBe(0);
  expect(record("0001", "ended")).toBeNull();
  expect(jobs()).toEqual(["1", "2", "3"]);
  expect((await stint(["cancel", "sim"])).status).toBe(0);
  expect(record("0001", "ended")).toMatchObject({ reason: "withdrawn" });
  expect(await job()).toMatchObject({ state: "over", reason: "cancelled (3 stopped)", submitter: null });

  const resumed = await stint(["resume", "sim/5"]);
  expect(resumed.status, resumed.stderr).toBe(0);
  expect(record("0002", "claim")).toMatchObject({ basis: "resume" });
  expect(await job()).toMatchObject({ state: "waiting", submitter: { number: 2 }, tasks: { waiting: 1, stopped: 2 } });
  expect((await stint(["cancel", "sim"])).status).toBe(0);
});
