/** A local chain inside an allocation of Slurm: over before the allocation is, and resumed in another one. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type SlurmCommands, slurmCommands } from "./slurm-commands.ts";
import { attemptsOnFile, newProject, readRecord, type TestProject, until } from "./stint.ts";

interface Started {
  readonly limitEndAtMs: number | null;
  readonly allocation: { readonly cpus: number };
}

interface WithSpec {
  readonly spec: { readonly allocationEndAtMs: number | null };
  readonly origins: Readonly<Record<string, string>>;
}

const TOTAL = 240;
/** Nothing in it names a scheduler: inside an allocation it is `local`. */
const SETTINGS = [
  ...["--limit", "5s", "--margin", "1.5s", "--kill-wait", "1s", "--sample-interval", "0.2s", "--name", "sim"],
  ...["--checkpoint", "sim.txt", "--total", String(TOTAL), "--env", "STEP_SEC=0.05", "--env", "CHECKPOINT_EVERY=5"],
];
const JOB = [...SETTINGS, "--", "bash", "count.sh"];
/** It does not come to its end in the time of a test, and says which allocation it is told of. */
const LONG = [
  ...[...SETTINGS, "--limit", "5m", "--total", "9999"],
  ...["--", "bash", "-c", 'echo "told of $SLURM_JOB_ID."; exec bash count.sh'],
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
  const endAtMs = secondsFromNow(16);
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
  // No successor was claimed of which it was sure that it would be taken back.
  expect(attemptsOnFile(project, "sim").at(-1)).toBe(last);
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
  const waited = await project.stint(["wait", "sim", "--timeout", "60s"]);
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
      "the end of allocation 77 is not known, so unless one is on file nothing bounds the job: squeue: Unable to contact slurm controller",
    ),
  ]);
  expect(unbound.stdout).not.toContain("allocation-end");
  const endAtMs = secondsFromNow(3_600);
  const environment = { SLURM_JOB_END_TIME: String(endAtMs / 1_000) };
  const bound = await project.stint(["submit", "--dry-run", ...JOB], inAllocation(slurm, "77", environment));
  expect(bound.stderr).toBe("");
  expect(bound.stdout).toMatch(/^allocation-end +\d{4}-\d\d-\d\d .* +allocation 77 \(SLURM_JOB_END_TIME\)$/m);
});

function revisions(project: TestProject): readonly string[] {
  return readdirSync(join(project.jobFolder("sim"), "spec"));
}

async function untilSaid(project: TestProject, text: string, times: number): Promise<void> {
  for (let said = 0; said < times; ) {
    const { stdout } = await project.stint(["logs", "sim"]);
    said = stdout.split(text).length - 1;
  }
}

test("a resume while the controller is silent keeps the end of the same allocation; in another one srun is told of none", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  const endAtMs = secondsFromNow(600);
  slurm.allocation("77", endAtMs);
  expect((await project.stint(["submit", ...LONG], inAllocation(slurm, "77"))).status).toBe(0);
  await untilSaid(project, "told of 77.", 1);
  expect((await project.stint(["drain", "sim", "--wait"])).status).toBe(0);

  slurm.silent(true);
  const resumed = await project.stint(["resume", "sim"], inAllocation(slurm, "77"));
  expect(resumed.status, resumed.stderr).toBe(0);
  expect(resumed.stderr).toContain("the end of allocation 77 is not known, so the one on file stands: squeue: Unable");
  expect(resumed.stdout).toMatch(/^sim: goes on$/m);
  expect((await specOf(project)).spec.allocationEndAtMs).toBe(endAtMs);
  expect(revisions(project)).toEqual(["0001.json"]);
  await untilSaid(project, "told of 77.", 2);
  expect((await project.stint(["drain", "sim", "--wait"])).status).toBe(0);

  slurm.silent(false);
  slurm.allocation("78", secondsFromNow(600));
  const other = await project.stint(["resume", "sim"], inAllocation(slurm, "78"));
  expect(other.status, other.stderr).toBe(0);
  await untilSaid(project, "told of .", 1);
});

