/** An ordinary batch script as the only input, on `local`; on a real Slurm: test/cluster/batch-script.test.ts. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newProject, QUICK, readRecord, type TestProject } from "./stint.ts";

function script(project: TestProject, lines: readonly string[], name = "job.sh", mode = 0o644): string {
  const text = ["#!/bin/bash", ...lines, ""].join("\n");
  writeFileSync(join(project.folder, name), text, { mode });
  return text;
}

const DRY = ["submit", "--dry-run", "--scheduler", "slurm"];

test("a batch script is run with its arguments as a copy, byte for byte, whatever is done to the file later", async () => {
  const project = newProject();
  const lines = ["#SBATCH --job-name=sim -o out-%x-%j.txt", 'echo "got $1 $2 in $PWD by $BASH"; echo wrong >&2'];
  // Not every script is UTF-8.
  const text = Buffer.concat([Buffer.from(["#!/bin/bash", ...lines, "# caf"].join("\n")), Buffer.from([0xe9, 10])]);
  writeFileSync(join(project.folder, "job.sh"), text, { mode: 0o644 });
  const run = await project.stint(["run", ...QUICK, "job.sh", "--help", "a b"]);
  expect(run.status, run.stderr).toBe(0);
  const output = `got --help a b in ${project.folder} by /bin/bash\nwrong\n`;
  expect(readFileSync(join(project.folder, "out-sim-1.txt"), "utf8")).toBe(output);
  expect((await project.stint(["logs", "sim", "--attempt", "1"])).stdout).toBe(output);
  const copies = join(project.jobFolder("sim"), "batch");
  const [hash = ""] = readdirSync(copies);
  expect(readFileSync(join(copies, hash, "job.sh"))).toEqual(text);
});

test("the later attempts run what was submitted", async () => {
  const project = newProject();
  script(project, ["#SBATCH -J sim", 'echo "first text, attempt $STINT_ATTEMPT"', "[ -e go ] || exit 99"]);
  const run = project.start(["run", ...QUICK, "job.sh"]);
  await run.shows("attempt 1: checkpointed");
  script(project, ["echo 'second text'"]);
  writeFileSync(join(project.folder, "go"), "");
  expect((await run.ended).status).toBe(0);
  const logs = (await project.stint(["logs", "sim"])).stdout;
  expect(logs).toContain("first text, attempt 2");
  expect(logs).not.toContain("second text");
});

test("the same script with the same arguments is the same job; another content or argument is another", async () => {
  const project = newProject();
  const text = script(project, ["exit 0"]);
  expect((await project.stint(["run", ...QUICK, "job.sh", "a"])).status).toBe(0);
  writeFileSync(join(project.folder, "copy.sh"), text);
  const again = await project.stint(["run", ...QUICK, "--name", "job", "copy.sh", "a"]);
  expect(again.stdout).toContain("it is there already, nothing was started");
  const argument = await project.stint(["run", ...QUICK, "job.sh", "b"]);
  expect(argument.stderr).toContain("job is another job: the command differs: job.sh a on file, job.sh b now");
  script(project, ["exit 1"]);
  const content = await project.stint(["run", ...QUICK, "job.sh", "a"]);
  expect(content.stderr).toContain("the content of the script differs from that on file: job.sh a");
  expect([argument.status, content.status]).toEqual([2, 2]);
});

test("a dry run shows the lines' settings with their origins and the commands that would be called", async () => {
  const project = newProject();
  script(project, ["#SBATCH -p long -t 4:00:00  # as ever", "#SBATCH --gres=gpu:1 -n 2", "srun ./sim"]);
  const env = { SBATCH_PARTITION: "main", SBATCH_CONSTRAINT: "fast" };
  const dry = await project.stint([...DRY, "-t", "1:00:00", "--ahead", "1", "-d", "afterok:7", "job.sh", "x"], { env });
  expect(dry.status, dry.stderr).toBe(0);
  expect(dry.stdout).toMatch(/^limit +1h +flag -t$/m);
  expect(dry.stdout).toMatch(/^slurm\.partition +main +environment SBATCH_PARTITION$/m);
  expect(dry.stdout).toMatch(/^slurm\.sbatch +--gres=gpu:1 --ntasks=2 --constraint=fast +job\.sh:3 \+ environment/m);
  const [first = "", second = "", ...more] = dry.stdout.split("\n").filter((line) => line.startsWith("sbatch "));
  expect(more).toEqual([]);
  expect(first).toContain("sbatch --gres=gpu:1 --ntasks=2 --constraint=fast --partition=main --time=60 ");
  expect(first).toMatch(/ --dependency=afterok:7 \S+\/0001\/script\.sh$/);
  expect(second).toMatch(/ --dependency=afterany:JOB1 \S+\/0002\/script\.sh$/);
  expect(dry.stderr).toContain("SBATCH_CONSTRAINT in the environment hands --constraint=fast on to sbatch");
});

test("what will not do what is expected is said in a line each, and in JSON", async () => {
  const project = newProject();
  script(project, [
    "#SBATCH --requeue --signal=B:USR1@30",
    "trap save USR1",
    "./sim || scontrol requeue $SLURM_JOB_ID",
    "#SBATCH -n 4",
    "sbatch job.sh",
  ]);
  const dry = await project.stint([...DRY, "-t", "10", "job.sh"]);
  const expected = [
    /^job\.sh:5: this #SBATCH line stands behind the first command/,
    /^job\.sh:4: scontrol requeue would throw this attempt away/,
    /^job\.sh:6: it submits itself again/,
    /^job\.sh:3: no such signal is sent/,
    /^job\.sh:2: --requeue is not handed on to sbatch/,
    /^job\.sh:2: --signal=B:USR1@30 is not handed on to sbatch/,
  ];
  const { warnings } = JSON.parse(
    (await project.stint([...DRY, "-t", "10", "--json", "job.sh"])).stdout,
  ) as unknown as { warnings: string[] };
  expect(warnings).toEqual(expected.map((line) => expect.stringMatching(line)));
  for (const warning of warnings) expect(dry.stderr.split("\n")).toContain(warning);
});

test("on local the lines that mean nothing there are named once, and limit, name and input count", async () => {
  const project = newProject();
  writeFileSync(join(project.folder, "in.txt"), "read me\n");
  mkdirSync(join(project.folder, "sub"));
  script(project, ["#SBATCH -J quick -p long --mem=4G -n 2", "#SBATCH -t 7:00 -i ../in.txt -D sub", "pwd; cat"]);
  const run = await project.stint(["run", "--scheduler", "local", "--margin", "1s", "job.sh"]);
  expect(run.status, run.stderr).toBe(0);
  expect(run.stderr.match(/^not used, since the scheduler is local: .*$/gm)).toEqual([
    "not used, since the scheduler is local: --partition=long (job.sh:2), --mem=4G (job.sh:2), --ntasks=2 (job.sh:2)",
  ]);
  expect((await project.stint(["logs", "quick"])).stdout).toContain(`${project.folder}/sub\nread me\n`);
  expect((await project.stint(["status", "quick", "--spec"])).stdout).toMatch(/^limit +7m +job\.sh:3$/m);
});

test("--begin counts for the first attempt, on local too", async () => {
  const project = newProject();
  script(project, ["#SBATCH --begin=now+2", "[ $STINT_ATTEMPT = 2 ] || exit 99"]);
  const submittedAtMs = Date.now();
  expect((await project.stint(["run", ...QUICK, "job.sh"])).status).toBe(0);
  const startedAtMs = (attempt: string) =>
    readRecord<{ startedAtMs: number }>(project, "job", attempt, "exited.json")?.startedAtMs ?? 0;
  const delayMs = startedAtMs("0001") - submittedAtMs;
  expect(delayMs).toBeGreaterThanOrEqual(1_900);
  expect(startedAtMs("0002") - startedAtMs("0001")).toBeLessThan(1_900);
});

test("what kind of input a file is its content says", async () => {
  const project = newProject();
  const refused = async (name: string, content: string | Buffer, words: string) => {
    writeFileSync(join(project.folder, name), content, { mode: 0o755 });
    const ran = await project.stint(["submit", "--dry-run", "--scheduler", "local", name]);
    expect(ran.stderr, name).toContain(words);
    expect(ran.status, name).toBe(2);
  };
  await refused("dos.sh", "#!/bin/bash\r\ntrue\r\n", "DOS line ends, which sbatch refuses as well: sed -i");
  await refused("none.sh", "#!\ntrue\n", "its first line must be #! and a program");
  await refused("bare.sh", "#SBATCH -n 2\ntrue\n", "its first line must be #! and a program");
  await refused("plain.sh", "true\n", "a command goes behind --: -- bash plain.sh");
  await refused("empty.sh", "", "empty.sh");
  await refused("sim", Buffer.from("\x7fELF\0\0"), "is a program; write it behind --: -- ./sim");
  await refused(
    "het.sh",
    "#!/bin/sh\n#SBATCH -n 1\n#SBATCH hetjob\n",
    "het.sh:3: a heterogeneous job cannot be a chain",
  );
  await refused("array.sh", "#!/bin/sh\n#SBATCH -a 3-0\n", 'array.sh:2: --array: "3-0" is no array');
  await refused(
    "stray.sh",
    "#!/bin/sh\n#SBATCH long\n",
    'stray.sh:2: "long" is no option, and sbatch refuses it as well',
  );
  writeFileSync(join(project.folder, "spec.sh"), "command: [true]\n");
  const spec = await project.stint(["submit", "--dry-run", "--scheduler", "local", "spec.yaml"]);
  expect(spec.status).toBe(2);
  writeFileSync(join(project.folder, "stint.sh.yaml"), "#!/bin/bash\nexit 0\n");
  expect((await project.stint(["run", ...QUICK, "stint.sh.yaml"])).status).toBe(0);
});

test("an array in a #SBATCH line is tasks of one job, each with its index in arguments and file names", async () => {
  const project = newProject();
  const lines = ['echo "task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT with $1: $(cat)"'];
  script(project, ["#SBATCH -a 1-5:2%2 -o out-%a.txt", "#SBATCH -i in-{task}.txt", ...lines]);
  for (const index of [1, 3, 5]) writeFileSync(join(project.folder, `in-${index}.txt`), `input ${index}`);
  const one = await project.stint([...DRY, "job.sh", "seed-{task}"]);
  expect(one.stdout, one.stderr).toMatch(/sbatch .*--array=1 /);
  expect(one.stdout).toMatch(/^array +1-5:2, 2 at a time +job\.sh:2$/m);
  const run = await project.stint(["run", ...QUICK, "--name", "three", "job.sh", "seed-{task}"]);
  expect(run.status, run.stdout + run.stderr).toBe(0);
  for (const index of [1, 3, 5])
    expect(readFileSync(join(project.folder, `out-${index}.txt`), "utf8")).toBe(
      `task ${index} of 3 with seed-${index}: input ${index}\n`,
    );
  // The same for one index, over the line in the script.
  const other = await project.stint(["run", ...QUICK, "--name", "one", "-a", "5", "job.sh", "again-{task}"]);
  expect(other.status, other.stdout + other.stderr).toBe(0);
  expect(readFileSync(join(project.folder, "out-5.txt"), "utf8")).toContain("task 5 of 1 with again-5: input 5\n");
});

test("RUNNER_SCRIPT names the batch script where none is given, and not inside an attempt", async () => {
  const project = newProject();
  script(project, ['echo "by name: $APP_CMD"'], "checkpoint_runner.sh");
  const env = { RUNNER_SCRIPT: "checkpoint_runner.sh", APP_CMD: "./sim" };
  const run = await project.stint(["run", ...QUICK, "--name", "named"], { env });
  expect(run.status, run.stderr).toBe(0);
  expect(run.stderr).toContain("RUNNER_SCRIPT=checkpoint_runner.sh in the environment names the batch script");
  expect((await project.stint(["logs", "named"])).stdout).toContain("by name: ./sim");
  expect((await project.stint(["status", "named", "--spec"])).stdout).toMatch(
    /^command +checkpoint_runner\.sh +environment RUNNER_SCRIPT$/m,
  );
  const inside = await project.stint(["submit", "--dry-run", "--scheduler", "local"], {
    env: { ...env, STINT_TASK_ID: "/me/outer/0" },
  });
  expect(inside.stderr).toContain("there is no command");
});

test("a runner script with settings in the environment runs as a chain to its end, each iteration once", async () => {
  const project = newProject();
  const fixtures = join(import.meta.dirname, "../fixtures/runner");
  const bin = join(project.folder, "bin");
  mkdirSync(bin);
  for (const name of ["checkpoint_runner.sh", "count_iterations.py"])
    copyFileSync(join(fixtures, name), join(project.folder, name));
  copyFileSync(join(fixtures, "module"), join(bin, "module"));
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    RUNNER_SCRIPT: "checkpoint_runner.sh",
    CKPT_PATH: "state_iter.txt",
    MAX_ITER: "60",
    CHECKPOINT_EVERY: "20",
    RUNNER_TIME_LIMIT: "0:00:07",
    RUNNER_MARGIN_SEC: "4",
  };
  const quick = ["--scheduler", "local", "--kill-wait", "2s", "--sample-interval", "0.2s", "--backoff-first", "0.1s"];
  const run = await project.stint(["run", ...quick], { env });
  expect(run.status, run.stdout + run.stderr).toBe(0);
  expect(run.stderr).toMatch(/^checkpoint_runner\.sh:\d+,\d+,\d+: this #SBATCH line stands behind the first command/m);
  const trace = readFileSync(join(project.folder, "trace.txt"), "utf8").trim().split("\n");
  expect(trace.map((line) => Number(line.split(" ")[1]))).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
  expect(new Set(trace.map((line) => line.split(" ")[0])).size).toBeGreaterThanOrEqual(3);
  expect(run.stdout).toContain("checkpoint_runner: finished");
});
