import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { environmentNames, optionTable, settingFlags } from "./option-table.ts";
import { parseFlags } from "./parse-flags.ts";
import { type Resolution, type ResolveInput, resolveSpec } from "./resolve.ts";
import { parseSpecFile } from "./spec-file.ts";

interface Given {
  readonly flags?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly yaml?: string;
  readonly fileName?: string;
  readonly command?: readonly string[] | null;
  readonly here?: ResolveInput["here"];
  readonly implied?: ResolveInput["implied"];
}

async function resolve(given: Given = {}): Promise<Resolution> {
  const words = (given.flags ?? "").split(" ").filter((word) => word !== "");
  const parsed = parseFlags(words, settingFlags, { positionals: "first-ends" });
  expect(parsed.errors).toEqual([]);
  const file = given.yaml === undefined ? null : await parseSpecFile(given.yaml, given.fileName ?? "stint.yaml");
  if (file?.kind === "errors") throw new Error(file.errors.join("\n"));
  return resolveSpec({
    flags: parsed.given,
    ...(given.implied === undefined ? {} : { implied: given.implied }),
    environment: given.env ?? {},
    file: file?.file ?? null,
    command: given.command === undefined ? ["python3", "sim.py"] : given.command,
    cwd: "/data/run",
    user: "ann",
    here: given.here ?? { insideAllocation: null, hasSbatch: false },
    node: "/usr/bin/node",
    runtime: "abc123",
  });
}

async function resolved(given: Given = {}): Promise<Extract<Resolution, { kind: "resolved" }>> {
  const resolution = await resolve(given);
  if (resolution.kind === "errors") throw new Error(resolution.errors.join("\n"));
  return resolution;
}

async function errorsOf(given: Given): Promise<readonly string[]> {
  const resolution = await resolve(given);
  return resolution.kind === "errors" ? resolution.errors : [];
}

describe("defaults", () => {
  it("are those of the design", async () => {
    const { spec, job, origins, notices } = await resolved();
    expect(job).toBe("/ann/python3-sim");
    expect(spec).toEqual({
      version: 1,
      name: "python3-sim",
      tasks: null,
      command: { kind: "argv", argv: ["python3", "sim.py"] },
      cwd: "/data/run",
      checkpoint: null,
      total: null,
      limitMs: null,
      marginMs: 60_000,
      scheduler: "local",
      allocationEndAtMs: null,
      allocationCpus: null,
      allocationId: null,
      mode: "self",
      ahead: 0,
      budgets: {
        failures: 3,
        stalled: 2,
        preemptions: 100,
        infrastructure: 10,
        neverRan: 5,
        inARow: 20,
        attempts: 1000,
        wallMs: 30 * 86_400_000,
      },
      backoffFirstMs: 10_000,
      backoffMaxMs: 600_000,
      sampleIntervalMs: null,
      killWaitMs: 30_000,
      termTo: "all",
      savedExitCodes: [99, 124],
      env: {},
      checkpointEvery: null,
      output: { stdout: null, stderr: null },
      node: "/usr/bin/node",
      runtime: "abc123",
      slurm: {
        partition: null,
        account: null,
        qos: null,
        cpusPerTask: null,
        memory: null,
        nodes: null,
        exclude: null,
        sbatch: [],
        launch: "direct",
        srunArgs: [],
        modules: [],
      },
      timing: {
        proofWaitMs: 600_000,
        doubtfulTwiceMs: 60_000,
        nodesBackMs: 60_000,
        heartbeatSilentMs: 300_000,
        fenceMs: 120_000,
        unclearMs: 80_000,
        pollMs: 1000,
      },
    });
    expect(origins).toMatchObject({ command: "command line", margin: "default", limit: "default", name: "default" });
    expect(notices).toEqual([]);
  });

  it.each([
    [{ insideAllocation: null, hasSbatch: true }, "slurm", 2, 30_000, "default (sbatch is on PATH)"],
    [{ insideAllocation: null, hasSbatch: false }, "local", 0, 1000, "default (no sbatch on PATH)"],
    [{ insideAllocation: "slurm", hasSbatch: true }, "local", 0, 1000, "default (inside an allocation)"],
    [{ insideAllocation: "local-only", hasSbatch: true }, "local", 0, 1000, "default (inside an allocation)"],
  ] as const)("choose the scheduler by where we are: %j gives %s", async (here, scheduler, ahead, pollMs, origin) => {
    const { spec, origins } = await resolved({ here });
    expect(spec).toMatchObject({ scheduler, ahead, timing: { pollMs } });
    expect(origins.scheduler).toBe(origin);
  });

  it("leave a scheduler that was named alone", async () => {
    const here = { insideAllocation: null, hasSbatch: true };
    expect((await resolved({ flags: "--scheduler local", here })).spec).toMatchObject({ scheduler: "local", ahead: 0 });
    expect((await resolved({ env: { STINT_SCHEDULER: "slurm" } })).origins.scheduler).toBe(
      "environment STINT_SCHEDULER",
    );
  });

  it.each([
    ["name: x\ncommand: y\n", "stint.yaml", "x"],
    ["command: python3 sim.py\n", "stint.yaml", "python3-sim"],
    ["command: python3 sim.py\n", "jobs/my sweep.yml", "my-sweep"],
  ])("name the job after its file or command: %j in %s gives %s", async (yaml, fileName, name) => {
    expect((await resolved({ yaml, fileName, command: null })).spec.name).toBe(name);
  });
});

