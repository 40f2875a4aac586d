/** A local chain inside an allocation of Slurm: over before the allocation is, and resumed in another one. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type SlurmCommands, slurmCommands } from "./slurm-commands.ts";
import { attemptsOnFile, newProject, readRecord, type TestProject } from "./stint.ts";

interface Started {
  readonly limitEndAtMs: number | null;
  readonly allocation: { readonly cpus: number };
}

interface WithSpec {
  readonly spec: { readonly allocationEndAtMs: number | null };
  readonly origins: Readonly<Record<string, string>>;
}

const TOTAL = 160;
/** Nothing in it names a scheduler: inside an allocation it is `local`. */
const JOB = [
  ...["--limit", "5s", "--margin", "1.5s", "--kill-wait", "1s", "--sample-interval", "0.2s", "--name", "sim"],
  ...["--checkpoint", "sim.txt", "--total", String(TOTAL), "--env", "STEP_SEC=0.05", "--env", "CHECKPOINT_EVERY=5"],
  ...["--", "bash", "count.sh"],
];

function inAllocation(slurm: SlurmCommands, id: string, more: Readonly<Record<string, string>> = {}) {
  return { env: { PATH: slurm.path, SLURM_JOB_ID: id, SLURM_CPUS_ON_NODE: "3", ...more } };
}

/** Slurm's times are whole seconds. */
function secondsFromNow(seconds: number): number {
  return Math.ceil(Date.now() / 1_000) * 1_000 + seconds * 1_000;
}

async function specOf(project: TestProject): Promise<WithSpec> {
  return JSON.parse((await project.stint(["status", "sim", "--spec", "--json"])).stdout) as WithSpec;
}

test("it is over before its allocation, says so with exit status 75, and goes on in another one to its end", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  const endAtMs = secondsFromNow(12);
  slurm.allocation("77", endAtMs);
  const ran = await project.stint(["run", ...JOB], inAllocation(slurm, "77"));
  expect(Date.now()).toBeLessThan(endAtMs);
  expect(ran.status, ran.stderr).toBe(75);
  const utc = new Date(endAtMs).toISOString().slice(0, 19).replace("T", " ");
  expect(ran.stdout).toContain(`sim: drained: the allocation ends at ${utc} UTC (`);
  expect(ran.stdout).toContain("next: in another allocation: stint resume sim");
  const first = await specOf(project);
  expect(first.spec.allocationEndAtMs).toBe(endAtMs);
  expect(first.origins["allocation-end"]).toBe("allocation 77 (squeue)");
  const last = attemptsOnFile(project, "sim").findLast((name) => readRecord(project, "sim", name, "exited.json")) ?? "";
  const started = readRecord<Started>(project, "sim", last, "started.json");
  // The last one had no more than was left, but for the 5 s that are kept back.
  expect(Number(last)).toBeGreaterThanOrEqual(2);
  expect(started?.limitEndAtMs).toBeLessThanOrEqual(endAtMs - 5_000 + 50);
  expect(started?.limitEndAtMs).toBeGreaterThan(endAtMs - 5_500);
  expect(started?.allocation.cpus).toBe(3);

  const here = await project.stint(["resume", "sim"], inAllocation(slurm, "77"));
  expect(here.status).toBe(75);
  expect(here.stderr).toContain(`sim is not started: the allocation ends at ${utc} UTC, too soon for an attempt`);

  const otherEndAtMs = secondsFromNow(120);
  slurm.allocation("78", otherEndAtMs);
  const resumed = await project.stint(["resume", "sim"], inAllocation(slurm, "78"));
  expect(resumed.status, resumed.stderr).toBe(0);
  const waited = await project.stint(["wait", "sim", "--timeout", "40s"]);
  expect(waited.status, waited.stdout).toBe(0);
  const next = await specOf(project);
  expect(next.spec.allocationEndAtMs).toBe(otherEndAtMs);
  expect(next.origins).toMatchObject({ "allocation-end": "allocation 78 (squeue)", limit: "flag --limit" });
  expect(readdirSync(join(project.jobFolder("sim"), "spec"))).toEqual(["0001.json", "0002.json"]);
  const { stdout } = await project.stint(["logs", "sim"]);
  const steps = [...stdout.matchAll(/^step (\d+)$/gm)].map((match) => Number(match[1]));
  expect(steps).toEqual(Array.from({ length: TOTAL }, (_, index) => index + 1));
});

test("outside of any allocation nothing bounds it, also when it was submitted in one", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  slurm.allocation("77", secondsFromNow(9));
  expect((await project.stint(["run", ...JOB], inAllocation(slurm, "77"))).status).toBe(75);
  expect((await project.stint(["resume", "sim"])).status).toBe(0);
  const { spec, origins } = await specOf(project);
  expect(spec.allocationEndAtMs).toBeNull();
  expect(origins["allocation-end"]).toBeUndefined();
  expect((await project.stint(["drain", "sim", "--wait"])).status).toBe(0);
});

test("an end that is too near for an attempt starts nothing and makes nothing", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  slurm.allocation("77", secondsFromNow(5));
  const refused = await project.stint(["submit", ...JOB], inAllocation(slurm, "77"));
  expect(refused.status).toBe(75);
  expect(refused.stderr).toContain("sim is not started: the allocation ends at ");
  expect(existsSync(project.jobFolder("sim"))).toBe(false);
});

test("an end that nobody tells is said in one line; what Slurm has put into the environment counts then", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  slurm.silent(true);
  const unbound = await project.stint(["submit", "--dry-run", ...JOB], inAllocation(slurm, "77"));
  expect(unbound.status).toBe(0);
  expect(unbound.stderr.trim().split("\n")).toEqual([
    expect.stringContaining(
      "the end of allocation 77 is not known, so nothing bounds the job: squeue: Unable to contact slurm controller",
    ),
  ]);
  expect(unbound.stdout).not.toContain("allocation-end");
  const endAtMs = secondsFromNow(3_600);
  const environment = { SLURM_JOB_END_TIME: String(endAtMs / 1_000) };
  const bound = await project.stint(["submit", "--dry-run", ...JOB], inAllocation(slurm, "77", environment));
  expect(bound.stderr).toBe("");
  expect(bound.stdout).toMatch(/^allocation-end +\d{4}-\d\d-\d\d .* +allocation 77 \(SLURM_JOB_END_TIME\)$/m);
});
