import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { attemptsOnFile, counting, me, newProject, QUICK, readRecord, until } from "./stint.ts";

test("run carries a job over several attempts to its end, then says so and runs nothing", async () => {
  const project = newProject();
  const first = await project.stint(["run", ...counting("sim", 60)]);
  expect(first.status, first.stderr).toBe(0);
  expect(first.stdout).toContain("60/60");
  expect(first.stdout).toContain("sim: finished");
  expect(first.stdout).toContain(project.jobFolder("sim"));
  // No terminal: no colours and no moving line.
  expect(first.stdout + first.stderr).not.toMatch(/[\x1b\r]/);
  const attempts = attemptsOnFile(project, "sim");
  expect(attempts.length).toBeGreaterThanOrEqual(2);
  expect(readFileSync(join(project.folder, "sim.txt"), "utf8").trim()).toBe("60");
  const { stdout } = await project.stint(["logs", "sim"]);
  const steps = [...stdout.matchAll(/^step (\d+)$/gm)].map((match) => Number(match[1]));
  expect(steps).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));

  const second = await project.stint(["run", ...counting("sim", 60)]);
  expect(second.status).toBe(0);
  expect(second.stdout).toContain("nothing was started");
  expect(second.stdout).toContain("finished");
  expect(attemptsOnFile(project, "sim")).toEqual(attempts);

  // The checkpoint is at the total: another job on it has nothing to do, and nothing is made.
  const other = await project.stint([
    "submit",
    ...counting("other", 60).map((word) => (word === "other.txt" ? "sim.txt" : word)),
  ]);
  expect(other.status).toBe(0);
  expect(other.stdout).toContain("nothing to do");
  expect(existsSync(project.jobFolder("other"))).toBe(false);
  const again = await project.stint(["submit", "--again", ...counting("sim", 60)]);
  expect(again.status).toBe(0);
  expect(again.stdout).toContain("nothing to do");
});

test("the first Ctrl-C drains and leaves with 75; resume finishes the job", async () => {
  const project = newProject();
  const running = project.start(["run", ...counting("sim", 40, ["--limit", "60s", "--margin", "2s"])]);
  await running.shows("attempt 1 runs");
  await until(() => existsSync(join(project.folder, "sim.txt")), "a first save");
  running.child.kill("SIGINT");
  const ended = await running.ended;
  expect(ended.stderr).toContain("draining sim");
  expect(ended.status).toBe(75);
  const { job } = await project.json(["status", "sim"]);
  expect(job).toMatchObject({ state: "over", decision: "stop", reason: "drained", attempts: 1 });
  const again = await project.stint(["run", ...counting("sim", 40, ["--limit", "60s", "--margin", "2s"])]);
  expect(again.status).toBe(75);
  expect(again.stdout).toContain("stint resume");

  expect((await project.stint(["resume", "sim"])).status).toBe(0);
  const waited = await project.stint(["wait", "sim"]);
  expect(waited.status, waited.stdout).toBe(0);
  expect((await project.json(["status", "sim"])).job).toMatchObject({ state: "over", decision: "finish", attempts: 2 });
});

test("the second Ctrl-C cancels: it leaves with 130 when nothing runs any more", async () => {
  const project = newProject();
  writeFileSync(
    join(project.folder, "deaf.sh"),
    "trap '' TERM\necho $$ >pid.new && mv pid.new pid\nwhile :; do sleep 0.1; done\n",
  );
  const options = [...QUICK, "--name", "deaf", "--limit", "60s", "--margin", "30s"];
  const running = project.start(["run", ...options, "--", "bash", "deaf.sh"]);
  const pidFile = join(project.folder, "pid");
  await until(() => existsSync(pidFile), "the application");
  running.child.kill("SIGINT");
  await running.shows("draining");
  running.child.kill("SIGINT");
  const ended = await running.ended;
  expect(ended.status, ended.stderr).toBe(130);
  expect(existsSync(`/proc/${readFileSync(pidFile, "utf8").trim()}`)).toBe(false);
  expect((await project.json(["status", "deaf"])).job).toMatchObject({ state: "over", decision: "stop" });
});

test("a lost terminal detaches: the chain goes on by itself", async () => {
  const project = newProject();
  const running = project.start(["run", ...counting("sim", 60)]);
  await running.shows("attempt 1 runs");
  running.child.kill("SIGHUP");
  expect((await running.ended).status).toBe(75);
  expect((await project.stint(["wait", "sim"])).status).toBe(0);
});

test("a command that fails at once is held, with what to do", async () => {
  const project = newProject();
  // Far from the window's end no successor is made ready, however busy the machine is.
  const command = [...QUICK, "--limit", "60s", "--name", "bad", "--", "sh", "-c", "echo oh no >&2; exit 3"];
  const ran = await project.stint(["run", ...command]);
  expect(ran.status).toBe(1);
  expect(ran.stdout).toContain("held");
  expect(ran.stdout).toContain("stint resume");
  expect((await project.stint(["logs", "bad"])).stderr).toContain("oh no");
  const cancelled = await project.stint(["cancel", "bad"]);
  expect(cancelled).toMatchObject({ status: 0 });
  expect(cancelled.stdout).toContain("bad: it is held, nothing of it runs; nothing was cancelled");
  const again = await project.stint(["submit", ...command]);
  expect(again.status).toBe(1);
  expect(again.stdout).toContain("stint resume");
  expect(attemptsOnFile(project, "bad")).toEqual(["0001"]);
  // status itself is only alarmed by what is stranded.
  expect((await project.stint(["status"])).status).toBe(0);
});

