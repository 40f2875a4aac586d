/** Several tasks in one job, on this machine, as a user has them. */
import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { slurmCommands } from "./slurm-commands.ts";
import { me, newProject, QUICK, type TestProject, until } from "./stint.ts";

/** Writes when it begins and ends, with what it was told; the checkpoint says that it is done. TERM: saved, more to do. */
const APP = `
trap 'echo 1 >"$CKPT_PATH"; exit 99' TERM
echo "begin $STINT_TASK_INDEX $EPOCHREALTIME $$" >>events.txt
echo "task $STINT_TASK_INDEX of $STINT_TASK_COUNT, $*, $WORD, array \${SLURM_ARRAY_TASK_ID:-none} of \${SLURM_ARRAY_TASK_COUNT:-none}"
while [ -e gate ]; do sleep 0.05 & wait $!; done
for ((i = 0; i < \${STEPS:-8}; i++)); do sleep 0.05 & wait $!; done
echo 2 >"$CKPT_PATH"
echo "end $STINT_TASK_INDEX $EPOCHREALTIME $$" >>events.txt
`;

const COMMAND = ["--", "bash", "app.sh", "seed-{task}"] as const;

function tasksOf(project: TestProject, name: string): readonly string[] {
  const folder = join(project.jobFolder(name), "tasks");
  return existsSync(folder) ? readdirSync(folder) : [];
}

function prepare(): TestProject {
  const project = newProject();
  writeFileSync(join(project.folder, "app.sh"), APP);
  return project;
}

function submitting(name: string, more: readonly string[]): readonly string[] {
  const checkpoint = ["--checkpoint", `${name}-{task}.txt`, "--total", "2", "--env", "WORD={{task}}/{task}"];
  return [...QUICK, "--limit", "60s", "--name", name, ...checkpoint, ...more, ...COMMAND];
}

interface Event {
  readonly what: string;
  readonly task: number;
  readonly at: number;
  readonly pid: number;
}

function events(project: TestProject): readonly Event[] {
  const path = join(project.folder, "events.txt");
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.map((line) => {
    const [what = "", task, at, pid] = line.split(" ");
    return { what, task: Number(task), at: Number(at), pid: Number(pid) };
  });
}

/** The most applications that were at work at one time. */
function mostAtWork(all: readonly Event[]): number {
  let now = 0;
  let most = 0;
  for (const { what } of all.toSorted((a, b) => a.at - b.at)) {
    now += what === "begin" ? 1 : -1;
    most = Math.max(most, now);
  }
  return most;
}

interface Tasks {
  readonly job: { readonly state: string; readonly reason: string; readonly tasks: Readonly<Record<string, number>> };
  readonly tasks: readonly { readonly task: number; readonly state: string; readonly reason: string | null }[];
}

async function look(project: TestProject, name: string): Promise<Tasks> {
  return JSON.parse((await project.stint(["status", name, "--json"])).stdout) as Tasks;
}

test("five tasks, two at a time: each once, never three, and nobody but themselves begins the next", async () => {
  const project = prepare();
  // The first two stay at work until all has been looked at.
  writeFileSync(join(project.folder, "gate"), "");
  const submitted = await project.stint(["submit", ...submitting("five", ["--tasks", "5", "--parallel", "2"])]);
  expect(submitted).toMatchObject({ status: 0, stdout: expect.stringContaining("submitted five\n") });
  // Those that wait have no process, no attempt, and nothing in any queue.
  const first = await look(project, "five");
  expect(first.job.tasks).toMatchObject({ total: 5, stranded: 0, held: 0 });
  expect(first.tasks.at(-1)).toMatchObject({ task: 4, state: "waiting", reason: "waits for a slot: 2 at a time" });
  expect(tasksOf(project, "five").length).toBeLessThan(5);
  expect((await project.stint(["status", "five/4"])).stdout).toContain("waits for a slot");

  rmSync(join(project.folder, "gate"));
  await until(() => events(project).filter(({ what }) => what === "end").length === 5, "all five have ended", 60_000);
  expect(await project.stint(["wait", "five"])).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("five: finished (5 attempts"),
  });
  const all = events(project);
  expect(
    all
      .filter(({ what }) => what === "begin")
      .map(({ task }) => task)
      .toSorted(),
  ).toEqual([0, 1, 2, 3, 4]);
  expect(mostAtWork(all)).toBe(2);

  expect((await project.stint(["status"])).stdout).toMatch(/^five +over .* finished$/m);
  const table = (await project.stint(["status", "five"])).stdout;
  expect([...table.matchAll(/^(\d) +over +1 +2\/2 .* finished$/gm)].map(([, task]) => Number(task))).toEqual([
    0, 1, 2, 3, 4,
  ]);
  // What each was told: the index in its words and variables, the braces as they stand.
  expect((await project.stint(["logs", "five/3"])).stdout).toContain(
    "task 3 of 5, seed-3, {task}/3, array none of none\n",
  );
  expect(await project.stint(["logs", "five"])).toMatchObject({
    status: 2,
    stderr: "stint: which task? stint logs five/0; the tasks of five are 0-4\n",
  });
  expect(await project.stint(["status", "five/5"])).toMatchObject({
    status: 3,
    stderr: "stint: the tasks of five are 0-4; there is no task 5\n",
  });
  expect((await project.stint(["rm", "five"])).status).toBe(0);
  expect(existsSync(project.jobFolder("five"))).toBe(false);
});

