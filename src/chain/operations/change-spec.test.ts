import { expect, test } from "vitest";
import { parseFlags, parseSiteFile, resolveSpec, settingFlags } from "../../spec/index.ts";
import { changeSpec, resumeFlags } from "./change-spec.ts";

const onFile = spec([
  "--limit",
  "10s",
  "--margin",
  "3s",
  "--checkpoint",
  "s.txt",
  "--total",
  "5",
  "--scheduler",
  "slurm",
]);

function spec(args: readonly string[]) {
  const resolution = resolveSpec({
    flags: parseFlags(args, settingFlags, { positionals: "anywhere" }).given,
    environment: {},
    file: null,
    command: ["sim", "--fast"],
    cwd: "/data",
    user: "ann",
    here: { insideAllocation: null, hasSbatch: true },
    node: "/usr/bin/node",
    runtime: "abc",
  });
  if (resolution.kind === "errors") throw new Error(resolution.errors.join("\n"));
  return resolution.spec;
}

const submitterJob = spec(["--scheduler", "slurm", "--mode", "submitter"]);

const change = (args: readonly string[]) =>
  changeSpec(onFile, parseFlags(args, resumeFlags, { positionals: "anywhere" }).given);

test("only what is given changes, and it keeps its origin", () => {
  const { spec: now, origins, changed } = change(["--limit", "8s", "--mem", "16G", "--budget-wall", "2d"]);
  expect(now).toEqual({
    ...onFile,
    limitMs: 8_000,
    slurm: { ...onFile.slurm, memory: "16G" },
    budgets: { ...onFile.budgets, wallMs: 172_800_000 },
  });
  expect(changed).toEqual(["limit", "slurm.mem", "budgets.wall"]);
  expect(origins).toEqual({ limit: "flag --limit", "slurm.mem": "flag --mem", "budgets.wall": "flag --budget-wall" });
});

test("the same value again changes nothing", () => {
  expect(change(["--limit", "10s"]).changed).toEqual([]);
  expect(change([])).toEqual({ spec: onFile, origins: {}, changed: [], notices: [] });
});

test("a limit below the margin on file is refused", () => {
  expect(() => change(["--limit", "2s"])).toThrow(/margin 3s \(on file\) is not below limit 2s/);
});

test("UNLIMITED is said to sbatch, and taken back with another limit", () => {
  const { spec: without } = change(["--limit", "UNLIMITED"]);
  expect(without.limitMs).toBeNull();
  expect(without.slurm.sbatch).toEqual(["--time=UNLIMITED"]);
  const again = changeSpec(without, parseFlags(["-t", "1:00:00"], resumeFlags, { positionals: "anywhere" }).given);
  expect(again.spec.limitMs).toBe(3_600_000);
  expect(again.spec.slurm.sbatch).toEqual([]);
});

test("every setting that resume offers can be laid over a specification", () => {
  const samples: Readonly<Record<string, string>> = {
    "checkpoint.every": "7",
    "checkpoint.progress": "json:.n",
    "slurm.cpus-per-task": "3",
    "slurm.sbatch": "--gres=gpu:1",
    "slurm.launch": "srun",
    "slurm.srun-args": "-n 4",
    "slurm.mem": "9G",
    env: "A=b",
    limit: "9m",
    margin: "4s",
    "term-to": "main",
    "saved-exits": "75",
    "backoff.first": "1s",
    "backoff.max": "20m",
    "submitter.limit": "9m",
    "submitter.margin": "4s",
    "submitter.mem": "9G",
    "submitter.sbatch": "--gres=gpu:1",
  };
  for (const { key, flags, placeholder, bare } of resumeFlags.filter((option) => option.key !== "parallel")) {
    const value = samples[key] ?? (placeholder === "DURATION" ? "11s" : placeholder === "N" ? "7" : "other");
    const file = key.startsWith("submitter.") ? submitterJob : onFile;
    const word = bare === "always" ? `${flags[0]}` : `${flags[0]}=${value}`;
    const { given } = parseFlags([word], resumeFlags, { positionals: "anywhere" });
    const { spec: now, changed } = changeSpec(file, given);
    expect(JSON.stringify(now), word).not.toBe(JSON.stringify(file));
    expect(changed, word).toEqual([key]);
  }
});