describe("the order of sources", () => {
  const ALL: Required<Pick<Given, "flags" | "env" | "yaml">> = {
    flags: "-t 10m",
    env: { STINT_LIMIT: "20m", RUNNER_TIME_LIMIT: "00:30:00", SBATCH_TIMELIMIT: "40" },
    yaml: "command: x\nlimit: 50m\n",
  };
  const without = (...names: string[]) =>
    Object.fromEntries(Object.entries(ALL.env).filter(([name]) => !names.includes(name)));

  it.each([
    [ALL, 10, "flag -t"],
    [{ ...ALL, flags: "" }, 20, "environment STINT_LIMIT"],
    [{ ...ALL, flags: "", env: without("STINT_LIMIT") }, 30, "environment RUNNER_TIME_LIMIT"],
    [{ ...ALL, flags: "", env: without("STINT_LIMIT", "RUNNER_TIME_LIMIT") }, 40, "environment SBATCH_TIMELIMIT"],
    [{ ...ALL, flags: "", env: {} }, 50, "stint.yaml:2:8"],
    [{ ...ALL, flags: "", env: { STINT_LIMIT: "", RUNNER_TIME_LIMIT: "" } }, 50, "stint.yaml:2:8"],
    [{ yaml: "command: x\n" }, null, "default"],
  ])("%# gives %j", async (given, minutes, origin) => {
    const { spec, origins } = await resolved(given);
    expect(spec.limitMs).toBe(minutes === null ? null : minutes * 60_000);
    expect(origins.limit).toBe(origin);
  });

  it("puts what the command implies under the flags and above the rest", async () => {
    const implied = new Map([["mode", { text: "attached", origin: "stint run" }]]);
    const yaml = "command: x\nmode: self\n";
    const run = await resolved({ implied, yaml, env: { STINT_MODE: "self" } });
    expect([run.spec.mode, run.origins.mode]).toEqual(["attached", "stint run"]);
    expect((await resolved({ implied, yaml, flags: "--mode self" })).origins.mode).toBe("flag --mode");
  });

  it("takes the command from --, STINT has no name for it, then APP_CMD, then the file", async () => {
    const yaml = "command: [from, file]\n";
    const env = { APP_CMD: "from seed | cat" };
    expect((await resolved({ yaml, env })).spec.command).toEqual({ kind: "argv", argv: ["python3", "sim.py"] });
    const seed = await resolved({ yaml, env, command: null });
    expect([seed.spec.command, seed.origins.command]).toEqual([
      { kind: "shell", text: "from seed | cat" },
      "environment APP_CMD",
    ]);
    expect((await resolved({ yaml, command: null })).spec.command).toEqual({ kind: "argv", argv: ["from", "file"] });
  });

  it("joins variables name by name, flags over file", async () => {
    const { spec, origins } = await resolved({
      yaml: "env: {A: 1, B: 0.10}\n",
      flags: "--env B=2 --env C=x=y --env D=",
    });
    expect(spec.env).toEqual({ A: "1", B: "2", C: "x=y", D: "" });
    expect(origins).toMatchObject({ "env.A": "stint.yaml:1:6", "env.B": "flag --env", "env.D": "flag --env" });
    expect(origins.env).toBeUndefined();
  });

  it("joins what is handed on to sbatch, flags last", async () => {
    const { spec, origins } = await resolved({
      flags: "--scheduler slurm --gres=gpu:2 -n 4",
      env: { STINT_SBATCH_ARG: "--exclusive '--comment=a b'" },
      yaml: "slurm: {sbatch: [--gres=gpu:1]}\n",
    });
    expect(spec.slurm.sbatch).toEqual(["--gres=gpu:1", "--exclusive", "--comment=a b", "--gres=gpu:2", "--ntasks=4"]);
    expect(origins["slurm.sbatch"]).toBe("stint.yaml:1:17 + environment STINT_SBATCH_ARG + flag -n");
  });

  it("has an origin for every setting that a spec has", async () => {
    const { origins } = await resolved();
    const missing = optionTable.map(({ key }) => key).filter((key) => origins[key] === undefined);
    // No checkpoint, so nothing to read progress from; variables have an origin each.
    expect(missing).toEqual(["checkpoint.progress", "env"]);
  });
});