test("an array has sbatch's indices and variables, also here, and `run` follows it to its end", async () => {
  const project = prepare();
  const args = submitting("array", ["--array", "3-9:3%2", "--output", "out-%a.txt"]);
  const ran = await project.stint(["run", ...args]);
  expect(ran.status, ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(/^9 +over +1 /m);
  const out = readFileSync(join(project.folder, "out-6.txt"), "utf8");
  expect(out).toBe("task 6 of 3, seed-6, {task}/6, array 6 of 3\n");
  // The same again is the same job; another array is another one.
  expect((await project.stint(["submit", ...args])).stdout).toContain("array is there already");
  const other = await project.stint(["submit", ...submitting("array", ["--array", "1-2"])]);
  expect(other).toMatchObject({ status: 2, stderr: expect.stringContaining("array 3-9:3 on file, array 1,2 now") });
});

test("tasks that would share a checkpoint are refused in one line, and nothing is made", async () => {
  const project = prepare();
  const one = await project.stint([
    "submit",
    ...QUICK,
    "--name",
    "one",
    "--tasks",
    "3",
    "--checkpoint",
    "s.txt",
    ...COMMAND,
  ]);
  expect(one.status).toBe(2);
  expect(one.stderr).toBe(
    "stint: all tasks would have one checkpoint, s.txt (flag --checkpoint): write {task} into its path, as in state-{task}.txt\n",
  );
  symlinkSync("s-0.txt", join(project.folder, "s-2.txt"));
  const link = await project.stint([
    "submit",
    ...QUICK,
    "--name",
    "one",
    "--tasks",
    "3",
    "--checkpoint",
    "s-{task}.txt",
    ...COMMAND,
  ]);
  expect(link).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^stint: tasks 0 and 2 would have one checkpoint, \/.*\/s-0\.txt\n$/),
  });
  for (const [args, why] of [
    [["--tasks", "0"], "at least 1"],
    [["--tasks", "10001"], "at most 10000"],
    [["--parallel", "2"], "needs several tasks"],
    [["--tasks", "2", "--array", "1-2"], "exclude each other"],
    [["--array", "1-3%0"], "behind % stands"],
    [["--tasks", "2", "--cwd", "run-{task}"], "there is no folder"],
  ] as const)
    expect(await project.stint(["submit", ...QUICK, ...args, ...COMMAND])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(why),
    });
  expect(existsSync(join(project.folder, ".stint"))).toBe(false);
});

test("a stop counts for all tasks, those that wait never begin; resumed, they go on in their order", async () => {
  const project = prepare();
  // None comes to its end before the last resume.
  writeFileSync(join(project.folder, "gate"), "");
  await project.stint(["submit", ...submitting("stop", ["--tasks", "4", "--parallel", "2"])]);
  await until(() => events(project).length >= 2, "two have begun");
  const drained = await project.stint(["drain", "stop", "--wait"]);
  expect(drained).toMatchObject({ status: 0, stdout: expect.stringContaining("stop: drained (4 stopped)") });
  expect(
    events(project)
      .map(({ task }) => task)
      .toSorted(),
  ).toEqual([0, 1]);
  expect((await look(project, "stop")).tasks.map(({ state, reason }) => `${state} ${reason}`)).toEqual(
    Array.from({ length: 4 }, () => "over drained"),
  );
  expect((await project.stint(["wait", "stop"])).status).toBe(75);

  // One task alone goes on; then it alone is cancelled.
  expect((await project.stint(["resume", "stop/3"])).status).toBe(0);
  await until(() => events(project).some(({ task }) => task === 3), "the last one has begun");
  expect((await look(project, "stop")).job.tasks).toMatchObject({ running: 1, stopped: 3 });
  expect((await project.stint(["cancel", "stop", "--task", "3"])).status).toBe(0);
  expect((await project.stint(["status", "stop/3"])).stdout).toContain("over: cancelled");

  rmSync(join(project.folder, "gate"));
  expect((await project.stint(["resume", "stop"])).status).toBe(0);
  const ended = await project.stint(["wait", "stop"]);
  expect(ended.status, ended.stdout).toBe(0);
  const began = events(project).filter(({ what }) => what === "begin");
  expect(began.map(({ task }) => task).toSorted()).toEqual([0, 0, 1, 1, 2, 3, 3]);
});

