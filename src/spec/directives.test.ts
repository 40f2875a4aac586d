import { describe, expect, it } from "vitest";
import { type Directives, readDirectives } from "./directives.ts";
import { settingFlags } from "./option-table.ts";
import { parseFlags } from "./parse-flags.ts";
import { type Resolution, resolveSpec } from "./resolve.ts";
import { sbatchOptions } from "./sbatch-options.ts";

/** Each text is the words of one line, the first of them in line 2. */
function read(...lines: string[]): Directives {
  const words = lines.flatMap((line, index) => line.split(" ").map((text) => ({ text, line: index + 2 })));
  return readDirectives(words, "job.sh");
}

function texts(...lines: string[]): readonly string[] {
  const { given, errors } = read(...lines);
  expect(errors).toEqual([]);
  return given.map(({ text }) => text);
}

describe("options in #SBATCH lines", () => {
  it.each<[string, readonly string[]]>([
    ["--time=1:00", ["--time=1:00"]],
    ["--time 1:00", ["--time=1:00"]],
    ["-t 1:00 -t1:30", ["--time=1:00", "--time=1:30"]],
    ["-Hp main", ["--hold", "--partition=main"]],
    ["-sOn4", ["--oversubscribe", "--overcommit", "--ntasks=4"]],
    ["--parti main --mail-u=me", ["--partition=main", "--mail-user=me"]],
    ["--exclusive --exclusive=user", ["--exclusive", "--exclusive=user"]],
    ["--comment --mem", ["--comment=--mem"]],
    ["-t=3", ["--time==3"]],
    // What no known version of sbatch has: sbatch shall judge.
    ["--new=1 --newer x --newest --hold", ["--new=1", "--newer=x", "--newest", "--hold"]],
  ])("%s", (line, expected) => {
    expect(texts(line)).toEqual(expected);
  });

  it("are one command line, whatever lines they stand in", () => {
    const { settings, given } = read("--comment", "xx -n 2", "--ntasks=3 --time 5 --time=9");
    expect(given.map(({ text, at }) => `${text} ${at}`)).toEqual([
      "--comment=xx job.sh:2",
      "--ntasks=2 job.sh:3",
      "--ntasks=3 job.sh:4",
      "--time=5 job.sh:4",
      "--time=9 job.sh:4",
    ]);
    expect(settings.values.get("limit")).toEqual({ raw: { form: "text", text: "9" }, at: "job.sh:4", as: "--time" });
    expect(settings.values.get("slurm.sbatch")).toMatchObject({
      raw: { items: ["--comment=xx", "--ntasks=2", "--ntasks=3"] },
      at: "job.sh:2, job.sh:3, job.sh:4",
    });
  });

  it.each([
    ["-n 2 foo -t 3", 'job.sh:2: "foo" is no option, and sbatch refuses it as well'],
    ["-n 2 -- -t", 'job.sh:2: "-t" is no option, and sbatch refuses it as well'],
    ["--co=x", "job.sh:2: --co is the beginning of several options of sbatch: write the whole name"],
    ["--hold=1", "job.sh:2: --hold takes no value"],
    ["--mail-user", "job.sh:2: --mail-user needs a value"],
    ["-s1", "job.sh:2: sbatch has no option -1 (in -s1)"],
  ])("%s is refused, as by sbatch", (line, error) => {
    expect(read(line).errors).toEqual([error]);
  });
});