describe("the environment", () => {
  it("knows the seed's names, in the seed's units, and says which were used", async () => {
    const env = {
      CKPT_PATH: "state_iter.txt",
      MAX_ITER: "500",
      CHECKPOINT_EVERY: "20",
      APP_CMD: "python3 checkpoint_signal_iter.py",
      LAUNCH_MODE: "srun",
      MODULE_LIST: "gcc anaconda3/2023.07",
      SRUN_ARGS: "-n 1",
      RUNNER_MARGIN_SEC: "45",
      RUNNER_TIME_LIMIT: "00:03:00",
      SUBMITTER_MARGIN_SEC: "30",
      SUBMITTER_TIME_LIMIT: "3:30",
      RUNNER_SCRIPT: "checkpoint_runner.sh",
      UNRELATED: "1",
    };
    const { spec, submitter, notices, job } = await resolved({ env, command: null });
    expect(job).toBe("/ann/python3-checkpoint_signal_iter");
    expect(spec).toMatchObject({
      command: { kind: "shell", text: "python3 checkpoint_signal_iter.py" },
      checkpoint: { path: "state_iter.txt", progress: { kind: "number" } },
      total: 500,
      checkpointEvery: "20",
      limitMs: 180_000,
      marginMs: 45_000,
      slurm: { launch: "srun", srunArgs: ["-n", "1"], modules: ["gcc", "anaconda3/2023.07"] },
    });
    expect(submitter).toMatchObject({ limitMs: 210_000, marginMs: 30_000, memory: "256M" });
    for (const name of Object.keys(env).filter((name) => name !== "UNRELATED")) {
      expect(
        notices.filter((notice) => notice.startsWith(name)),
        name,
      ).toHaveLength(1);
    }
    expect(notices).toContain("RUNNER_TIME_LIMIT=00:03:00 in the environment sets limit");
    expect(notices).toContain("RUNNER_SCRIPT in the environment is not used: there is other input");
    expect(notices).toContain("not used, since the mode is self: submitter.limit, submitter.margin");
    expect(notices.join()).not.toContain("UNRELATED");
  });

  it("keeps a name of sbatch's for Slurm where it cannot be one of ours", async () => {
    const { spec, origins, notices } = await resolved({ env: { SBATCH_JOB_NAME: "my job/1" } });
    expect(spec).toMatchObject({ name: "my-job-1", slurm: { jobName: "my job/1" } });
    expect(origins).toMatchObject({ name: "environment SBATCH_JOB_NAME" });
    expect(notices).toEqual([
      "the job is called my-job-1 here: 'my job/1' (environment SBATCH_JOB_NAME) cannot be a name of ours",
    ]);
    expect((await resolved({ flags: "-J sim" })).spec.slurm.jobName).toBeUndefined();
  });

  it("hands sbatch's other names on where sbatch is called, and lets the strongest word on memory count", async () => {
    const env = { SBATCH_CONSTRAINT: "gpu", SBATCH_OVERCOMMIT: "1", SBATCH_MEM_PER_CPU: "100M" };
    const slurm = await resolved({ flags: "--scheduler slurm --gres=gpu:1", env, yaml: "slurm: {mem: 4G}\n" });
    expect(slurm.spec.slurm).toMatchObject({
      memory: null,
      sbatch: ["--constraint=gpu", "--mem-per-cpu=100M", "--overcommit", "--gres=gpu:1"],
    });
    expect(slurm.notices).toContain("SBATCH_CONSTRAINT in the environment hands --constraint=gpu on to sbatch");
    const byFlag = await resolved({ flags: "--scheduler slurm --mem 2G", env });
    expect(byFlag.spec.slurm).toMatchObject({ memory: "2G", sbatch: ["--constraint=gpu", "--overcommit"] });
    expect((await resolved({ flags: "--scheduler local", env })).spec.slurm.sbatch).toEqual([]);
  });

  it("knows sbatch's names", async () => {
    const env = {
      SBATCH_PARTITION: "long",
      SBATCH_ACCOUNT: "lab",
      SBATCH_QOS: "high",
      SBATCH_JOB_NAME: "sim",
      SBATCH_TIMELIMIT: "1-12",
      SBATCH_MEM_PER_NODE: "4000",
      SBATCH_OUTPUT: "o",
      SBATCH_ERROR: "/e",
    };
    const { spec } = await resolved({ env });
    expect(spec).toMatchObject({
      name: "sim",
      limitMs: 36 * 3_600_000,
      output: { stdout: "/data/run/o", stderr: "/e" },
      slurm: { partition: "long", account: "lab", qos: "high", memory: "4000M" },
    });
  });

  it("has a name of ours for every flag", async () => {
    const own = environmentNames.filter(({ family }) => family === "stint").map(({ name }) => name);
    expect(own).toEqual(
      expect.arrayContaining([
        "STINT_NAME",
        "STINT_CHECKPOINT",
        "STINT_TOTAL",
        "STINT_TIMING_FENCE",
        "STINT_BUDGET_WALL",
      ]),
    );
    const { spec } = await resolved({
      env: { STINT_TIMING_FENCE: "2s", STINT_BUDGET_FAILURES: "7", STINT_SAVED_EXITS: "99,75,85" },
    });
    expect(spec).toMatchObject({ timing: { fenceMs: 2000 }, budgets: { failures: 7 }, savedExitCodes: [99, 75, 85] });
  });

  it("does not take for a child's settings what the runner exported, nor the outer job's command", async () => {
    const env = {
      STINT_TASK_ID: "/ann/outer/0",
      STINT_ATTEMPT: "3",
      STINT_RESUME: "1",
      CKPT_PATH: "outer.txt",
      MAX_ITER: "500",
      CHECKPOINT_EVERY: "20",
      APP_CMD: "outer",
      RUNNER_SCRIPT: "r.sh",
      RUNNER_TIME_LIMIT: "00:10:00",
    };
    const { spec, notices } = await resolved({ env });
    expect(spec).toMatchObject({ checkpoint: null, total: null, checkpointEvery: null, limitMs: 600_000 });
    expect(notices).toEqual(["RUNNER_TIME_LIMIT=00:10:00 in the environment sets limit"]);
    expect(await errorsOf({ env, command: null })).toEqual([
      expect.stringContaining("APP_CMD belongs to the job that this runs in"),
    ]);
  });

  it("ignores what a runner exports and what is the installation's", async () => {
    const env = { STINT_JOB_ID: "x", STINT_DEADLINE: "1", STINT_MARK: "m", STINT_DIR: "/d", STINT_SITE: "/s" };
    expect((await resolved({ env })).notices).toEqual([]);
  });

  it("names a mistyped name of ours", async () => {
    expect((await resolved({ env: { STINT_LIMTI: "4h", STINT_ZZZZZZ: "1" } })).notices).toEqual([
      "STINT_LIMTI in the environment is no setting; did you mean STINT_LIMIT?",
    ]);
  });

  it("shows no control characters", async () => {
    const { notices } = await resolved({ env: { APP_CMD: "a\x1b[31m\nb" }, command: null });
    expect(notices).toEqual(["APP_CMD='a?[31m?b' in the environment sets command"]);
  });
});