test("a resume while all tasks, or one, are still about to stop: the drain does not stay in force", async () => {
  const project = prepare();
  // Told to stop, each says so and takes its time.
  const slow = `trap 'echo told >>told.txt; while [ -e saving ]; do sleep 0.05; done; echo 1 >"$CKPT_PATH"; exit 99' TERM`;
  writeFileSync(join(project.folder, "app.sh"), APP.replace(/^trap .*$/m, slow));
  const told = (): number =>
    existsSync(join(project.folder, "told.txt"))
      ? readFileSync(join(project.folder, "told.txt"), "utf8").trimEnd().split("\n").length
      : 0;
  for (const name of ["saving", "gate"]) writeFileSync(join(project.folder, name), "");
  const words = ["--tasks", "2", "--parallel", "2", "--margin", "30s", "--kill-wait", "30s"];
  await project.stint(["submit", ...submitting("both", words)]);
  await until(() => events(project).length === 2, "both have begun");
  for (const [target, sum] of [
    ["both/1", 1],
    ["both", 2],
  ] as const) {
    await project.stint(["drain", target]);
    await until(() => told() === sum, `${sum} were told to stop`);
    expect(await project.stint(["resume", "both"])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^both: goes on$/m),
    });
  }
  for (const name of ["saving", "gate"]) rmSync(join(project.folder, name));
  const ended = await project.stint(["wait", "both", "--timeout", "60s"]);
  expect(ended, ended.stdout).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("both: finished (4 attempts"),
  });
});

test("the log of one task is followed to its end, whatever the records of the others look like", async () => {
  const project = prepare();
  writeFileSync(join(project.folder, "app.sh"), `${APP}echo "the end of $STINT_TASK_INDEX"\n`);
  writeFileSync(join(project.folder, "gate"), "");
  await project.stint(["submit", ...submitting("log", ["--tasks", "2", "--parallel", "2"])]);
  await until(() => events(project).length === 2, "both have begun");
  const following = project.start(["logs", "log/1", "--follow"]);
  await following.shows("task 1 of 2");
  // What reads all tasks cannot say how the job stands.
  const claim = join(project.jobFolder("log"), "tasks/0/attempts/0001/claim.json");
  const text = readFileSync(claim, "utf8");
  writeFileSync(claim, "{");
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  writeFileSync(claim, text);
  rmSync(join(project.folder, "gate"));
  expect((await following.ended).stdout).toContain("the end of 1");
});

test("a damaged record of one task keeps the others from nothing that a person says: they stop", async () => {
  const project = prepare();
  writeFileSync(join(project.folder, "gate"), "");
  expect((await project.stint(["submit", ...submitting("hurt", ["--tasks", "3", "--parallel", "2"])])).status).toBe(0);
  await until(() => events(project).length === 2, "two at work");
  const claim = join(project.jobFolder("hurt"), "tasks/2/attempts/0001");
  mkdirSync(claim, { recursive: true });
  writeFileSync(join(claim, "claim.json"), '{"version":1,');
  const cancelled = await project.stint(["cancel", "hurt"]);
  expect(cancelled.status).toBe(1);
  expect(cancelled.stderr).toMatch(
    /claim\.json is damaged.*; the cancel is on file, and what runs ends when it sees it/,
  );
  const exited = (task: number) => join(project.jobFolder("hurt"), `tasks/${task}/attempts/0001/exited.json`);
  await until(() => [0, 1].every((task) => existsSync(exited(task))), "the end of both");
});

