/** What happens when several processes, jobs, folders, users and versions meet. */
import { chownSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { attemptsOnFile, counting, me, newProject, QUICK, readRecord, until } from "./stint.ts";

interface Pids {
  readonly body: { readonly pid: number };
  readonly guardian: { readonly pid: number } | null;
}

test("submit typed six times at once gives one chain", async () => {
  const project = newProject();
  const all = await Promise.all(Array.from({ length: 6 }, () => project.stint(["submit", ...counting("sim", 20)])));
  for (const { status, stderr } of all) expect(status, stderr).toBe(0);
  expect(all.filter(({ stdout }) => stdout.startsWith("submitted"))).toHaveLength(1);
  expect((await project.stint(["wait", "sim"])).status).toBe(0);
  expect(readdirSync(join(project.jobFolder("sim"), "spec"))).toEqual(["0001.json"]);
  const { stdout } = await project.stint(["logs", "sim"]);
  const steps = [...stdout.matchAll(/^step (\d+)$/gm)].map((match) => Number(match[1]));
  expect(steps).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
});

test("two jobs on one checkpoint: the second is refused until the first is over", async () => {
  const project = newProject();
  const on = (name: string) =>
    counting(name, 400, ["--limit", "60s"]).map((word) => (word.endsWith(".txt") ? "one.txt" : word));
  expect((await project.stint(["submit", ...on("first")])).status).toBe(0);
  const refused = await project.stint(["submit", ...on("second")]);
  expect(refused.status).toBe(5);
  expect(refused.stderr).toContain("belongs to task first/0");
  expect(refused.stderr).toContain("stint cancel first,");
  expect(refused.stderr).toContain(project.jobFolder("first"));
  expect(existsSync(project.jobFolder("second"))).toBe(false);
  // Whatever name it is reached by.
  mkdirSync(join(project.folder, "sub"));
  const byOtherName = await project.stint([
    "submit",
    ...on("third").map((word) => (word === "one.txt" ? "sub/../one.txt" : word)),
  ]);
  expect(byOtherName.status).toBe(5);
  expect((await project.stint(["cancel", "first"])).status).toBe(0);
  expect((await project.stint(["submit", ...on("second")])).status).toBe(0);
  // Now the first one is the other.
  expect((await project.stint(["resume", "first"])).status).toBe(5);
});

test("a copied job folder is refused while the original lives, and taken over on a person's word when it is gone", async () => {
  const project = newProject();
  await project.stint(["submit", ...counting("sim", 400, ["--limit", "60s"])]);
  await until(() => existsSync(join(project.folder, "sim.txt")), "a first save");
  const copy = join(project.folder, "copy");
  cpSync(join(project.folder, ".stint"), join(copy, ".stint"), { recursive: true });
  for (const more of [[], ["--take-checkpoint"]]) {
    const resumed = await project.stint(["resume", "sim", ...more], { cwd: copy });
    expect(resumed.status, resumed.stdout).toBe(5);
    expect(resumed.stderr).toContain(project.jobFolder("sim"));
  }
  expect((await project.stint(["cancel", "sim"], { cwd: copy })).status).toBe(5);
  expect((await project.json(["status", "sim"])).job?.state).toBe("running");
  expect((await project.stint(["cancel", "sim"])).status).toBe(0);

  rmSync(join(project.folder, ".stint"), { recursive: true });
  expect((await project.stint(["resume", "sim"], { cwd: copy })).status).toBe(5);
  const taken = await project.stint(["resume", "sim", "--take-checkpoint"], { cwd: copy });
  expect(taken.status, taken.stderr).toBe(0);
  expect((await project.stint(["cancel", "sim"], { cwd: copy })).status).toBe(0);
});

test("a checkpoint whose owner's folder is gone is taken over only on a person's word", async () => {
  const project = newProject();
  const command = counting("sim", 400, ["--limit", "60s"]);
  await project.stint(["submit", ...command]);
  await until(() => existsSync(join(project.folder, "sim.txt")), "a first save");
  expect((await project.stint(["drain", "sim", "--wait"])).status).toBe(0);
  rmSync(join(project.folder, ".stint"), { recursive: true });
  const refused = await project.stint(["submit", ...command]);
  expect(refused.status).toBe(5);
  expect(refused.stderr).toContain("--take-checkpoint");
  expect((await project.stint(["submit", "--take-checkpoint", ...command])).status).toBe(0);
});

test("runner and shepherd killed: stranded, first in status with 1, mended by resume --all", async () => {
  const project = newProject();
  await project.stint(["run", "--quiet", ...QUICK, "--name", "done", "--", "true"]);
  await project.stint(["submit", ...counting("sim", 200, ["--limit", "60s"])]);
  await until(() => existsSync(join(project.folder, "sim.txt")), "a first save");
  const pids = await until(() => readRecord<Pids>(project, "sim", "0001", "started.json"), "the body");
  for (const pid of [pids.guardian?.pid, pids.body.pid]) if (pid !== undefined) process.kill(pid, "SIGKILL");
  const status = await project.stint(["status"]);
  expect(status.status, status.stdout).toBe(1);
  expect(status.stdout.split("\n")[1]).toMatch(/^sim +stranded/);
  const mended = await project.stint(["resume", "--all"]);
  expect(mended.status, mended.stderr).toBe(0);
  expect(mended.stdout).toContain("sim: goes on");
  expect((await project.stint(["wait", "sim"])).status).toBe(0);
  expect(attemptsOnFile(project, "sim").length).toBeGreaterThanOrEqual(2);
});

test("what an attempt ran that nobody can testify for is its last sample, called a lower bound", async () => {
  const project = newProject();
  const program = "if [ $STINT_ATTEMPT = 1 ]; then sleep 60; fi";
  await project.stint(["submit", ...QUICK, "--limit", "60s", "--name", "sim", "--", "bash", "-c", program]);
  const samples = join(project.jobFolder("sim"), "tasks/0/attempts/0001/samples.csv");
  await until(() => existsSync(samples) && readFileSync(samples, "utf8").split("\n").length > 5, "five samples");
  const pids = await until(() => readRecord<Pids>(project, "sim", "0001", "started.json"), "the body");
  for (const pid of [pids.guardian?.pid, pids.body.pid]) if (pid !== undefined) process.kill(pid, "SIGKILL");
  const [, elapsed] = readFileSync(samples, "utf8").trimEnd().split("\n").at(-1)?.split(",") ?? [];
  expect((await project.stint(["resume", "sim"])).status).toBe(0);
  expect((await project.stint(["wait", "sim"])).status).toBe(0);
  expect(readRecord(project, "sim", "0001", "settled.json")).toMatchObject({
    evidence: { ranMs: Number(elapsed), ranIsLowerBound: true },
    carry: { ranMs: Number(elapsed), ranIsLowerBound: true },
  });
  expect(readRecord<{ evidence: object }>(project, "sim", "0002", "settled.json")?.evidence).not.toHaveProperty(
    "ranIsLowerBound",
  );
  const { stdout } = await project.stint(["status", "sim", "--attempts"]);
  expect(stdout).toMatch(/^ran +≥ \d/m);
  expect(stdout).toMatch(/^waited +≤ \d/m);
  expect(stdout).toMatch(/^1 +node-failed .* ≥ \d/m);
  expect(stdout).not.toMatch(/^2 +completed .* ≥ \S+s .*exit/m);
});

test("records of a newer version: one clear line, the others are unaffected, nothing is touched", async () => {
  const project = newProject();
  for (const name of ["old", "new"]) await project.stint(["run", "--quiet", ...QUICK, "--name", name, "--", "true"]);
  const shepherd = readRecord<Pids>(project, "new", "0001", "started.json")?.guardian?.pid;
  await until(() => !existsSync(`/proc/${shepherd}`), "the end of the shepherd, which reads the records too");
  const settled = join(project.jobFolder("new"), "tasks/0/attempts/0001/settled.json");
  const newer = `${JSON.stringify({ ...JSON.parse(readFileSync(settled, "utf8")), version: 99 })}\n`;
  writeFileSync(settled, newer);
  const { jobs = [] } = await project.json(["status"]);
  expect(jobs.find(({ job }) => job === `/${me}/new`)).toMatchObject({ state: "unreadable" });
  expect(jobs.find(({ job }) => job === `/${me}/new`)?.reason).toContain("newer stint (record version 99");
  expect(jobs.find(({ job }) => job === `/${me}/old`)).toMatchObject({ state: "over", decision: "finish" });
  for (const command of ["status", "resume", "cancel", "rm"]) {
    const { status, stderr } = await project.stint([command, "new"]);
    expect(status, command).toBe(1);
    expect(stderr, command).toContain("written by a newer stint");
    expect(stderr.trim().split("\n"), command).toHaveLength(1);
  }
  expect(readFileSync(settled, "utf8")).toBe(newer);
});

test("a record that somebody has edited makes its own job unreadable, and no other", async () => {
  const project = newProject();
  for (const name of ["old", "edited"]) await project.stint(["run", "--quiet", ...QUICK, "--name", name, "--", "true"]);
  const settled = join(project.jobFolder("edited"), "tasks/0/attempts/0001/settled.json");
  writeFileSync(settled, readFileSync(settled, "utf8").replaceAll(/"(\w+Ms)":\d+/g, '"$1":"zz"'));
  const table = await project.stint(["status"]);
  expect(table.stdout).toMatch(/^edited +unreadable/m);
  expect(table.stdout).toMatch(/^old +over/m);
  expect(table.stderr).toBe("");
});

test("foreign files anywhere in the job folder change nothing", async () => {
  const project = newProject();
  await project.stint(["run", "--quiet", ...QUICK, "--name", "sim", "--", "true"]);
  const folder = project.jobFolder("sim");
  const jobs = join(project.folder, ".stint", "jobs");
  writeFileSync(join(jobs, "README"), "not a user");
  writeFileSync(join(jobs, me, "notes.txt"), "not a job");
  mkdirSync(join(jobs, me, "empty"));
  writeFileSync(join(folder, "tasks/0/attempts/.nfs0000001"), "");
  writeFileSync(join(folder, "tasks/0/attempts/backup.json"), "{");
  mkdirSync(join(folder, "tasks/0/attempts/0002.old"));
  writeFileSync(join(folder, "spec/.tmp-host-1-2"), "half");
  writeFileSync(join(folder, "spec/0001.json~"), "an editor's");
  const { jobs: rows = [] } = await project.json(["status"]);
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({ state: "over", decision: "finish", attempts: 1 });
});

test("a checkpoint that cannot be used is refused before anything is made", async () => {
  const project = newProject();
  writeFileSync(join(project.folder, "sim.txt"), "12 apples\n");
  const words = await project.stint(["submit", ...counting("sim", 20)]);
  expect(words.status).toBe(2);
  expect(words.stderr).toContain("12 apples");
  const nowhere = await project.stint([
    "submit",
    ...QUICK,
    "--checkpoint",
    "no/such/state.txt",
    "--total",
    "5",
    "--",
    "true",
  ]);
  expect(nowhere.status).toBe(2);
  expect(nowhere.stderr).toContain("no/such");
  expect((await project.stint(["status"])).stdout).toContain("no jobs here yet");
});

test("another user's job may be looked at and not be changed", async ({ skip }) => {
  skip(process.getuid?.() !== 0, "only root can give a folder to another user");
  const project = newProject();
  await project.stint(["submit", ...counting("sim", 400, ["--limit", "60s"])]);
  chownSync(project.jobFolder("sim"), 12345, 12345);
  try {
    expect((await project.stint(["status", "sim"])).status).toBe(0);
    for (const command of ["cancel", "drain", "resume", "rm"]) {
      const { status, stderr } = await project.stint([command, "sim"]);
      expect(status, command).toBe(5);
      expect(stderr, command).toContain("belongs to uid 12345");
    }
    expect(readdirSync(project.jobFolder("sim"))).not.toContain("stops");
  } finally {
    chownSync(project.jobFolder("sim"), process.getuid?.() ?? 0, process.getgid?.() ?? 0);
  }
});

test("submit killed at any moment: typing the same again gives one chain", async () => {
  const project = newProject();
  const begunAt = Date.now();
  expect((await project.stint(["submit", ...counting("whole", 10)])).status).toBe(0);
  const lastsMs = Date.now() - begunAt;
  const rounds = 6;
  const round = async (index: number): Promise<void> => {
    const name = `cut-${"abcdef"[index]}`;
    const running = project.start(["submit", ...counting(name, 10)]);
    const timer = setTimeout(() => running.child.kill("SIGKILL"), lastsMs * (0.3 + (0.7 * index) / (rounds - 1)));
    await running.ended;
    clearTimeout(timer);
    const again = await project.stint(["submit", ...counting(name, 10)]);
    expect(again.status, again.stderr).toBe(0);
    expect((await project.stint(["wait", name])).status, name).toBe(0);
    const { stdout } = await project.stint(["logs", name]);
    const steps = [...stdout.matchAll(/^step (\d+)$/gm)].map((match) => Number(match[1]));
    expect(steps, name).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  };
  for (let index = 0; index < rounds; index += 2) await Promise.all([round(index), round(index + 1)]);
});
