/** What `status` says of jobs in a queue, and how often it asks, with Slurm's commands as scripts that answer from files. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { slurmCommands } from "./slurm-commands.ts";
import { type Answer, newProject as emptyProject, type TestProject } from "./stint.ts";

const folders: string[] = [];

function newProject(): TestProject {
  const project = emptyProject();
  folders.push(project.folder);
  return project;
}

// Nothing of these jobs ever runs, and with the scripts gone nobody could cancel them. Runs before the cleanup of stint.ts.
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(join(folder, ".stint"), { recursive: true, force: true });
});

const ON_SLURM = ["--scheduler", "slurm", "--ahead", "1", "--timing-poll", "0.2s"];

async function submitted(project: TestProject, env: Readonly<Record<string, string>>, ...names: readonly string[]) {
  for (const name of names) {
    const ran = await project.stint(["submit", "--quiet", ...ON_SLURM, "--name", name, "--", "true"], { env });
    expect(ran.status, ran.stderr).toBe(0);
  }
}

/** As stint.json, in the environment that has these commands. */
async function statusOf(project: TestProject, env: Readonly<Record<string, string>>, ...more: readonly string[]) {
  const ran = await project.stint(["status", "--json", ...more], { env });
  return { ...ran, answer: JSON.parse(ran.stdout) as Answer & { readonly stale?: readonly { stintFolder: string }[] } };
}

/** As squeue prints it with TZ=UTC. */
const printed = (atMs: number): string => new Date(atMs).toISOString().slice(0, 19);

test("a job that will never start says so in words, first in the list, with what to do", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  const env = { PATH: slurm.path };
  await submitted(project, env, "stuck");
  slurm.reason("PartitionTimeLimit");
  await submitted(project, env, "next");
  const { status, stdout } = await project.stint(["status", "stuck"], { env });
  expect(status).toBe(0);
  expect(stdout).toContain(
    "waiting: attempt 1 is queued and will never start (PartitionTimeLimit): its limit of 30:00 is above what partition main allows",
  );
  expect(stdout).toMatch(/^next +a shorter --limit, or another --partition .*: stint resume stuck OPTIONS$/m);
  expect(stdout).toMatch(/^in the queue +job 1 in partition main, for \d/m);
  const { answer } = await statusOf(project, env);
  // The newest comes first otherwise.
  expect(answer.jobs?.map(({ job }) => job.split("/").at(-1))).toEqual(["stuck", "next"]);
  expect(answer.jobs?.[0]).toMatchObject({ queue: { code: "PartitionTimeLimit", chance: "will-never-start" } });
});

test("one that only needs time says when it is expected", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  const env = { PATH: slurm.path };
  await submitted(project, env, "sim");
  const atMs = Math.ceil(Date.now() / 1000) * 1000 + 3_600_000;
  slurm.reason("Priority", printed(atMs));
  const { stdout } = await project.stint(["status", "sim"], { env });
  expect(stdout).toContain("attempt 1 is queued (Priority): jobs of higher priority are before it in partition main\n");
  expect(stdout).toMatch(/^starts +about \d{4}-/m);
  expect(stdout).not.toMatch(/^next /m);
  expect((await statusOf(project, env, "sim")).answer.job).toMatchObject({
    queue: { expectedStartAtMs: atMs, sinceMs: Date.parse("2026-11-30T20:08:10Z") },
  });
});

test("one squeue for any number of chains; none at all with --no-ask", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  const env = { PATH: slurm.path };
  await submitted(project, env, "a", "b", "c");
  const before = { squeue: slurm.calls("squeue"), sacct: slurm.calls("sacct") };
  expect((await statusOf(project, env)).answer.jobs).toHaveLength(3);
  expect(slurm.calls("squeue") - before.squeue).toBe(1);
  expect(slurm.calls("sacct") - before.sacct).toBe(0);
  const asked = slurm.calls("squeue") + slurm.calls("scontrol");
  const quiet = await project.stint(["status", "--no-ask"], { env });
  expect(quiet.status).toBe(0);
  expect(quiet.stdout.match(/attempt 1 is on file; the scheduler was not asked/g)).toHaveLength(3);
  expect(quiet.stderr).toBe("");
  expect(slurm.calls("squeue") + slurm.calls("scontrol")).toBe(asked);
  // The chains that nobody moves are looked at twice, and asked for once.
  slurm.state("CANCELLED");
  const lost = await statusOf(project, env);
  expect(lost.status).toBe(1);
  expect(lost.answer.jobs?.map(({ state }) => state)).toEqual(["stranded", "stranded", "stranded"]);
  expect(slurm.calls("squeue") - before.squeue).toBe(2);
  expect(slurm.calls("sacct") - before.sacct).toBe(1);
});