test("an option for sbatch takes the place of the same one, and the others stay", () => {
  const gpus = { ...onFile, slurm: { ...onFile.slurm, memory: "4G", sbatch: ["--gres=gpu:1", "--ntasks=4"] } };
  const over = (...args: string[]) =>
    changeSpec(gpus, parseFlags(args, resumeFlags, { positionals: "anywhere" }).given).spec.slurm;
  expect(over("--gres=gpu:2")).toMatchObject({ memory: "4G", sbatch: ["--ntasks=4", "--gres=gpu:2"] });
  const perCpu = over("--mem-per-cpu=2G");
  expect(perCpu).toMatchObject({ memory: null, sbatch: ["--gres=gpu:1", "--ntasks=4", "--mem-per-cpu=2G"] });
});

test("how many tasks run at a time can be changed, which tasks there are cannot", () => {
  const tasks = { kind: "array", indices: "1-9:2", parallel: 2 } as const;
  const flags = parseFlags(["--parallel", "4"], resumeFlags, { positionals: "anywhere" }).given;
  const { spec: now, changed } = changeSpec({ ...onFile, tasks, cwd: "/data/{task}" }, flags);
  expect(now.tasks).toEqual({ ...tasks, parallel: 4 });
  expect(changed).toEqual(["parallel"]);
  expect(() => change(["--parallel", "4"])).toThrow("needs several tasks");
  expect(resumeFlags.filter(({ key }) => key === "tasks" || key === "array")).toEqual([]);
});

test("how progress is read can be corrected, and a rule that cannot be used is refused", () => {
  const { spec: now, changed } = change(["--progress", "json:.step"]);
  expect(now).toEqual({ ...onFile, checkpoint: { path: "s.txt", progress: { kind: "json", path: ".step" } } });
  expect(changed).toEqual(["checkpoint.progress"]);
  expect(() => change(["--progress", "json:step"])).toThrow(/begins with a dot/);
});

test("the site's rules count for what is changed, and its defaults for nothing", async () => {
  const parsed = await parseSiteFile(
    "caps: {ahead: 1, attempts: 5}\ndefaults: {limit: 1s, margin: 20s}",
    "/etc/stint.yaml",
  );
  if (parsed.kind === "errors") throw new Error(parsed.errors.join("\n"));
  const { given } = parseFlags(["--ahead", "9", "--limit", "8s"], resumeFlags, { positionals: "anywhere" });
  const { spec: now, origins, notices } = changeSpec(onFile, given, parsed.site);
  expect(now).toEqual({ ...onFile, ahead: 1, limitMs: 8_000 });
  expect(notices).toEqual(["ahead 9 (flag --ahead) becomes 1: the site's rule (/etc/stint.yaml:1)"]);
  expect(origins).toEqual({ limit: "flag --limit", ahead: "/etc/stint.yaml:1, the site's rule" });
});

test("settings of the submitter's job change in mode submitter alone", () => {
  expect(() => change(["--submitter-mem", "1G"])).toThrow("submitter.mem: this job is in mode self");
  const { given } = parseFlags(["--submitter-limit", "UNLIMITED"], resumeFlags, { positionals: "anywhere" });
  expect(changeSpec(submitterJob, given).spec.submitter).toEqual({ ...submitterJob.submitter, limitMs: null });
  const short = parseFlags(["--submitter-limit", "30s"], resumeFlags, { positionals: "anywhere" });
  expect(() => changeSpec(submitterJob, short.given)).toThrow(/submitter.margin 1m \(on file\) is not below/);
});