test("a command that is not there: the advice names it, and logs say why nothing was written", async () => {
  const project = newProject();
  const ran = await project.stint(["run", ...QUICK, "--name", "gone", "--", "./gone", "--fast"]);
  expect(ran.status).toBe(1);
  expect(ran.stdout).toContain("when the command can be started (./gone --fast): stint resume gone;");
  expect(ran.stdout).toContain("stint submit --again --name gone");
  const logs = await project.stint(["logs", "gone"]);
  expect(logs.stderr).toMatch(/attempt 1: its application could not be started: .*\.\/gone/);
  expect(logs.stderr).not.toContain("nothing was written");
  // A shell that does not find it says so itself.
  writeFileSync(join(project.folder, "shell.yaml"), "command: ./gone --fast\n");
  const shell = await project.stint(["run", ...QUICK, "shell.yaml"]);
  expect(shell.stdout).toContain("when the command can be started (./gone --fast): stint resume shell;");
});

test("the same name with another command is refused, --again makes a new job", async () => {
  const project = newProject();
  const job = (word: string, more: readonly string[] = []) => [...QUICK, ...more, "--name", "echo", "--", "echo", word];
  expect((await project.stint(["run", "--quiet", ...job("one")])).status).toBe(0);
  const other = await project.stint(["submit", ...job("two")]);
  expect(other.status).toBe(2);
  expect(other.stderr).toContain("echo one");
  expect(other.stderr).toContain("--again");
  expect((await project.stint(["run", "--quiet", ...job("two", ["--again"])])).status).toBe(0);
  const { jobs = [] } = await project.json(["status"]);
  expect(jobs.map((one) => one.job).sort()).toEqual([`/${me}/echo`, `/${me}/echo.2`]);
  expect((await project.stint(["logs", "echo.2"])).stdout).toContain("two");
});

test("cancel returns only when nothing runs any more; resume goes on with changed settings", async () => {
  const project = newProject();
  expect((await project.stint(["submit", ...counting("sim", 60, ["--limit", "60s"])])).status).toBe(0);
  const body = await until(
    () => readRecord<{ body: { pid: number } }>(project, "sim", "0001", "started.json")?.body.pid,
    "the body of attempt 1",
  );
  const before = (await project.json(["status", "sim"])).job;
  const cancelled = await project.stint(["cancel", "sim"]);
  expect(cancelled.status, cancelled.stderr).toBe(0);
  expect(cancelled.stdout).toContain("nothing of it runs any more");
  await until(() => !existsSync(`/proc/${body}`), "the end of the runner");
  const resumed = await project.stint(["resume", "sim", "--limit", "30s"]);
  expect(resumed.status, resumed.stderr).toBe(0);
  const { spec, origins } = await project.json(["status", "sim", "--spec"]);
  expect(spec?.limitMs).toBe(30_000);
  expect(origins?.limit).toBe("flag --limit");
  // A second revision of its settings is no second submit.
  expect((await project.json(["status", "sim"])).job?.submittedAtMs).toBe(before?.submittedAtMs);
  expect((await project.stint(["wait", "sim", "--timeout", "60s"])).status).toBe(0);
  // Over is over: neither a second cancel nor a resume changes it.
  expect((await project.stint(["cancel", "sim"])).stdout).toContain("over already");
  expect((await project.stint(["resume", "sim"])).stdout).toContain("finished");
});

test("drain --wait saves and stops; rm is refused before the end and frees the checkpoint after it", async () => {
  const project = newProject();
  await project.stint(["submit", ...counting("sim", 400, ["--limit", "60s"])]);
  await until(() => existsSync(join(project.folder, "sim.txt")), "a first save");
  const early = await project.stint(["rm", "sim"]);
  expect(early.status).toBe(75);
  expect(early.stderr).toContain("stint cancel sim");
  const drained = await project.stint(["drain", "sim", "--wait"]);
  expect(drained.status, drained.stderr).toBe(0);
  expect((await project.json(["status", "sim"])).attempts?.[0]?.verdict).toBe("checkpointed");
  expect((await project.stint(["cancel", "sim"])).stdout).toContain(
    "sim: it is drained, nothing of it runs; nothing was cancelled",
  );
  // It waits for nothing any more.
  const { job } = await project.json(["status", "sim"]);
  expect((await project.json(["status", "sim"])).job).toEqual(job);
  expect((await project.stint(["rm", "sim"])).status).toBe(0);
  expect(existsSync(project.jobFolder("sim"))).toBe(false);
  expect(existsSync(join(project.folder, "sim.txt"))).toBe(true);
  expect((await project.stint(["status", "sim"])).status).toBe(3);
});

test("logs -f follows from attempt to attempt and ends with the chain", async () => {
  const project = newProject();
  await project.stint(["submit", ...counting("sim", 60, ["--output", "all.log"])]);
  const followed = await project.stint(["logs", "-f", "sim"]);
  expect(followed.status).toBe(0);
  const steps = [...followed.stdout.matchAll(/^step (\d+)$/gm)].map((match) => Number(match[1]));
  expect(steps).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
  expect(followed.stdout).toContain("==> attempt 1 <==");
  expect(followed.stdout).toContain("==> attempt 2 <==");
  const second = await project.stint(["logs", "sim", "--attempt", "2"]);
  expect(second.stdout).toContain("attempt 2 of");
  expect(second.stdout).not.toContain("attempt 1 of");
  expect((await project.stint(["logs", "sim", "--attempt", "99"])).status).toBe(3);
});
