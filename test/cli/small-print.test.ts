/** Inputs at the edge: each gets what it asks for, or one clear line. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CLI, newProject, QUICK } from "./stint.ts";

test("a spec file above 1 MiB and one nested too deeply are refused in one line; a script may be of any size", async () => {
  const project = newProject();
  const write = (name: string, text: string): void => writeFileSync(join(project.folder, name), text, { mode: 0o755 });
  write("large.yaml", `name: sim\n${"# a remark\n".repeat(1_000_000)}`);
  write("deep.yaml", `env: ${"{a: ".repeat(20_000)}\n`);
  write("large.sh", `#!/bin/sh\n${": a long script\n".repeat(100_000)}echo done\n`);
  const refused = async (name: string) => project.stint(["submit", "--scheduler", "local", name]);
  expect(await refused("large.yaml")).toEqual({
    status: 2,
    stdout: "",
    stderr: "stint: large.yaml is larger than 1 MiB, which is the most that a spec file may have\n",
  });
  const deep = await refused("deep.yaml");
  expect(deep.status).toBe(2);
  expect(deep.stderr).toMatch(/^stint: deep\.yaml:1:\d+: lists and maps are nested too deeply here[^\n]*\n$/);
  const run = await project.stint(["run", "--quiet", ...QUICK, "large.sh"]);
  expect(run.status, run.stderr).toBe(0);
  expect((await project.stint(["logs", "large"])).stdout).toContain("done");
});

test("a variable may have any name", async () => {
  const project = newProject();
  const env = ["--env", "__proto__=x y", "--env", "constructor=c"];
  const run = await project.stint(["run", "--quiet", ...QUICK, ...env, "--name", "odd", "--", "env"]);
  expect(run.status, run.stderr).toBe(0);
  const { stdout } = await project.stint(["logs", "odd"]);
  expect(stdout).toMatch(/^__proto__=x y$/m);
  expect(stdout).toMatch(/^constructor=c$/m);
});

test("STINT_DIR that can hold no jobs is refused in one line", async () => {
  const project = newProject();
  writeFileSync(join(project.folder, "file"), "");
  for (const [named, why] of [
    ["/", "it is the root of all files"],
    ["file", "file is no folder"],
    ["file/a", "file is no folder"],
    [`${"x".repeat(300)}/a`, "cannot be looked at (ENAMETOOLONG)"],
  ] as const)
    for (const args of [["submit", "--scheduler", "local", "--", "true"], ["status"], ["resume", "sim"], ["doctor"]]) {
      const { status, stderr } = await project.stint(args, { env: { STINT_DIR: named } });
      expect(status, `${args[0]} ${named}: ${stderr}`).toBe(2);
      expect(stderr).toMatch(/^stint: STINT_DIR=\S+ cannot hold jobs: [^\n]*\nname a folder of its own, [^\n]*\n$/);
      expect(stderr).toContain(why);
    }
});

test("a working folder that is not there is refused at submit, with where it was named", async () => {
  const project = newProject();
  writeFileSync(join(project.folder, "s.yaml"), "command: 'true'\ncwd: nowhere/deep\n");
  mkdirSync(join(project.folder, "here"));
  for (const scheduler of ["local", "slurm"]) {
    const flag = await project.stint(["submit", "--scheduler", scheduler, "--cwd", "gone", "--", "true"]);
    expect(flag).toMatchObject({ status: 2, stderr: `stint: --cwd: there is no folder ${project.folder}/gone\n` });
    const file = await project.stint(["submit", "--scheduler", scheduler, "s.yaml"]);
    expect(file).toMatchObject({
      status: 2,
      stderr: `stint: s.yaml:2:6: cwd: there is no folder ${project.folder}/nowhere/deep\n`,
    });
  }
  const there = await project.stint(["submit", "--dry-run", "--scheduler", "local", "--cwd", "here", "--", "true"]);
  expect(there.status, there.stderr).toBe(0);
  expect((await project.stint(["status"])).stdout).toContain("no jobs here yet");
});

test("a rule for progress that cannot be used is named with its place in the file, or as a flag", async () => {
  const project = newProject();
  const said = async (rule: string): Promise<string> => {
    writeFileSync(
      join(project.folder, "s.yaml"),
      `command: 'true'\ncheckpoint:\n  path: s.json\n  progress: ${rule}\n`,
    );
    const { status, stderr } = await project.stint(["submit", "--scheduler", "local", "s.yaml"]);
    expect(status).toBe(2);
    return stderr;
  };
  expect(await said("{json: step}")).toBe(
    "stint: s.yaml:4:13: checkpoint.progress: a JSON path begins with a dot: .step\n",
  );
  expect(await said("{pattern: 'step ('}")).toMatch(/^stint: s\.yaml:4:13: checkpoint\.progress: the pattern .*\n$/);
  expect(await said("{files: 'a/*'}")).toMatch(/^stint: s\.yaml:4:13: checkpoint\.progress: the glob .*\n$/);
  const flag = ["submit", "--scheduler", "local", "--checkpoint", "s", "--progress", "json:step", "--", "true"];
  expect((await project.stint(flag)).stderr).toBe("stint: --progress: a JSON path begins with a dot: .step\n");
});

test("where there is no checkpoint before and after, none is shown", async () => {
  const project = newProject();
  const options = [...QUICK, "--name", "none", "--checkpoint", "s.txt"];
  const run = await project.stint(["run", ...options, "--", "true"]);
  expect(run.stdout).toMatch(/ none yet +exit 0 /);
  expect(run.stdout + run.stderr).not.toContain("→ none yet");
});

test("a file whose rule was mended by a resume is the same job, with its old rule and its new one", async () => {
  const project = newProject();
  const write = (rule: string): void =>
    writeFileSync(
      join(project.folder, "s.yaml"),
      `name: sim\nscheduler: local\ncommand: echo '{"step":5}' > s.json\ntotal: 5\ncheckpoint: {path: s.json, progress: ${rule}}\n`,
    );
  write("number");
  expect((await project.stint(["run", "--quiet", "s.yaml"])).status).toBe(1);
  const resumed = await project.stint(["resume", "sim", "--quiet", "--progress", "json:.step"]);
  expect(resumed.status, resumed.stderr).toBe(0);
  expect((await project.stint(["wait", "sim"])).status).toBe(0);
  for (const rule of ["number", "{json: .step}"]) {
    write(rule);
    const same = await project.stint(["run", "s.yaml"]);
    expect(same.status, same.stderr).toBe(0);
    expect(same.stdout).toContain("it is there already, nothing was started");
  }
  write("{json: .other}");
  const other = await project.stint(["run", "s.yaml"]);
  expect(other.status).toBe(2);
  expect(other.stderr).toContain("how progress is read differs: json:.step on file, json:.other now");
});

test("a named pipe that nobody writes into is refused after a while, and one with a writer is read", async () => {
  const project = newProject();
  const pipe = join(project.folder, "sim.yaml");
  execFileSync("mkfifo", [pipe]);
  const submit = ["submit", "--dry-run", "--scheduler", "local", "sim.yaml"];
  expect(await project.stint(submit)).toMatchObject({
    status: 2,
    stderr: "stint: sim.yaml is a named pipe that nobody writes into (looked for 10 s): give a file\n",
  });
  const running = project.start(submit);
  // Waits for its reader.
  execFileSync("bash", ["-c", `exec 3>"$0"; echo "command: 'true'" >&3; echo 'name: piped' >&3`, pipe]);
  const read = await running.ended;
  expect(read.status, read.stderr).toBe(0);
  expect(read.stdout).toContain("would submit piped to local");
});

test("a working folder that was removed is one clear line", () => {
  const project = newProject();
  const gone = join(project.folder, "gone");
  mkdirSync(gone);
  for (const words of ["status", "submit --scheduler local -- true", "resume --all"]) {
    const script = `mkdir -p "$0" && cd "$0" && rmdir "$0" && exec "$1" "$2" ${words}`;
    const { status, stderr } = spawnSync("bash", ["-c", script, gone, process.execPath, CLI], { encoding: "utf8" });
    expect(stderr).toBe("stint: the folder that this was typed in is gone: cd to one that is there\n");
    expect(status).toBe(2);
  }
});

test("a name that a shell would read otherwise is quoted where a command is shown, and nowhere else", async () => {
  const project = newProject();
  const name = "a&b$&c";
  const program = ["--name", name, "--", "bash", "-c", "exit 76"];
  expect((await project.stint(["run", "--quiet", ...QUICK, ...program])).status).toBe(1);
  expect((await project.stint(["run", "--quiet", ...QUICK, "--name", "held&", "--", "no-such-program"])).status).toBe(
    1,
  );
  expect((await project.stint(["status"])).stdout).toMatch(
    /^held& +held .*: stint resume 'held&'; .* --name 'held&' /m,
  );
  await project.stint(["submit", ...QUICK, "--limit", "60s", "--name", "x;y", "--", "sleep", "60"]);
  const refused = await project.stint(["rm", "x;y"]);
  expect(refused.stderr).toBe(
    "stint: x;y is not over, so it cannot be removed; end it first with: stint cancel 'x;y'\n",
  );
  expect((await project.stint(["cancel", "x;y"])).stdout).toContain("next: stint resume 'x;y'");
});

test("other settings for a finished job are named where they are refused", async () => {
  const project = newProject();
  const run = ["run", ...QUICK, "--name", "sim"];
  expect((await project.stint([...run, "--quiet", "--", "true"])).status).toBe(0);
  const again = await project.stint([...run, "--limit", "9s", "--kill-wait", "2s", "--", "true"]);
  expect(again.stdout + again.stderr).toContain(
    "it is finished, and other settings (limit, kill-wait) need a new job, with --again",
  );
});