test("a task that fails is held, the others go on, and the job is not finished", async () => {
  const project = prepare();
  writeFileSync(join(project.folder, "app.sh"), `[ "$STINT_TASK_INDEX" != 1 ] || [ -e mended ] || exit 3\n${APP}`);
  await project.stint(["submit", ...submitting("mixed", ["--tasks", "3", "--parallel", "1"])]);
  const waited = await project.stint(["wait", "mixed"]);
  expect(waited).toMatchObject({ status: 1, stdout: expect.stringContaining("mixed: held: 1 held, 2 finished") });
  expect((await project.stint(["status", "mixed/1"])).stdout).toContain("→ hold");
  writeFileSync(join(project.folder, "mended"), "");
  expect((await project.stint(["resume", "mixed"])).status).toBe(0);
  expect((await project.stint(["wait", "mixed"])).status).toBe(0);
  expect(mostAtWork(events(project))).toBe(1);
});

/** Its first attempt: shepherd, runner, and the applications that have said that they began. */
function killFirstTask(project: TestProject, name: string, begun: readonly Event[]): void {
  const attempt = join(project.jobFolder(name), "tasks/0/attempts/0001");
  const started = JSON.parse(readFileSync(join(attempt, "started.json"), "utf8")) as {
    readonly body: { readonly pid: number };
    readonly guardian: { readonly pid: number };
  };
  for (const pid of [started.guardian.pid, started.body.pid, ...begun.map((event) => event.pid)])
    process.kill(pid, "SIGKILL");
}

test("all processes of the running task killed: the job is stranded, first in the list, and resume mends it", async () => {
  const project = prepare();
  await project.stint(["submit", ...submitting("killed", ["--tasks", "2", "--parallel", "1", "--env", "STEPS=200"])]);
  await until(() => events(project).length >= 1, "the first has begun");
  killFirstTask(project, "killed", events(project));
  await until(async () => (await look(project, "killed")).job.state === "stranded", "nobody moves it");
  const list = await project.stint(["status"]);
  expect(list).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/^killed +stranded .*1 stranded, 1 waiting → stint resume killed$/m),
  });
  writeFileSync(join(project.folder, "killed-0.txt"), "2\n");
  expect((await project.stint(["resume", "--all"])).status).toBe(0);
  expect((await project.stint(["wait", "killed", "--timeout", "60s"])).status).toBe(0);
});

test("all processes of one of two running tasks killed: it is stranded, and the other one is no reason to say nothing", async () => {
  const project = prepare();
  await project.stint(["submit", ...submitting("one", ["--tasks", "3", "--parallel", "2", "--env", "STEPS=600"])]);
  await until(() => events(project).length >= 2, "two have begun");
  const own = events(project).filter(({ task }) => task === 0);
  killFirstTask(project, "one", own);
  await until(async () => (await look(project, "one")).tasks[0]?.state === "stranded", "nobody moves it");
  expect((await look(project, "one")).job).toMatchObject({
    state: "stranded",
    reason: "1 stranded, 1 running, 1 waiting",
  });
  const resumed = await project.stint(["resume", "one"]);
  expect(resumed.status, resumed.stderr).toBe(0);
  await until(() => events(project).filter(({ task }) => task === 0).length === 2, "it goes on");
  expect((await project.stint(["cancel", "one"])).status).toBe(0);
});

test("nobody has begun the next task: stranded, and of 32 that mend it at once each task is begun once", async () => {
  const project = prepare();
  const args = submitting("gap", ["--array", "1-6", "--parallel", "3"]);
  await project.stint(["run", "--quiet", ...args]);
  // As if whoever ended the first three had died before beginning any other: what is left of them has gone home.
  for (let task = 1; task <= 6; task++)
    await until(() => !isThere(shepherdOf(project, "gap", task)), "its shepherd is gone");
  for (const task of [4, 5, 6]) {
    rmSync(join(project.jobFolder("gap"), "tasks", String(task)), { recursive: true });
    rmSync(join(project.folder, `gap-${task}.txt`));
  }
  rmSync(join(project.folder, "events.txt"));
  const status = await project.stint(["status", "gap"]);
  expect(status.status).toBe(1);
  expect(
    [...status.stdout.matchAll(/^(\d) +stranded .*nobody has begun it → stint resume gap\/\d$/gm)].map(
      ([, task]) => task,
    ),
  ).toEqual(["4", "5", "6"]);

  const driver = join(project.folder, "driver.mjs");
  const bundle = { bundle: true, platform: "node", format: "esm", logLevel: "error" } as const;
  await build({ ...bundle, entryPoints: [new URL("driver.ts", import.meta.url).pathname], outfile: driver });
  const meeting = join(project.folder, "meeting");
  mkdirSync(meeting);
  const words = [driver, join(project.folder, ".stint"), `/${me}/gap`, meeting, "32", "job"];
  const ends = await Promise.all(Array.from({ length: 32 }, () => endOf(words)));
  expect(ends).toEqual(ends.map(() => 0));
  expect((await project.stint(["wait", "gap"])).status).toBe(0);
  const began = events(project).filter(({ what }) => what === "begin");
  expect(began.map(({ task }) => task).toSorted()).toEqual([4, 5, 6]);
  expect(mostAtWork(events(project))).toBeLessThanOrEqual(3);
});