describe("values", () => {
  it.each([
    ["--progress number", { kind: "number" }],
    ["--progress json:.run.step", { kind: "json", path: ".run.step" }],
    ["--progress pattern:step:(\\d+)", { kind: "pattern", pattern: "step:(\\d+)" }],
    ["--progress files:restart.*", { kind: "files", glob: "restart.*" }],
  ])("reads %s", async (flags, progress) => {
    const { spec } = await resolved({ flags: `--checkpoint sub/state ${flags}` });
    expect(spec.checkpoint).toEqual({ path: "sub/state", progress });
  });

  it.each([
    ["progress: number", { kind: "number" }],
    ["progress: {json: .step}", { kind: "json", path: ".step" }],
    ["progress: {pattern: 'step (\\d+)'}", { kind: "pattern", pattern: "step (\\d+)" }],
    ["progress: {files: 'restart.*'}", { kind: "files", glob: "restart.*" }],
  ])("reads %s from a file", async (line, progress) => {
    expect((await resolved({ yaml: `checkpoint:\n  path: s\n  ${line}\n` })).spec.checkpoint).toEqual({
      path: "s",
      progress,
    });
  });

  it("makes output absolute as seen from the working folder", async () => {
    const { spec } = await resolved({ flags: "-D ../other/ -o logs/../o.txt -e /tmp/e" });
    expect(spec).toMatchObject({ cwd: "/data/other", output: { stdout: "/data/other/o.txt", stderr: "/tmp/e" } });
  });

  it("takes a percent sign in the working folder's name as it stands", async () => {
    const { spec } = await resolved({ flags: "-D ../50%a -o %j.txt -e /tmp/%t" });
    expect(spec.output).toEqual({ stdout: "/data/50%%a/%j.txt", stderr: "/tmp/%t" });
  });

  it("hands UNLIMITED on to Slurm and takes it for no limit on local", async () => {
    expect((await resolved({ flags: "--scheduler slurm -t UNLIMITED" })).spec).toMatchObject({
      limitMs: null,
      slurm: { sbatch: ["--time=UNLIMITED"] },
    });
    expect((await resolved({ flags: "-t UNLIMITED" })).spec).toMatchObject({ limitMs: null, slurm: { sbatch: [] } });
  });

  it.each([
    [{ flags: "--margin auto --limit 30s" }, "flag --margin"],
    [{ env: { STINT_MARGIN: "auto" } }, "environment STINT_MARGIN"],
    [{ env: { RUNNER_MARGIN_SEC: "auto" } }, "environment RUNNER_MARGIN_SEC"],
    [{ yaml: "margin: auto\nlimit: 10s\n" }, "stint.yaml:1:9"],
  ])("takes a margin that is sized by itself, with any limit and without one: %j", async (given, origin) => {
    const { spec, origins } = await resolved(given);
    expect([spec.marginMs, origins.margin]).toEqual(["auto", origin]);
  });

  it("normalises memory to what sbatch takes", async () => {
    expect((await resolved({ flags: "--scheduler slurm --mem 1.5G" })).spec.slurm.memory).toBe("1536M");
  });

  it.each([
    [{ yaml: "env: {CHECKPOINT_EVERY: '20'}\n" }, "20", "stint.yaml:1:6"],
    [{ yaml: "env: {CHECKPOINT_EVERY: 20}\ncheckpoint: {every: 30}\n" }, "30", "stint.yaml:2:21"],
    [{ yaml: "env: {CHECKPOINT_EVERY: 20}\n", env: { CHECKPOINT_EVERY: "5" } }, "5", "environment CHECKPOINT_EVERY"],
    [{ flags: "--env CHECKPOINT_EVERY=7", env: { CHECKPOINT_EVERY: "5" } }, "7", "flag --env"],
    [{ flags: "--env CHECKPOINT_EVERY=7 --checkpoint-every 9" }, "9", "flag --checkpoint-every"],
  ])("takes CHECKPOINT_EVERY for one setting wherever it stands: %j", async (given, every, origin) => {
    const { spec, origins } = await resolved(given);
    expect(spec.checkpointEvery).toBe(every);
    expect(spec.env).toEqual({});
    expect(origins["checkpoint.every"]).toBe(origin);
    expect(origins["env.CHECKPOINT_EVERY"]).toBeUndefined();
  });

  it("brings any argument and any variable through unchanged", async () => {
    const text = fc.string({ unit: "binary" }).map((value) => value.replaceAll("\0", ""));
    await fc.assert(
      fc.asyncProperty(fc.array(text), text, async (args, value) => {
        const flags = parseFlags([`--env=X=${value}`], settingFlags, { positionals: "first-ends" }).given;
        const resolution = resolveSpec({
          flags,
          environment: {},
          file: null,
          command: ["prog", ...args],
          cwd: "/",
          user: "ann",
          here: { insideAllocation: null, hasSbatch: false },
          node: "/n",
          runtime: "r",
        });
        expect(resolution).toMatchObject({
          kind: "resolved",
          spec: { command: { argv: ["prog", ...args] }, env: { X: value } },
        });
      }),
    );
  });
});

