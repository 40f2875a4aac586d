/** What `stint run` does when its person or its terminal goes away at a bad moment. */
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { CLI, counting, newProject, until } from "./stint.ts";

/** A terminal whose other end is closed when a text has come; says how the program on it ended. */
const LOSE_TERMINAL = `
import os, pty, sys
pid, master = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
seen = b""
while sys.argv[1].encode() not in seen:
    seen += os.read(master, 4096)
os.close(master)
_, status = os.waitpid(pid, 0)
print("signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "exit %d" % os.WEXITSTATUS(status))
`;

test("a terminal that is closed ends run by SIGHUP, as a shell expects, and the chain goes on", async ({ skip }) => {
  skip(spawnSync("python3", ["-c", "import pty"]).status !== 0, "no python3 here to open a terminal with");
  const project = newProject();
  const run = [process.execPath, CLI, "run", ...counting("sim", 60)];
  const { stdout } = await promisify(execFile)("python3", ["-c", LOSE_TERMINAL, "attempt 1", ...run], {
    cwd: project.folder,
  });
  expect(stdout.trim()).toBe("signal 1");
  expect((await project.stint(["wait", "sim"])).status).toBe(0);
});

test("Ctrl-C before anything is submitted: 130, and nothing is made", async () => {
  const project = newProject();
  // The specification comes out of a pipe, so that the command can be caught while it reads.
  const pipe = join(project.folder, "slow.yaml");
  execFileSync("mkfifo", [pipe]);
  const running = project.start(["run", "slow.yaml", "--scheduler", "local"]);
  const writer = await open(pipe, "w");
  running.child.kill("SIGINT");
  await writer.write("name: sim\ncommand: 'true'\n");
  await writer.close();
  const ended = await running.ended;
  expect(ended.status, ended.stderr).toBe(130);
  expect(ended.stderr).toContain("nothing was submitted");
  expect(existsSync(join(project.folder, ".stint"))).toBe(false);
});

test("Ctrl-C while the job is being submitted drains it: 75, and nothing of it runs", async () => {
  const project = newProject();
  const running = project.start(["run", ...counting("sim", 400, ["--limit", "60s", "--margin", "2s"])]);
  await until(() => existsSync(join(project.jobFolder("sim"), "home.json")), "the job folder");
  running.child.kill("SIGINT");
  const ended = await running.ended;
  expect(ended.status, ended.stderr).toBe(75);
  expect(ended.stderr).toContain("draining sim");
  expect((await project.json(["status", "sim"])).job).toMatchObject({ state: "over", reason: "drained" });
});

/** Slurm's commands as they are when its controller has gone away after the first job; each call leaves a line. */
const NO_CONTROLLER: Readonly<Record<string, string>> = {
  sbatch: "echo 7",
  scontrol: 'case "$*" in *config*) echo "ClusterName = gone";; *) exit 1;; esac',
  squeue: "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1",
  sacct: "exit 1",
  scancel: "echo 'scancel: error: Unable to contact slurm controller (connect failure)' >&2; exit 1",
};

test("a scheduler that cannot be reached is asked no more often than timing.poll, whoever waits", async () => {
  const project = newProject();
  const bin = join(project.folder, "bin");
  mkdirSync(bin);
  const calls = join(project.folder, "calls");
  for (const [name, script] of Object.entries(NO_CONTROLLER))
    writeFileSync(join(bin, name), `#!/bin/sh\necho ${name} >>'${calls}'\n${script}\n`, { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const submit = [
    "submit",
    "--scheduler",
    "slurm",
    "--name",
    "sim",
    "--ahead",
    "0",
    "--timing-poll",
    "1s",
    "--",
    "true",
  ];
  const submitted = await project.stint(submit, { env });
  expect(submitted.status, submitted.stderr).toBe(0);
  expect(submitted.stdout).toContain("can't be asked");
  const run = submit.map((word) => (word === "submit" ? "run" : word));
  for (const args of [["wait", "sim"], ["logs", "-f", "sim"], run]) {
    writeFileSync(calls, "");
    const beganAt = performance.now();
    const waiting = project.start(args, { env });
    const asked = (): number => linesOf(calls).filter((line) => line === "squeue").length;
    await until(() => asked() >= 4, `four questions of ${args[0]}`);
    waiting.child.kill("SIGKILL");
    await waiting.ended;
    const seconds = (performance.now() - beganAt) / 1000;
    expect(asked(), `${args[0]} in ${seconds} s`).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
    expect(seconds, args[0]).toBeGreaterThan(2.9);
  }
  // Its one job never was: there is nothing to be ended.
  rmSync(join(project.folder, ".stint"), { recursive: true });
});

function linesOf(path: string): readonly string[] {
  return readFileSync(path, "utf8").split("\n");
}