test("typed again for a stranded chain: where too little is left nothing is made, and else it goes on", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  const endAtMs = secondsFromNow(600);
  slurm.allocation("77", endAtMs);
  expect((await project.stint(["submit", ...LONG], inAllocation(slurm, "77"))).status).toBe(0);
  await untilSaid(project, "told of 77.", 1);
  endAttempt(project, "0001");
  const { jobs } = await project.json(["status"]);
  expect(jobs?.[0]?.state).toBe("stranded");

  slurm.allocation("78", secondsFromNow(5));
  const refused = await project.stint(["submit", ...LONG], inAllocation(slurm, "78"));
  expect(refused.status).toBe(75);
  expect(refused.stderr).toContain("sim is not started: the allocation ends at ");
  expect(revisions(project)).toEqual(["0001.json"]);

  slurm.silent(true);
  const again = await project.stint(["submit", ...LONG], inAllocation(slurm, "77"));
  expect(again.status, again.stderr).toBe(0);
  expect(again.stdout).toContain("goes on with sim");
  expect((await specOf(project)).spec.allocationEndAtMs).toBe(endAtMs);
  expect(revisions(project)).toEqual(["0001.json"]);
});

/** As a machine that loses its power ends an attempt: nobody says a last word. */
function endAttempt(project: TestProject, attempt: string): void {
  const shepherd = Number(readRecord<{ readonly id: string }>(project, "sim", attempt, "submitted.json")?.id);
  const body = readRecord<{ readonly body: { readonly pid: number } }>(project, "sim", attempt, "started.json")?.body;
  const application = readRecord<{ readonly process: { readonly pid: number } }>(
    project,
    "sim",
    attempt,
    "application.json",
  )?.process;
  for (const pid of [shepherd, body?.pid, -(application?.pid ?? Number.NaN)])
    process.kill(pid ?? Number.NaN, "SIGKILL");
}

test("a successor that is still queued is claimed anew in another allocation, whose end it is told", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  slurm.allocation("77", secondsFromNow(600));
  const submitted = await project.stint(["submit", "--ahead", "1", ...LONG], inAllocation(slurm, "77"));
  expect(submitted.status, submitted.stderr).toBe(0);
  await until(() => readRecord(project, "sim", "0002", "submitted.json"), "a queued successor");
  const body = readRecord<{ readonly body: { readonly pid: number } }>(project, "sim", "0001", "started.json")?.body;
  // Nobody but the resume looks at the wishes meanwhile.
  process.kill(body?.pid ?? Number.NaN, "SIGSTOP");
  // A drain whose command died before it took anything back.
  const stops = join(project.jobFolder("sim"), "stops");
  mkdirSync(stops, { recursive: true });
  const drain = { version: 1, nonce: "n", atMs: Date.now(), kind: "drain", by: "tester" };
  writeFileSync(join(stops, "0001.json"), JSON.stringify(drain));

  const endAtMs = secondsFromNow(900);
  slurm.allocation("78", endAtMs);
  const resumed = await project.stint(["resume", "sim"], inAllocation(slurm, "78"));
  process.kill(body?.pid ?? Number.NaN, "SIGCONT");
  expect(resumed.status, resumed.stderr).toBe(0);
  expect(resumed.stdout).toContain("sim: goes on with allocation changed");
  expect(readRecord(project, "sim", "0001", "exited.json")).toBeNull();
  expect(readRecord(project, "sim", "0002", "go.json")).toMatchObject({ what: "withdrawn", reason: "spec-changed" });
  const next = await until(
    () => readRecord<{ readonly id: string }>(project, "sim", "0003", "submitted.json"),
    "a new one",
  );
  const environment = readFileSync(`/proc/${next.id}/environ`, "utf8").split("\0");
  expect(environment).toContain(`STINT_LOCAL_ALLOCATION_END_MS=${endAtMs}`);
});

test("a stranded job of Slurm's own that is typed again inside an allocation is not bound to it", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  slurm.refuse("sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (MaxSubmitJobsPerUser)");
  const words = [
    "--limit",
    "10m",
    "--name",
    "sim",
    "--timing-unclear",
    "1s",
    "--timing-poll",
    "0.1s",
    "--",
    "sleep",
    "60",
  ];
  const submit = project.start(["submit", "--scheduler", "slurm", ...words], { env: { PATH: slurm.path } });
  await submit.shows("MaxSubmitJobsPerUser");
  submit.child.kill("SIGKILL");
  await submit.ended;
  slurm.refuse(null);
  slurm.allocation("77", secondsFromNow(600));
  const again = await project.stint(["submit", ...words], inAllocation(slurm, "77"));
  expect(again.status, again.stderr).toBe(0);
  expect(again.stdout).toContain("goes on with sim");
  expect((await specOf(project)).spec).toMatchObject({ scheduler: "slurm", allocationEndAtMs: null });
  expect(revisions(project)).toEqual(["0001.json"]);
  // Nothing of it was ever started, and no scheduler but ours knows of it.
  rmSync(join(project.folder, ".stint"), { recursive: true });
});