function shepherdOf(project: TestProject, name: string, task: number): number {
  const path = join(project.jobFolder(name), "tasks", String(task), "attempts/0001/local.json");
  return (JSON.parse(readFileSync(path, "utf8")) as { readonly shepherd: { readonly pid: number } }).shepherd.pid;
}

function isThere(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}

test("a scheduler that takes no more: what it has taken stays, the rest is not lost, and no claim is left behind", async () => {
  const project = prepare();
  const slurm = slurmCommands(project.folder);
  const options = { env: { PATH: slurm.path } };
  slurm.refuse("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed", 4);
  const words = ["--scheduler", "slurm", "--limit", "10m", "--margin", "1m", "--name", "much", "--ahead", "0"];
  const submitted = await project.stint(["submit", ...words, "--tasks", "6", "--", "bash", "app.sh"], options);
  expect(submitted.status, submitted.stderr).toBe(0);
  expect(submitted.stderr).toContain(
    "3 tasks are on their way; the scheduler does not take the other 3 now (sbatch: QOSMax",
  );
  // Nothing runs yet that could do it.
  expect(submitted.stderr).toContain(
    "): the first that runs hands them over later, or at once with: stint resume much",
  );
  expect(submitted.stderr).not.toContain("the running ones");
  const { stdout } = await project.stint(["status", "much"], options);
  expect(stdout).toMatch(/^state +waiting: 6 waiting$/m);
  expect([...stdout.matchAll(/^\d +waiting .*is taken on by the other tasks of the job$/gm)]).toHaveLength(3);
  expect(existsSync(join(project.jobFolder("much"), "tasks/3/attempts/0001/go.json"))).toBe(true);

  slurm.refuse(null);
  expect(await project.stint(["resume", "much"], options)).toMatchObject({ status: 0 });
  expect((await project.stint(["status", "much"], options)).stdout).not.toContain("is taken on");
  const jobs = readdirSync(join(project.folder, "slurm-bin/jobs"));
  expect(jobs).toHaveLength(6);
  expect((await project.stint(["cancel", "much"], options)).stdout).toContain("much: cancelled (6 stopped)");
});

test("no clear answer to one of the tasks: what is queued and what is not is said, and that nothing runs yet", async () => {
  const project = prepare();
  const slurm = slurmCommands(project.folder);
  slurm.refuse("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", 3);
  const words = [...SLURM, "--name", "unclear", "--tasks", "5", "--", "bash", "app.sh"];
  const submitted = await project.stint(["submit", ...words], { env: { PATH: slurm.path } });
  expect(submitted.status, submitted.stderr).toBe(0);
  expect(submitted.stderr).toContain(
    "2 tasks are on their way; the scheduler gave no clear answer for the next one, so the other 3 are not handed over yet: the first that runs hands them over later, or at once with: stint resume unclear",
  );
});

test("a stop of many queued tasks asks and cancels as often as a stop of few", async () => {
  const calls: Record<string, number>[] = [];
  for (const count of [3, 12]) {
    const project = prepare();
    const slurm = slurmCommands(project.folder);
    const options = { env: { PATH: slurm.path } };
    await project.stint(
      ["submit", ...SLURM, "--name", "many", "--tasks", String(count), "--", "bash", "app.sh"],
      options,
    );
    const programs = ["scancel", "squeue", "sacct", "scontrol"] as const;
    const before = programs.map((program) => slurm.calls(program));
    expect((await project.stint(["cancel", "many"], options)).stdout).toContain(`many: cancelled (${count} stopped)`);
    calls.push(Object.fromEntries(programs.map((program, at) => [program, slurm.calls(program) - (before[at] ?? 0)])));
  }
  expect(calls[1]).toEqual(calls[0]);
  // One look before anything is done, one after the cancel.
  expect(calls[1]).toEqual({ scancel: 1, squeue: 2, sacct: 1, scontrol: 1 });
});

