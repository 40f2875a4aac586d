import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { me, newProject, QUICK } from "./stint.ts";

const COMMANDS = [
  "run",
  "submit",
  "status",
  "logs",
  "wait",
  "cancel",
  "drain",
  "resume",
  "rm",
  "doctor",
  "completion",
  "help",
];

test("every command explains itself, with examples", async () => {
  const project = newProject();
  const helps = await Promise.all(COMMANDS.map(async (name) => ({ name, ...(await project.stint([name, "--help"])) })));
  for (const { name, status, stdout } of helps) {
    expect(status, name).toBe(0);
    expect(stdout, name).toContain(name === "help" ? "usage: stint" : `usage: stint ${name}`);
    expect(stdout, name).toMatch(/examples:\n {2}stint /);
  }
  const run = helps.find(({ name }) => name === "run")?.stdout ?? "";
  expect(run).toContain("-t, --limit, --time");
  // The usual settings fit on a screen, and no line is wider than a terminal; the rest is a word away.
  expect(run.trimEnd().split("\n").length).toBeLessThanOrEqual(45);
  for (const { name, stdout } of helps)
    expect(
      stdout.split("\n").filter((line) => line.length > 80),
      name,
    ).toEqual([]);
  for (const args of [
    ["run", "--help", "all"],
    ["help", "run", "--all"],
  ]) {
    const all = (await project.stint(args)).stdout;
    expect(all, args.join(" ")).toContain("--budget-failures");
    expect(all, args.join(" ")).toMatch(/--mode self\|attached\|submitter$/m);
    expect(all, args.join(" ")).toContain("--submitter-limit");
  }
  const version = await project.stint(["--version"]);
  expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test("usage errors leave with 2 and name the nearest", async () => {
  const project = newProject();
  const cases: readonly (readonly [readonly string[], string])[] = [
    [["statsu"], "did you mean status?"],
    [["status", "--atempts"], "--attempts"],
    [["run", "--limt", "4h", "--", "true"], "--limit"],
    [["submit", "--limit", "5x", "--", "true"], "5x"],
    [["submit", "--array", "3-0", "--", "true"], "--array"],
    [["submit"], "command"],
    [["submit", "nothing.yaml"], "nothing.yaml"],
    [["logs"], "which job?"],
    [["logs", "a", "b"], "unexpected"],
    [["submit", "--name", "a/b", "--", "true"], "slash"],
  ];
  for (const [args, text] of cases) {
    const { status, stderr } = await project.stint(args);
    expect(status, args.join(" ")).toBe(2);
    expect(stderr, args.join(" ")).toContain(text);
    expect(stderr, args.join(" ")).not.toContain("at file:");
  }
});

test("a faulty spec file is refused with line and column, and nothing is made", async () => {
  const project = newProject();
  writeFileSync(join(project.folder, "bad.yaml"), "name: sim\ncommand: 'true'\nlimitt: 4h\n");
  const { status, stderr } = await project.stint(["submit", "bad.yaml"]);
  expect(status).toBe(2);
  expect(stderr).toContain("bad.yaml:3:1");
  expect(stderr).toContain("limit");
  expect((await project.stint(["status"])).stdout).toContain("no jobs here yet");
});

test("an empty file, and a mode that has no place here, are refused with what to do", async () => {
  const project = newProject();
  writeFileSync(join(project.folder, "empty.yaml"), "# nothing\n");
  const empty = await project.stint(["submit", "empty.yaml"]);
  expect(empty.status).toBe(2);
  expect(empty.stderr).toContain("empty.yaml is empty: it needs at least command:");
  const given = await project.stint(["submit", "--dry-run", "empty.yaml"], { env: { APP_CMD: "true" } });
  expect(given.status, given.stderr).toBe(0);
  const submitter = ["submit", "--scheduler", "local", "--mode", "submitter", "--", "true"];
  expect(await project.stint(submitter)).toMatchObject({
    status: 2,
    stderr:
      "stint: mode submitter (flag --mode) needs the scheduler slurm: on local every attempt has a shepherd that moves the chain; use self or attached\n",
  });
});

test("names: short, full, task, last; unknown ones leave with 3 and the nearest", async () => {
  const project = newProject();
  expect((await project.stint(["status"])).status).toBe(0);
  const nowhere = await project.stint(["status", "sim"]);
  expect(nowhere.status).toBe(3);
  expect(nowhere.stderr).toContain("no .stint folder");
  for (const name of ["first", "second"])
    expect((await project.stint(["run", "--quiet", ...QUICK, "--name", name, "--", "true"])).status).toBe(0);
  for (const name of ["first", `/${me}/first`, "first/0"])
    expect((await project.json(["status", name])).job?.job).toBe(`/${me}/first`);
  expect((await project.json(["status", "last"])).job?.job).toBe(`/${me}/second`);
  const unknown = await project.stint(["status", "frist"]);
  expect(unknown.status).toBe(3);
  expect(unknown.stderr).toContain("did you mean first?");
  expect((await project.stint(["status", "first/7"])).status).toBe(3);
  expect((await project.stint(["wait", "first", "--timeout", "5"])).stderr).toContain("5s or 5m");
  // Found upwards, as git does.
  mkdirSync(join(project.folder, "deep", "down"), { recursive: true });
  const below = await project.stint(["status", "first", "--json"], { cwd: join(project.folder, "deep", "down") });
  expect(below.status).toBe(0);
  const named = await project.stint(["status", "first"], {
    cwd: "/",
    env: { STINT_DIR: join(project.folder, ".stint") },
  });
  expect(named.status).toBe(0);
});

test("--json is one value with schemaVersion everywhere, errors too; --csv has one line a job", async () => {
  const project = newProject();
  const run = await project.stint(["run", "--json", ...QUICK, "--name", "sim", "--", "true"]);
  expect(JSON.parse(run.stdout)).toMatchObject({ schemaVersion: 1, job: { job: `/${me}/sim`, state: "over" } });
  for (const args of [
    ["status"],
    ["status", "sim"],
    ["status", "sim", "--spec"],
    ["wait", "sim"],
    ["doctor"],
    ["cancel", "sim"],
    ["resume", "sim"],
    ["resume", "--all"],
  ])
    expect((await project.json(args)).schemaVersion, args.join(" ")).toBe(1);
  const csv = (await project.stint(["status", "--csv"])).stdout.trim().split("\n");
  expect(csv).toHaveLength(2);
  expect(csv[0]).toMatch(/^job,state,/);
  expect(csv[1]).toMatch(new RegExp(`^/${me}/sim,over,`));
  expect(await project.json(["status", "nope"])).toMatchObject({ error: { code: "no-such-job", exitStatus: 3 } });
  expect((await project.json(["rm", "sim"])).removed).toEqual([`/${me}/sim`]);
});

test("--dry-run shows the settings, the command and the script, and makes nothing", async () => {
  const project = newProject();
  const { status, stdout } = await project.stint(["submit", "--dry-run", ...QUICK, "--", "true"]);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^would submit true to local, in /);
  expect(stdout).toMatch(/^limit +4s +flag --limit$/m);
  expect(stdout).toMatch(/^budgets\.wall +30d +default$/m);
  expect(stdout).toMatch(/^\/bin\/sh .*\/attempts\/0001\/script\.sh$/m);
  expect(stdout).toContain("#!/bin/sh");
  expect(stdout).toContain("runner.mjs");
  const slurm = await project.stint([
    "submit",
    "--dry-run",
    "--scheduler",
    "slurm",
    "-t",
    "4h",
    "-p",
    "long",
    "--",
    "true",
  ]);
  expect(slurm.stdout).toMatch(/^sbatch --partition=long --time=240 .*\/attempts\/0001\/script\.sh$/m);
  expect((await project.stint(["status"])).stdout).toContain("no jobs here yet");
});

test("each setting is shown with where it came from, and what the environment sets is said", async () => {
  const project = newProject();
  writeFileSync(
    join(project.folder, "stint.yaml"),
    "command: [bash, count.sh]\ncheckpoint: {path: s.txt}\ntotal: 5\nmargin: 2s\n",
  );
  const env = { RUNNER_TIME_LIMIT: "00:00:30", STEP_SEC: "0.01" };
  const run = await project.stint(["run", "stint.yaml", "--scheduler", "local", "--name", "sim"], { env });
  expect(run.status, run.stderr).toBe(0);
  expect(run.stderr).toContain("RUNNER_TIME_LIMIT");
  const { stdout } = await project.stint(["status", "sim", "--spec"]);
  expect(stdout).toMatch(/^limit +30s +environment RUNNER_TIME_LIMIT$/m);
  expect(stdout).toMatch(/^margin +2s +stint\.yaml:4:9$/m);
  expect(stdout).toMatch(/^name +sim +flag --name$/m);
  expect(stdout).toMatch(/^budgets\.failures +3 +default$/m);
});

test("a limit without a checkpoint is remarked on, once, and only then", async () => {
  const project = newProject();
  const remark = /no checkpoint is named: .* counts as stalled \(see --checkpoint\)/g;
  const said = async (more: readonly string[]) =>
    (await project.stint(["submit", "--dry-run", "--scheduler", "local", ...more, "--", "true"])).stderr.match(
      remark,
    ) ?? [];
  expect(await said(["--limit", "5m"])).toHaveLength(1);
  expect(await said(["--limit", "5m", "--checkpoint", "s.txt"])).toEqual([]);
  expect(await said([])).toEqual([]);
});

test("what a checkpoint holds is shown on a terminal and does not act there", async () => {
  const project = newProject();
  const text = "\x1b]0;owned\x07\x1b[2J12 apples";
  const save = ["sh", "-c", 'printf "%s" "$TEXT" >s.txt'];
  const options = ["--name", "sim", "--checkpoint", "s.txt", "--env", `TEXT=${text}`];
  const ran = await project.stint(["run", ...QUICK, ...options, "--", ...save]);
  const looked = await project.stint(["status", "sim", "--attempts", "--spec"]);
  for (const shown of [ran.stdout, ran.stderr, looked.stdout]) expect(shown).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f]/);
  expect(looked.stdout).toContain("\\u001b]0;owned\\u0007\\u001b[2J12 apples");
  expect(looked.stdout).toContain('"\\x1b]0;owned\\x07\\x1b…" is no text: a torn or a binary file');
  expect(JSON.stringify(await project.json(["status", "sim"]))).toContain("is no text");
});

test("a project folder of any name runs its job, but for one from which node runs nothing: that is refused at once", async () => {
  const project = newProject();
  const inside = (name: string) => {
    mkdirSync(join(project.folder, name));
    return { STINT_DIR: join(project.folder, name, ".stint") };
  };
  const odd = inside("a\nb|c 'd' \"e\" $HOME é");
  const run = await project.stint(["run", ...QUICK, "--name", "odd", "--", "true"], { env: odd });
  expect(run.status, run.stderr).toBe(0);
  const refused = await project.stint(["submit", "--name", "odd", "--", "true"], { env: inside("back\\slash") });
  expect(refused.status).toBe(2);
  expect(refused.stderr).toContain("Node.js runs no program from a path with a backslash");
  expect(existsSync(join(project.folder, "back\\slash/.stint"))).toBe(false);
});
