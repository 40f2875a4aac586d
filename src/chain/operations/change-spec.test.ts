import { expect, test } from "vitest";
import { parseFlags, resolveSpec, settingFlags } from "../../spec/index.ts";
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
  expect(change([])).toEqual({ spec: onFile, origins: {}, changed: [] });
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
  };
  for (const { key, flags, placeholder } of resumeFlags.filter((option) => option.key !== "parallel")) {
    const value = samples[key] ?? (placeholder === "DURATION" ? "11s" : placeholder === "N" ? "7" : "other");
    const { changed } = change([`${flags[0]}=${value}`]);
    expect(changed, `${flags[0]}=${value}`).toEqual([key]);
  }
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
