/** Everything that the README shows is run as it stands there, on the built command line. */
import { execFile } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { normalise, SHOWN, shellLinesOf, tourOf } from "./tour.ts";

const root = join(import.meta.dirname, "../..");
const dist = process.env.STINT_TEST_DIST ?? join(root, "dist");
const readme = readFileSync(join(root, "README.md"), "utf8");
const examples = readFileSync(join(root, "examples/README.md"), "utf8");

let scratch = "";
let folder = "";

beforeAll(() => {
  scratch = realpathSync(mkdtempSync(join(tmpdir(), "stint-readme-")));
  folder = join(scratch, "tour");
  mkdirSync(folder);
  mkdirSync(join(scratch, "bin"));
  // As the README says to install it.
  symlinkSync(join(dist, "cli/main.js"), join(scratch, "bin/stint"));
  for (const name of ["count.sh", "job.sh"]) copyFileSync(join(root, "examples", name), join(folder, name));
});

afterAll(async () => {
  // A step that failed may have left a chain behind.
  const { output } = await bash("stint status --csv");
  for (const line of output.split("\n").slice(1)) {
    const [job, state] = line.split(",");
    if (job !== undefined && (state === "running" || state === "waiting")) await bash(`stint cancel --quiet ${job}`);
  }
  rmSync(scratch, { recursive: true, force: true });
});

test("every command of the README's tour prints what the README shows", { timeout: 120_000 }, async () => {
  const steps = [...tourOf(readme), ...tourOf(examples)];
  expect(steps.length).toBeGreaterThan(10);
  for (const { command, output } of steps) {
    const ran = await bash(command);
    expect(`$ ${command}\n${normalise(ran.output)}`).toBe(`$ ${command}\n${normalise(output)}`);
  }
});

test("every other stint command of the README is understood", async () => {
  const lines = [...shellLinesOf(readme), ...shellLinesOf(examples)];
  expect(lines.length).toBeGreaterThan(2);
  for (const line of lines) {
    const ran = await bash(line.replace(/^stint (run|submit)/, "stint $1 --dry-run"));
    expect(ran, line).toMatchObject({ status: 0, output: expect.stringContaining("would submit ") });
  }
});

test("the tour is compared in what matters, and only there", () => {
  const line = "attempt 2: checkpointed, ran 4.9s, progress 9 → 18, exit 99: saved, more to do";
  expect(normalise(line)).toBe(
    normalise("attempt 3: checkpointed, ran 12s, progress 8 → 17, exit 99: saved, more to do"),
  );
  expect(normalise("step 1\nstep 2\nattempt 2 is queued\nstatus 0")).toBe(normalise("step 7\nstatus 0"));
  const others = [
    [line, line.replace("99", "0")],
    [line, line.replace("checkpointed", "stalled")],
    ["status 0", "status 75"],
    ["count: finished (3 attempts, progress 16/16)", "count: finished (3 attempts, progress 14/16)"],
    ["margin 1m is not below limit 30s", "margin 1m is below limit 30s"],
    ["/home/ann/tour/.stint", "/home/ann/.stint"],
  ] as const;
  for (const [shown, other] of others) expect(normalise(other), other).not.toBe(normalise(shown));
});

test("the library example of the README runs a job to its end", { timeout: 60_000 }, async () => {
  const example = /^```js\n([\s\S]*?)^```$/m.exec(readme)?.[1] ?? "";
  mkdirSync(join(folder, "node_modules"));
  // What `npm install` of a folder makes.
  symlinkSync(root, join(folder, "node_modules/stint"));
  const ran = await bash("cat > chain.mjs && node chain.mjs && cat lib.txt", example);
  expect(ran).toEqual({ status: 0, output: "finished 4\n4\n" });
});

test("the specification that the README shows is accepted as it stands", async () => {
  const yaml = /^```yaml\n([\s\S]*?)^```$/m.exec(readme)?.[1] ?? "";
  const ran = await bash(`cat > shown.yaml && stint submit --dry-run --scheduler slurm --json shown.yaml`, yaml);
  expect(ran.status, ran.output).toBe(0);
  const { spec } = JSON.parse(ran.output);
  expect(spec).toMatchObject({ name: "sim", total: 500, limitMs: 4 * 3_600_000, slurm: { memory: "8G" } });
});

