/** What somebody types who does not know it yet: each ends in one line that says what to type instead. */
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { slurmCommands } from "./slurm-commands.ts";
import { counting, newProject, QUICK } from "./stint.ts";

const PLAIN = ["submit", "--dry-run", "--scheduler", "local", "--limit", "UNLIMITED"];

test("a JSON checkpoint is told by its rule, and nobody advises to remove it", async () => {
  const project = newProject();
  const json = ["--checkpoint", "a.json", "--", "true"];
  const before = await project.stint([...PLAIN, ...json]);
  expect(before.stderr).toContain("a.json will be read as one number; if it holds JSON: ");
  expect((await project.stint([...PLAIN, "--progress", "json:.step", ...json])).stderr).not.toContain(
    "if it holds JSON",
  );
  writeFileSync(join(project.folder, "a.json"), '{"step": 3}');
  const there = await project.stint([...PLAIN, ...json]);
  expect(there.status).toBe(2);
  expect(there.stderr).toContain("it is JSON: --progress json:.step (YAML: progress: {json: .step})");
  expect(there.stderr).not.toContain("remove");
});

test("a held job goes on with the rule that reads its checkpoint", async () => {
  const project = newProject();
  const write = `echo '{"step": 3}' > a.json`;
  const args = [...QUICK, "--name", "sim", "--checkpoint", "a.json", "--total", "3", "--", "bash", "-c", write];
  const held = await project.stint(["run", ...args]);
  expect(held.status, held.stdout + held.stderr).toBe(1);
  // The reason stands once in the table, in its own column.
  expect(held.stdout).toMatch(/→ invalid {2}/);
  const resumed = await project.stint(["resume", "sim", "--progress", "json:.step"]);
  expect(resumed.status, resumed.stdout + resumed.stderr).toBe(0);
  expect(resumed.stdout).toContain("with checkpoint.progress changed");
  const waited = await project.stint(["wait", "sim"]);
  expect(waited.status, waited.stdout + waited.stderr).toBe(0);
});

test("a finished job is not taken further, and what to type is said", async () => {
  const project = newProject();
  expect((await project.stint(["run", ...counting("sim", 5)])).status).toBe(0);
  const advice = "it is finished at 5 of 5; to compute on: stint run --again … --total 10";
  expect((await project.stint(["run", ...counting("sim", 10)])).stderr).toContain(advice);
  const resumed = await project.stint(["resume", "sim", "--total", "10"]);
  expect(resumed.status).toBe(1);
  expect(resumed.stderr).toContain(advice);
});

test("who interrupts a run that Slurm has not taken is told what is left", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  slurm.silent(true);
  const args = ["run", "--scheduler", "slurm", "--limit", "10m", "--name", "sim", "--", "sleep", "5"];
  const run = project.start(args, { env: { PATH: slurm.path } });
  await run.shows("waiting: ");
  run.child.kill("SIGINT");
  const { status, stderr } = await run.ended;
  expect(status, stderr).toBe(4);
  expect(stderr).toContain("Unable to contact slurm controller");
  expect(stderr).toContain("stint cancel sim, stint rm sim, then again with --scheduler local");
  expect((await project.stint(["cancel", "sim"], { env: { PATH: slurm.path } })).status).toBe(0);
});

test("doctor asks the controller", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  const doctor = () => project.stint(["doctor"], { env: { PATH: slurm.path } });
  expect((await doctor()).stdout).toContain("its controller answers");
  slurm.silent(true);
  const { status, stdout } = await doctor();
  expect(status).toBe(1);
  expect(stdout).toContain("Unable to contact slurm controller");
  expect(stdout).toContain("--scheduler local");
  rmSync(join(project.folder, "slurm-bin"), { recursive: true });
});

test("a job is named after its script, whatever runs it", async () => {
  const project = newProject();
  const path = join(project.folder, "ising.py");
  for (const first of ["#!/usr/bin/env python3", "#!/bin/bash"]) {
    writeFileSync(path, `${first}\n`);
    for (const mode of [0o644, 0o755]) {
      chmodSync(path, mode);
      expect((await project.stint([...PLAIN, "ising.py"])).stdout).toContain("would submit ising to local");
    }
  }
});

test.each([
  [["nosheb.py"], "nosheb.py is no spec; a command goes behind --: -- python3 nosheb.py"],
  [["notes"], "notes is no spec; a command goes behind --: -- PROGRAM notes"],
  [["string.yaml"], "checkpoint: write it as a map: checkpoint: {path: a.json}"],
  [["hours.yaml"], '"4 hours" is not understood: write 4h'],
  [["--", "python3 ising.py"], "without quotes: -- python3 ising.py"],
  [["--", "cd x && ./a"], "for a shell: -- bash -c 'cd x && ./a'"],
])("%j", async (args, words) => {
  const project = newProject();
  const files = {
    "nosheb.py": "import math\nprint(math.pi)\n",
    notes: "just words\n",
    "string.yaml": "command: ./sim\ncheckpoint: a.json\n",
    "hours.yaml": "command: ./sim\nlimit: 4 hours\n",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project.folder, name), text);
  const { status, stderr } = await project.stint(["submit", "--dry-run", "--scheduler", "local", ...args]);
  expect(status).toBe(2);
  expect(stderr).toContain(words);
});

test("without a terminal a back-off is told once, with its end", async () => {
  const project = newProject();
  const slow = ["--backoff-first", "60s", "--backoff-max", "60s", "--checkpoint", "s.txt", "--total", "2"];
  // Saves one step, then fails: it is tried again, after a while.
  const step = "n=$(cat s.txt 2>/dev/null || echo 0); echo $((n + 1)) > s.txt; exit 1";
  const run = project.start(["run", ...QUICK, ...slow, "--name", "sim", "--", "bash", "-c", step]);
  await run.shows("(back-off)");
  // What looks again every fraction of a second has looked again by the time that this has happened.
  expect((await project.stint(["cancel", "sim"])).status).toBe(0);
  const { stderr } = await run.ended;
  const told = stderr.split("\n").filter((line) => line.includes("(back-off)"));
  expect(told, stderr).toHaveLength(1);
  expect(told[0]).toMatch(/begins in \d+ s \(back-off\), at \d{4}-/);
});

test("an unknown command's help points to the list", async () => {
  const { status, stderr } = await newProject().stint(["help", "nothing"]);
  expect(status).toBe(2);
  expect(stderr).toContain("all commands: stint help");
});