const SLURM = ["--scheduler", "slurm", "--limit", "10m", "--margin", "1m", "--ahead", "0"];

test("changed settings while the scheduler takes nothing: what was queued is cancelled at once, and all of it queued again", async () => {
  const project = prepare();
  const slurm = slurmCommands(project.folder);
  const options = { env: { PATH: slurm.path } };
  const jobs = (): number => readdirSync(join(project.folder, "slurm-bin/jobs")).length;
  const words = [...SLURM, "--name", "again", "--tasks", "4", "--", "bash", "app.sh"];
  await project.stint(["submit", ...words], options);
  expect(jobs()).toBe(4);
  slurm.refuse("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed");
  const resuming = project.start(["resume", "again", "--limit", "20m"], options);
  await resuming.shows("waiting: sbatch: QOSMaxSubmitJobPerUserLimit");
  expect(readdirSync(join(project.folder, "slurm-bin/states"))).toEqual(["1", "2", "3", "4"]);
  expect(slurm.calls("scancel")).toBe(1);
  // Two are taken, then it says "not now" once more.
  slurm.refuse("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed", 7);
  await until(() => jobs() === 6, "two are queued again");
  slurm.refuse(null);
  expect(await resuming.ended).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^again: goes on by itself already with limit changed$/m),
  });
  expect(jobs()).toBe(8);
  expect((await project.stint(["status", "again"], options)).stdout).toMatch(/^state +waiting: 4 waiting$/m);

  // A lasting no: how many are left, and what to do.
  slurm.refuse("sbatch: error: Batch job submission failed: Invalid partition name specified", 10);
  const refused = await project.stint(["resume", "again", "--limit", "30m"], options);
  expect(refused).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(
      "3 of the 4 tasks of again that were queued are taken back and not queued again: sbatch: ",
    ),
  });
  expect(refused.stderr).toContain("correct it with: stint resume again --partition");
  slurm.refuse(null);
  expect((await project.stint(["resume", "again"], options)).status).toBe(0);
  expect((await project.stint(["status", "again"], options)).stdout).toMatch(/^state +waiting: 4 waiting$/m);
});

test("two stranded tasks are driven beside each other, and an error of one does not keep the other from going on", async () => {
  const project = prepare();
  const slurm = slurmCommands(project.folder);
  const options = { env: { PATH: slurm.path, STINT_DEBUG: "1" } };
  const jobs = join(project.folder, "slurm-bin/jobs");
  const words = [...SLURM, "--name", "gone", "--tasks", "2", "--timing-doubtful-twice", "1s", "--timing-poll", "1s"];
  await project.stint(["submit", ...words, "--", "bash", "app.sh"], options);
  // The controller has lost its jobs: each must be seen absent twice, some time apart.
  for (const job of readdirSync(jobs)) renameSync(join(jobs, job), join(jobs, `900${job}`));
  expect((await project.stint(["status", "gone"], options)).stdout).toMatch(/^state +stranded: 2 stranded$/m);
  // Nothing can be claimed for the first.
  writeFileSync(join(project.jobFolder("gone"), "tasks/0/attempts/0002"), "");
  const { status, stderr } = await project.stint(["resume", "gone"], options);
  expect(status, stderr).toBe(1);
  expect(stderr).toMatch(/^stint: 1 of 2 tasks do not go on: gone\/0: .*0002/m);
  const lines = stderr.split("\n");
  const waits = lines.flatMap((line, at) => (line.includes("unknown to the scheduler: looking twice") ? [at] : []));
  expect(waits).toHaveLength(2);
  expect(Math.max(...waits)).toBeLessThan(lines.findIndex((line) => line.includes("attempt 1 withdrawn")));
  expect(readdirSync(jobs)).toHaveLength(3);
  expect(existsSync(join(project.jobFolder("gone"), "tasks/1/attempts/0002/submitted.json"))).toBe(true);
});

function endOf(words: readonly string[]): Promise<number | null> {
  return new Promise((resolve) => {
    spawn(process.execPath, words, { stdio: ["ignore", "ignore", "inherit"] }).on("close", resolve);
  });
}