test("the README's table of commands is the list of commands", async () => {
  const { output } = await bash("stint --help");
  const known = [...output.matchAll(/^ {2}(\w+) +[A-Z]/gm)].map((match) => match[1]);
  const section = /^## Commands$([\s\S]*?)^\*\*Exit/m.exec(readme)?.[1] ?? "";
  const shown = [...section.matchAll(/^\| `(\w+)/gm)].map((match) => match[1]);
  expect(known.length).toBeGreaterThan(5);
  expect(shown.toSorted()).toEqual(known.toSorted());
});

test("the README's table of exit statuses has every one that a command's help names", async () => {
  const { output } = await bash("stint --help");
  const commands = [...output.matchAll(/^ {2}(\w+) +[A-Z]/gm)].map((match) => match[1]);
  const section = /^\*\*Exit statuses\*\*([\s\S]*?)^\*\*Stops/m.exec(readme)?.[1] ?? "";
  const shown = [...section.matchAll(/^\| (\d+) \|/gm)].map((match) => match[1] ?? "");
  const named = new Map<string, string>();
  for (const command of commands) {
    const help = (await bash(`stint ${command} --help`)).output.replaceAll(/\s+/g, " ");
    const statuses = /Exit status: (.*?\.) /.exec(help)?.[1] ?? "";
    for (const [, status = ""] of statuses.matchAll(/(?:^|[ (])(\d{1,3})(?=[ ,.)])/g))
      named.set(status, `${command}: ${statuses}`);
  }
  expect([...named.keys()]).toEqual(expect.arrayContaining(["0", "1", "2", "4", "5", "75"]));
  for (const [status, where] of named) expect(shown, where).toContain(status);
});

test("CONTRIBUTING names every script", () => {
  const contributing = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
  const scripts = readdirSync(join(root, "scripts"));
  expect(scripts.length).toBeGreaterThan(5);
  expect(scripts.filter((name) => !contributing.includes(`\`${name}\``))).toEqual([]);
});

test("the README's environment names are those that set something", async () => {
  const section = /^## Settings$([\s\S]*?)^## /m.exec(readme)?.[1] ?? "";
  const names = [...section.matchAll(/\| `([A-Z_]+)` \|/g)].map((match) => match[1] ?? "");
  expect(names).toHaveLength(11);
  const values: Readonly<Record<string, string>> = {
    APP_CMD: "./sim",
    CKPT_PATH: "it.txt",
    MAX_ITER: "500",
    LAUNCH_MODE: "srun",
    RUNNER_TIME_LIMIT: "00:03:00",
  };
  const settings = names.map((name) => `${name}=${values[name] ?? "20"}`).join(" ");
  const ran = await bash(`${settings} stint submit --dry-run --scheduler slurm --name named 2>&1 >/dev/null`);
  expect(ran.status, ran.output).toBe(0);
  for (const name of names) expect(ran.output).toContain(`${name}=${values[name] ?? "20"} in the environment sets `);
});

/** Runs a line as typed, in the tour's folder; user and folder appear under the names of the README. */
function bash(line: string, input = ""): Promise<{ readonly status: number; readonly output: string }> {
  const env = {
    PATH: `${join(scratch, "bin")}:${process.env.PATH}`,
    HOME: process.env.HOME ?? scratch,
    XDG_STATE_HOME: join(scratch, "state"),
    LC_ALL: "C.UTF-8",
  };
  return new Promise((resolve) => {
    const child = execFile("bash", ["-c", `exec 2>&1\n${line}`], { cwd: folder, env }, (error, stdout) => {
      const output = stdout.replaceAll(folder, SHOWN.folder).replaceAll(`/${userInfo().username}/`, `/${SHOWN.user}/`);
      resolve({ status: error === null ? 0 : Number(error.code), output });
    });
    child.stdin?.end(input);
  });
}