describe("refusals", () => {
  const REFUSED: readonly (readonly [Given, string])[] = [
    [
      { flags: "--limit 30s" },
      "margin 1m (default) is not below limit 30s (flag --limit): no time would be left to compute; choose a shorter margin or a longer limit",
    ],
    [{ flags: "-t 1 --margin 1m" }, "margin 1m (flag --margin) is not below limit 1m (flag -t)"],
    [
      { flags: "--margin 60" },
      '--margin 60: "60" is a number without a unit, which could mean seconds or minutes; write 60s or 60m',
    ],
    [{ flags: "--margin automatic" }, '--margin automatic: cannot read "automatic" as a duration'],
    [{ flags: "--limit 5x" }, '--limit 5x: cannot read "5x" as a duration'],
    [{ flags: "--limit 0" }, "--limit 0: 0 asks Slurm for no limit at all"],
    [
      { env: { RUNNER_TIME_LIMIT: "1:99:00" } },
      'RUNNER_TIME_LIMIT=1:99:00: cannot read "1:99:00" as a duration: understood 1h, then 99 minutes',
    ],
    [{ env: { RUNNER_MARGIN_SEC: "soon" } }, 'RUNNER_MARGIN_SEC=soon: cannot read "soon"'],
    [{ yaml: "name: x\nlimit: 2h 30\n" }, 'stint.yaml:2:8: limit: cannot read "2h 30" as a duration'],
    [
      { flags: "--total 500" },
      "total (flag --total) cannot be read without a checkpoint; name it with --checkpoint PATH",
    ],
    [{ env: { MAX_ITER: "500" } }, "total (environment MAX_ITER) cannot be read without a checkpoint"],
    [{ flags: "--progress json:.x" }, "checkpoint.progress cannot be read without a checkpoint"],
    [{ flags: "--checkpoint s --progress jsn:.x" }, "--progress jsn:.x: expected number, json:.step"],
    [{ flags: "--checkpoint s --progress json:" }, '--progress json:: nothing stands behind "json"'],
    [{ flags: "--total 0 --checkpoint s" }, '--total 0: expected a number above 0, found "0"'],
    [{ flags: "--total many --checkpoint s" }, '--total many: expected a number above 0, found "many"'],
    [{ flags: "--scheduler pbs" }, '--scheduler pbs: expected one of local, slurm, found "pbs"'],
    [{ flags: "--mode daemon" }, '--mode daemon: expected one of self, attached, submitter, found "daemon"'],
    [{ flags: "--mode submitter" }, "mode submitter (flag --mode) needs the scheduler slurm"],
    [
      { flags: "--scheduler slurm --mode submitter --submitter-limit 1m" },
      "submitter.margin 1m (default) is not below submitter.limit 1m (flag --submitter-limit)",
    ],
    [{ flags: "--ahead -1" }, '--ahead -1: expected a whole number, at least 0 and at most 100, found "-1"'],
    [{ flags: "--ahead 101" }, "--ahead 101: expected a whole number"],
    [{ flags: "--name a/b" }, '--name a/b: "a/b" cannot be a name: it holds a slash; for example a-b'],
    [{ flags: "--mem lots" }, '--mem lots: cannot read "lots" as a memory size'],
    [{ flags: "--mem 4Gn" }, '--mem 4Gn: "4Gn" is accounting\'s form'],
    [{ flags: "--cpus-per-task 0" }, "--cpus-per-task 0: expected a whole number, at least 1"],
    [{ flags: "--saved-exits 99,300" }, '--saved-exits 99,300: "300" is not an exit code between 1 and 255'],
    [{ flags: "--saved-exits 76" }, "--saved-exits 76: 76 has a meaning of its own (stop, nothing to gain)"],
    [{ flags: "--env A" }, '--env A: "A" has no value: expected NAME=VALUE'],
    [{ flags: "--env 1A=x" }, ': "1A" is not a name of a variable'],
    [{ flags: "--env CKPT_PATH=x" }, "CKPT_PATH is set for every attempt: set checkpoint.path (--checkpoint)"],
    [{ yaml: "env: {MAX_ITER: 5}\n" }, "stint.yaml:1:6: env: MAX_ITER is set for every attempt: set total (--total)"],
    [{ flags: "--env STINT_ATTEMPT=1" }, "STINT_ATTEMPT is set for every attempt: it cannot be chosen"],
    [{ flags: "--sbatch-arg --requeue" }, "--requeue cannot be handed on to sbatch: whatever ends"],
    [{ yaml: "slurm: {sbatch: ['--time=5']}\n" }, "--time cannot be handed on to sbatch; the setting for it is limit"],
    [{ env: { STINT_SBATCH_ARG: "'open" } }, "a quote is left open"],
    [{ env: { SRUN_ARGS: "-n '1" } }, "a quote is left open"],
    [{ flags: "--backoff-first 20m" }, "backoff.max 10m is shorter than backoff.first 20m"],
    [{ flags: "--timing-fence 0s" }, "--timing-fence 0s: must be longer than 0 s"],
    [{ flags: "--kill-wait UNLIMITED" }, '--kill-wait UNLIMITED: "UNLIMITED" has no end'],
    [{ flags: "--output=" }, "--output '': must not be empty"],
    [{ command: [] }, "the command behind --: the program's name is empty"],
    [{ command: null, env: { APP_CMD: "  " } }, "APP_CMD='  ': must not be empty"],
    [{ command: null }, "there is no command; name a batch script, give one behind --, as command:"],
    [{ flags: "--dependency afterok:7" }, "dependency afterok:7 (flag --dependency) cannot be waited for on local"],
    [{ flags: "-H" }, "hold (flag -H) is not possible on local"],
    [{ flags: "--begin soon" }, '--begin soon: "soon" is not understood: write 16:00'],
    [
      { flags: "--scheduler slurm", env: { SBATCH_WAIT: "1" } },
      "environment SBATCH_WAIT: --wait cannot be used: follow the job with",
    ],
  ];

  it.each(REFUSED)("%j is refused, with the reason", async (given, error) => {
    const errors = await errorsOf(given);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(error);
    expect(errors[0]).not.toContain("\n");
  });

  it("come all at once", async () => {
    expect(await errorsOf({ flags: "--limit x --margin y --mode z", command: null })).toHaveLength(4);
  });

  it("say what is given and not used", async () => {
    expect((await resolved({ flags: "--partition long -c 4 --submitter-mem 1G" })).notices).toEqual([
      "not used, since the scheduler is local: slurm.partition, slurm.cpus-per-task",
      "not used, since the mode is self: submitter.mem",
    ]);
  });
});