describe("the table of sbatch's options", () => {
  it("has each spelling and each environment name once", () => {
    const names = [
      ...sbatchOptions.map(({ long }) => long),
      ...sbatchOptions.flatMap(({ short }) => (short === null ? [] : [short])),
      ...sbatchOptions.flatMap(({ environment }) => environment),
    ];
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it("names settings by flags that they have", () => {
    for (const { long, short, becomes } of sbatchOptions) {
      if (becomes.what !== "setting") continue;
      const flags = settingFlags.find(({ key }) => key === becomes.key)?.flags ?? [];
      expect(flags, long).toEqual(expect.arrayContaining([long, ...(short === null ? [] : [short])]));
    }
  });
});

interface Given {
  readonly lines: readonly string[];
  readonly flags?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const NOW = new Date(2026, 10, 30, 12).getTime();

function resolve({ lines, flags = "--scheduler slurm", env = {} }: Given): Resolution {
  const parsed = parseFlags(flags.split(" "), settingFlags, { positionals: "first-ends" });
  expect(parsed.errors).toEqual([]);
  return resolveSpec({
    flags: parsed.given,
    environment: env,
    file: null,
    batch: {
      command: { kind: "batch", name: "job.sh", sha256: "ab", interpreter: ["/bin/bash"], args: ["x"] },
      directives: read(...lines),
      origin: "command line",
    },
    command: null,
    cwd: "/data/run",
    nowMs: NOW,
    user: "ann",
    here: { insideAllocation: null, hasSbatch: true },
    node: "/usr/bin/node",
    runtime: "abc123",
  });
}

function resolved(given: Given): Extract<Resolution, { kind: "resolved" }> {
  const resolution = resolve(given);
  if (resolution.kind === "errors") throw new Error(resolution.errors.join("\n"));
  return resolution;
}

describe("a batch script", () => {
  it("sets what its lines say, under flags and environment, each with its origin", () => {
    const { spec, origins, job } = resolved({
      lines: ["-t 4:00:00 -p long -A lab", "--gres=gpu:1 -n 2", "--qos=low --mem=4G -D sub -c 2"],
      flags: "--scheduler slurm -t 1:00:00 --gres=gpu:2",
      env: { SBATCH_PARTITION: "main", SBATCH_TIMELIMIT: "2:00:00" },
    });
    expect(job).toBe("/ann/job");
    expect(spec).toMatchObject({
      command: { kind: "batch", args: ["x"] },
      cwd: "/data/run/sub",
      limitMs: 3_600_000,
      slurm: { partition: "main", account: "lab", qos: "low", memory: "4G", cpusPerTask: 2 },
    });
    expect(spec.slurm.sbatch).toEqual(["--gres=gpu:1", "--ntasks=2", "--gres=gpu:2"]);
    expect(origins).toMatchObject({
      command: "command line",
      limit: "flag -t",
      "slurm.partition": "environment SBATCH_PARTITION",
      "slurm.account": "job.sh:2",
      "slurm.qos": "job.sh:4",
      "slurm.sbatch": "job.sh:3 + flag --gres",
      margin: "default",
    });
  });

  it("writes both streams into one file, unless two are named", () => {
    const one = resolved({ lines: ["-o log-%j.txt"] });
    expect(one.spec.output).toEqual({ stdout: "/data/run/log-%j.txt", stderr: "/data/run/log-%j.txt" });
    expect(one.origins.error).toBe("as output (job.sh:2)");
    const two = resolved({ lines: ["-o a -e b -i c"] });
    expect(two.spec).toMatchObject({ output: { stdout: "/data/run/a", stderr: "/data/run/b" }, input: "/data/run/c" });
    expect(resolved({ lines: ["-n 1"] }).spec.output).toEqual({ stdout: null, stderr: null });
  });

  it("may begin later, behind other jobs, or on hold", () => {
    const { spec } = resolved({ lines: ["-H -d afterok:7 --begin=now+1hour"] });
    expect(spec.untilFirstRun).toEqual({ beginAtMs: NOW + 3_600_000, dependency: "afterok:7", hold: true });
    expect(resolved({ lines: ["-n 1"] }).spec.untilFirstRun).toBeUndefined();
    expect(resolved({ lines: ["-H"], flags: "--scheduler slurm --no-hold" }).spec.untilFirstRun).toBeUndefined();
  });

  it("reads the names of the environment that are its own itself", () => {
    const env = {
      APP_CMD: "x",
      LAUNCH_MODE: "srun",
      SRUN_ARGS: "-n 4",
      MODULE_LIST: "gcc",
      CKPT_PATH: "s",
      MAX_ITER: "9",
    };
    const { spec } = resolved({ lines: ["-n 1"], env });
    expect(spec).toMatchObject({ command: { kind: "batch" }, checkpoint: { path: "s" }, total: 9 });
    expect(spec.slurm).toMatchObject({ launch: "direct", srunArgs: [], modules: [] });
  });

  it("is told what comes otherwise than asked for", () => {
    const { warnings, spec, origins } = resolved({
      lines: ["--requeue --open-mode=append -v", "--signal=B:USR1@120 -t 10", "--open-mode=truncate"],
    });
    expect(warnings).toEqual([
      expect.stringMatching(/^job\.sh:2: --requeue is not handed on to sbatch: whatever ends/),
      expect.stringMatching(/^job\.sh:3: --signal=B:USR1@120 is not handed on to sbatch: TERM comes/),
      expect.stringMatching(/^job\.sh:4: --open-mode=truncate is not handed on/),
    ]);
    expect(spec.slurm.sbatch).toEqual([]);
    expect(spec.marginMs).toBe(120_000);
    expect(origins.margin).toBe("--signal, job.sh:3");
    expect(resolved({ lines: ["--signal=USR1@120"], flags: "--margin 30s" }).spec.marginMs).toBe(30_000);
  });

  it("of several tasks says so in a line as it does to sbatch", () => {
    const { spec, origins } = resolved({ lines: ["-n 1", "--array=0-6:2%3"], flags: "--scheduler local" });
    expect(spec.tasks).toEqual({ kind: "array", indices: "0-6:2", parallel: 3 });
    expect(origins.array).toBe("job.sh:3");
  });

  it("on local is told in one line what means nothing there", () => {
    const lines = ["-p long -n 4 -t 5", "--gres=gpu:1 --deadline=16:00 -J sim"];
    const { notices, spec } = resolved({ lines, flags: "--scheduler local -A lab" });
    expect(notices).toEqual([
      "not used, since the scheduler is local: slurm.account, --partition=long (job.sh:2), --ntasks=4 (job.sh:2), --gres=gpu:1 (job.sh:3), --deadline=16:00 (job.sh:3)",
    ]);
    expect(spec).toMatchObject({ name: "sim", limitMs: 300_000 });
  });

  it.each([
    [["-n 1", "--array=3-0"], "job.sh:3: --array: "],
    [["-M other"], "job.sh:2: --clusters=other cannot be used: only the cluster of this host"],
    [["-t soon"], "job.sh:2: --time: "],
    [["foo"], 'job.sh:2: "foo" is no option'],
  ])("%j is refused, with its line", (lines, error) => {
    const resolution = resolve({ lines });
    expect(resolution.kind === "errors" ? resolution.errors : []).toEqual([expect.stringContaining(error)]);
  });
});