test("a controller that is silent is said once, and what is on file is shown", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  const env = { PATH: slurm.path };
  await submitted(project, env, "a", "b");
  slurm.silent(true);
  const { status, stdout, stderr } = await project.stint(["status"], { env });
  expect(status).toBe(0);
  expect(stdout).toMatch(/^[ab] +waiting +1 .*the scheduler can't be asked/m);
  expect(stderr.trim().split("\n")).toEqual([
    expect.stringMatching(/^Slurm cannot be asked \(.*connect failure.*\): this is what is on file$/),
  ]);
});

test("--everywhere: all projects in one table with one question, stranded first; what is not there is named", async () => {
  const state = mkdtempSync(join(tmpdir(), "stint-known-"));
  onTestFinished(() => rmSync(state, { recursive: true }));
  const [one, two, gone] = [newProject(), newProject(), newProject()];
  const slurm = slurmCommands(one.folder);
  const env = { PATH: slurm.path, XDG_STATE_HOME: state };
  await submitted(one, env, "first");
  slurm.state("CANCELLED");
  await submitted(two, env, "second");
  await submitted(gone, env, "third");
  // One small file each, made once.
  const files = readdirSync(join(state, "stint", "projects"));
  expect(files).toHaveLength(3);
  rmSync(join(gone.folder, ".stint"), { recursive: true });
  const asked = slurm.calls("squeue");
  const { status, answer, stderr } = await statusOf(two, env, "--everywhere");
  expect(status).toBe(1);
  expect(answer.jobs?.map(({ job, state: now }) => [job.split("/").at(-1), now])).toEqual([
    ["first", "stranded"],
    ["second", "waiting"],
  ]);
  expect(slurm.calls("squeue") - asked).toBe(1);
  expect(answer.stale?.map(({ stintFolder }) => stintFolder)).toEqual([join(gone.folder, ".stint")]);
  expect(stderr).toContain(`not there (now): ${join(gone.folder, ".stint")}; if it is gone for good: rm `);
  const table = await two.stint(["status", "--everywhere"], { env });
  expect(table.stdout).toMatch(/^JOB +PROJECT +STATE/);
  expect(table.stdout).toMatch(new RegExp(`^first +${one.folder} +stranded`, "m"));
  // Nothing was thrown away: the project may only be away.
  expect(readdirSync(join(state, "stint", "projects"))).toEqual(files);
});

test("--everywhere knows the project of the current folder, whatever the list holds", async () => {
  const state = mkdtempSync(join(tmpdir(), "stint-known-"));
  onTestFinished(() => rmSync(state, { recursive: true }));
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  const env = { PATH: slurm.path, XDG_STATE_HOME: state };
  await submitted(project, env, "sim");
  const list = join(state, "stint", "projects");
  for (const name of readdirSync(list)) rmSync(join(list, name));
  writeFileSync(join(list, "0123456789abcdef"), "not/absolute\n");
  writeFileSync(join(list, "0123456789abcde0"), "");
  writeFileSync(join(list, "README"), "/tmp\n");
  mkdirSync(join(list, "folder"));
  const { answer } = await statusOf(project, env, "--everywhere");
  expect(answer.jobs).toHaveLength(1);
  expect(answer.stale).toEqual([]);
});

test("a home that cannot be written keeps no job from being submitted", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  const file = join(project.folder, "no-folder");
  writeFileSync(file, "");
  await submitted(project, { PATH: slurm.path, XDG_STATE_HOME: file }, "sim");
  expect(existsSync(project.jobFolder("sim"))).toBe(true);
  expect(readFileSync(file, "utf8")).toBe("");
});
