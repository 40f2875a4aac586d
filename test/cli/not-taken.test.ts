/** A scheduler that does not take what it is given, or that cannot tell what became of it. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { chainStatus, prepareJob, requireProject, resumeJob, StintError, submitJob } from "../../src/chain/index.ts";
import { jobPlace } from "../../src/journal/index.ts";
import { type SlurmCommands, slurmCommands } from "./slurm-commands.ts";
import { attemptsOnFile, me, newProject, readRecord, type TestProject } from "./stint.ts";

const NOT_NOW = "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (MaxSubmitJobsPerUser)";
const NEVER = "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified";
const SETTINGS = [
  "--scheduler",
  "slurm",
  "--limit",
  "10m",
  "--name",
  "sim",
  "--timing-unclear",
  "1s",
  "--timing-poll",
  "0.1s",
];
const COMMAND = ["--", "sleep", "60"];

const ownPath = process.env.PATH;
const stands: TestProject[] = [];

afterEach(() => {
  process.env.PATH = ownPath;
  // Nothing of it was ever started, and no scheduler but ours knows of it.
  for (const { folder } of stands.splice(0)) rmSync(join(folder, ".stint"), { recursive: true, force: true });
});

interface Stand {
  readonly project: TestProject;
  readonly slurm: SlurmCommands;
  readonly stint: TestProject["stint"];
  readonly submit: (patienceMs: number) => Promise<Awaited<ReturnType<typeof submitJob>> | StintError>;
}

function stand(): Stand {
  const project = newProject();
  stands.push(project);
  const slurm = slurmCommands(project.folder);
  // For the operations that are called here, which need a patience that the command line does not offer.
  process.env.PATH = slurm.path;
  const where = { cwd: project.folder, environment: { ...process.env } };
  return {
    project,
    slurm,
    stint: (args) => project.stint(args, { env: { PATH: slurm.path } }),
    async submit(patienceMs) {
      const prepared = await prepareJob({ ...where, args: [...SETTINGS, ...COMMAND], options: [] });
      return submitJob({ ...where, ...prepared, patienceMs }).catch(stintError);
    },
  };
}

function stintError(error: unknown): StintError {
  if (error instanceof StintError) return error;
  throw error;
}

/** As if the claim of attempt 1 had been made on another host, that long ago. */
function claimedElsewhere(project: TestProject, agoMs: number): void {
  const path = join(project.jobFolder("sim"), "tasks/0/attempts/0001/claim.json");
  const claim = JSON.parse(readFileSync(path, "utf8"));
  const by = { ...claim.by, host: "node7", machineId: "another" };
  writeFileSync(path, JSON.stringify({ ...claim, by, atMs: Date.now() - agoMs }));
}

test("a submit that the scheduler never took is no success, and typing it again goes on", async () => {
  const { slurm, submit, project } = stand();
  slurm.refuse(NOT_NOW);
  expect(await submit(200)).toMatchObject({
    code: "not-finished",
    exitStatus: 75,
    message: expect.stringContaining("MaxSubmitJobsPerUser"),
    hint: expect.stringContaining("stint resume sim"),
  });
  expect(readRecord(project, "sim", "0001", "submitted.json")).toBeNull();

  slurm.refuse(null);
  const place = jobPlace(join(project.folder, ".stint"), `/${me}/sim`);
  const found = requireProject({ cwd: project.folder, environment: {} });
  expect(await resumeJob(found, place, { patienceMs: 20_000 })).toMatchObject({ kind: "resumed" });
  expect(readRecord(project, "sim", "0001", "submitted.json")).toMatchObject({ ref: "slurm/c/1" });
});

test("a submit while the controller gives no answer ends as not reachable", async () => {
  const { slurm, submit } = stand();
  slurm.silent(true);
  expect(await submit(200)).toMatchObject({ code: "unreachable", exitStatus: 4 });
});

test("a resume while the controller gives no answer ends as not reachable, with a job that was handed over and without", async () => {
  const { slurm, submit, project } = stand();
  const place = jobPlace(join(project.folder, ".stint"), `/${me}/sim`);
  const found = () => requireProject({ cwd: project.folder, environment: {} });
  const resume = () => resumeJob(found(), place, { unreachableMs: 200 }).catch(stintError);
  slurm.silent(true);
  await submit(200);
  expect(await resume()).toMatchObject({
    exitStatus: 4,
    message: expect.stringMatching(/sim is not on its way, the scheduler cannot be asked: .*connect failure/),
  });
  slurm.silent(false);
  expect(await resume()).toMatchObject({ kind: "resumed" });
  begunElsewhere(project);
  slurm.silent(true);
  // The controller's last answer is kept for a moment.
  while ((await chainStatus(found(), place)).state === "running");
  expect(await resume()).toMatchObject({
    exitStatus: 4,
    message: expect.stringMatching(/sim does not go on yet, slurm cannot be asked: .*connect failure/),
    hint: "what was asked for is on file; when it answers again: stint resume sim",
  });
});

test("a claim by another host that went no further is stranded, and a resume moves it on", async () => {
  const { slurm, submit, stint, project } = stand();
  slurm.refuse(NOT_NOW);
  await submit(200);
  slurm.refuse(null);
  // Dated a little ahead, for a machine that is slow to look.
  claimedElsewhere(project, -900);
  const young = await stint(["status", "sim"]);
  expect(young.stdout).toContain("attempt 1 is being submitted on node7");

  claimedElsewhere(project, 60_000);
  const old = await stint(["status", "sim"]);
  expect(old.status).toBe(1);
  expect(old.stdout).toContain("attempt 1 was claimed on node7 and never submitted");
  const resumed = await stint(["resume", "--all"]);
  expect(resumed.status, resumed.stdout + resumed.stderr).toBe(0);
  expect(resumed.stdout).toContain("sim: goes on");
  expect(readRecord(project, "sim", "0001", "go.json")).toMatchObject({ what: "withdrawn", reason: "orphaned-claim" });
  expect(readRecord(project, "sim", "0002", "submitted.json")).toMatchObject({ ref: "slurm/c/1" });
});

test("refused, resumed and refused again: submitted with other words it is another job, not the one on file", async () => {
  const { slurm, stint, project } = stand();
  slurm.refuse(NEVER);
  expect((await stint(["submit", ...SETTINGS, "--account", "nobodys", ...COMMAND])).status).toBe(1);
  const resumed = await stint(["resume", "sim"]);
  expect(resumed.status).toBe(1);
  expect(resumed.stderr).toContain("or submit it again, corrected, under the same name");
  expect((await project.json(["status", "sim"])).job).toMatchObject({ state: "over" });
  slurm.refuse(null);
  const again = await stint(["submit", ...SETTINGS, ...COMMAND]);
  expect(again.status, again.stderr).toBe(0);
  expect(JSON.parse((await stint(["status", "sim", "--spec", "--json"])).stdout).spec.slurm.account).toBeNull();
});

test("a lasting no to a successor leaves the attempt that was taken alone", async () => {
  const { slurm, stint, project } = stand();
  slurm.refuse(NEVER, 2);
  const { status, stdout, stderr } = await stint(["submit", ...SETTINGS, "--ahead", "2", ...COMMAND]);
  expect(status, stderr).toBe(0);
  expect(stdout).toContain("submitted sim");
  expect(stderr).toContain("attempt 2 is not queued behind attempt 1");
  expect(stderr).toContain("Invalid account");
  expect(attemptsOnFile(project, "sim")).toEqual(["0001", "0002"]);
  expect(readRecord(project, "sim", "0001", "go.json")).toBeNull();
});

test("a lasting no to the first attempt is an error", async () => {
  const { slurm, stint } = stand();
  slurm.refuse(NEVER);
  const { status, stderr } = await stint(["submit", ...SETTINGS, "--ahead", "2", ...COMMAND]);
  expect(status).toBe(1);
  expect(stderr).toContain("the scheduler refuses sim");
});

test("cancel does not say that nothing runs of an attempt whose end nobody can prove", async () => {
  const { slurm, stint, project } = stand();
  expect((await stint(["submit", ...SETTINGS, ...COMMAND])).status).toBe(0);
  begunElsewhere(project);
  slurm.state("FAILED");
  for (const [command, ...more] of [["cancel"], ["drain", "--wait"], ["drain"]] as const) {
    const { status, stdout } = await stint([command ?? "", "sim", ...more]);
    expect(stdout).toContain("cannot be proved from here");
    expect(stdout).not.toMatch(/cancelled|drained/);
    expect(stdout).toContain("stint resume sim --over 1");
    expect(status).toBe(75);
  }
  const word = await stint(["resume", "sim", "--over", "1"]);
  expect(word.status, word.stderr).toBe(0);
});

/** The records of a body that began on another host, where processes are not tracked, and was never heard of again. */
function begunElsewhere(project: TestProject): void {
  const folder = join(project.jobFolder("sim"), "tasks/0/attempts/0001");
  const { by } = JSON.parse(readFileSync(join(folder, "claim.json"), "utf8"));
  const created = { version: 1, nonce: "n", atMs: Date.now() };
  const started = {
    ...created,
    body: { ...by, host: "node7", machineId: "another" },
    guardian: null,
    scheduler: "slurm",
    ref: "slurm/c/1",
    restartCount: 0,
    cgroup: null,
    tracking: "other",
    nodes: ["node7"],
    limitEndAtMs: null,
    windowEndAtMs: null,
    allocation: {},
    outputOffsetBytes: { stdout: 0, stderr: 0 },
  };
  const go = { ...created, what: "start", provedBy: 0, proofs: [], progressBefore: { state: "not-configured" } };
  writeFileSync(join(folder, "started.json"), JSON.stringify(started));
  writeFileSync(join(folder, "go.json"), JSON.stringify(go));
}
