/** Settings given to `resume`, laid over the specification on file. */
import { checkProgressRule } from "../../checkpoint/index.ts";
import type { JobSpec, Origins } from "../../core/index.ts";
import { formatDuration } from "../../core/index.ts";
import { type FlagOption, type FlagValues, resolveSpec, settingFlags } from "../../spec/index.ts";
import { StintError } from "./errors.ts";

export interface ChangedSpec {
  readonly spec: JobSpec;
  /** Of the changed values only. */
  readonly origins: Origins;
  /** Keys of what is different now. */
  readonly changed: readonly string[];
}

const FIXED = new Set(["name", "command", "tasks", "array", "cwd", "checkpoint.path", "scheduler", "mode"]);

/** What may change between two attempts of one job: everything but what makes it this job. */
export const resumeFlags: readonly FlagOption[] = settingFlags.filter(
  ({ key }) => !FIXED.has(key) && !key.startsWith("submitter."),
);

/** Throws StintError `usage` for values that cannot be read or do not go together (margin and limit). */
export function changeSpec(onFile: JobSpec, flags: FlagValues): ChangedSpec {
  const keys = new Set(resumeFlags.map((option) => option.key));
  const given: FlagValues = new Map([...flags].filter(([key]) => keys.has(key)));
  if (given.size === 0) return { spec: onFile, origins: {}, changed: [] };
  const resolution = resolveSpec({
    flags: given,
    implied: impliedBy(onFile),
    environment: {},
    file: null,
    command: ["true"],
    cwd: onFile.cwd,
    user: "me",
    here: { insideAllocation: null, hasSbatch: false },
    node: onFile.node,
    runtime: onFile.runtime,
  });
  if (resolution.kind === "errors") throw new StintError("usage", resolution.errors.join("\n"));
  const spec = overlay(onFile, resolution.spec, given);
  const origins = Object.fromEntries(
    Object.entries(resolution.origins).filter(([, origin]) => origin.startsWith("flag ")),
  );
  const changed = JSON.stringify(spec) === JSON.stringify(onFile) ? [] : [...given.keys()];
  return { spec, origins, changed };
}

/** What the checks between settings need to know of the values that stay. */
function impliedBy(spec: JobSpec): ReadonlyMap<string, { readonly text: string; readonly origin: string }> {
  const values: [string, string | null][] = [
    ["name", spec.name],
    ["scheduler", spec.scheduler],
    ["limit", spec.limitMs === null ? null : formatDuration(spec.limitMs)],
    ["margin", spec.marginMs === "auto" ? "auto" : formatDuration(spec.marginMs)],
    ["checkpoint.path", spec.checkpoint?.path ?? null],
    ["array", spec.tasks?.indices ?? null],
    ["backoff.first", formatDuration(spec.backoffFirstMs)],
    ["backoff.max", formatDuration(spec.backoffMaxMs)],
  ];
  return new Map(values.flatMap(([key, text]) => (text === null ? [] : [[key, { text, origin: "on file" }]])));
}

type Taker = (now: JobSpec, onFile: JobSpec) => Partial<JobSpec>;

/** The given keys of `now` over `onFile`. */
function overlay(onFile: JobSpec, now: JobSpec, given: FlagValues): JobSpec {
  let spec = onFile;
  for (const key of given.keys()) {
    const take = TAKERS[key] ?? takerOf(key);
    if (take === null) throw new StintError("usage", `${key} cannot be changed for a job that is on file`);
    spec = { ...spec, ...take(now, spec) };
  }
  return spec;
}

const TAKERS: Readonly<Record<string, Taker>> = {
  limit: (now, file) => ({
    limitMs: now.limitMs,
    // Without a limit of ours Slurm would take the partition's: UNLIMITED is said to sbatch, and taken back with it.
    slurm: {
      ...file.slurm,
      sbatch: [
        ...file.slurm.sbatch.filter((word) => word !== UNLIMITED),
        ...now.slurm.sbatch.filter((w) => w === UNLIMITED),
      ],
    },
  }),
  margin: (now) => ({ marginMs: now.marginMs }),
  ahead: (now) => ({ ahead: now.ahead }),
  parallel: (now, file) => {
    if (file.tasks == null) throw new StintError("usage", "--parallel: this job has one task");
    return { tasks: { ...file.tasks, parallel: now.tasks?.parallel ?? null } };
  },
  "checkpoint.progress": (now, file) => {
    if (file.checkpoint === null || now.checkpoint === null)
      throw new StintError("usage", "--progress: this job has no checkpoint to read progress from");
    const wrong = checkProgressRule(now.checkpoint.progress);
    if (wrong !== null) throw new StintError("usage", `--progress: ${wrong}`);
    return { checkpoint: { ...file.checkpoint, progress: now.checkpoint.progress } };
  },
  total: (now) => ({ total: now.total }),
  output: (now, file) => ({ output: { ...file.output, stdout: now.output.stdout } }),
  error: (now, file) => ({ output: { ...file.output, stderr: now.output.stderr } }),
  env: (now, file) => ({ env: { ...file.env, ...now.env } }),
  "checkpoint.every": (now) => ({ checkpointEvery: now.checkpointEvery }),
  "kill-wait": (now) => ({ killWaitMs: now.killWaitMs }),
  "sample-interval": (now) => ({ sampleIntervalMs: now.sampleIntervalMs }),
  "term-to": (now) => ({ termTo: now.termTo }),
  "saved-exits": (now) => ({ savedExitCodes: now.savedExitCodes }),
  "backoff.first": (now) => ({ backoffFirstMs: now.backoffFirstMs }),
  "backoff.max": (now) => ({ backoffMaxMs: now.backoffMaxMs }),
};

const UNLIMITED = "--time=UNLIMITED";

const SECTIONS = {
  slurm: { mem: "memory" },
  budgets: { wall: "wallMs" },
  timing: {},
} as const;

/** `slurm.cpus-per-task` → `slurm.cpusPerTask`, `timing.poll` → `timing.pollMs`. Null: no such part of a specification. */
function takerOf(key: string): Taker | null {
  const [section = "", name = ""] = key.split(".");
  if (section !== "slurm" && section !== "budgets" && section !== "timing") return null;
  const renamed: Readonly<Record<string, string>> = SECTIONS[section];
  const camel = name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const field = renamed[name] ?? (section === "timing" ? `${camel}Ms` : camel);
  return (now, file) => {
    const from = now[section] as unknown as Readonly<Record<string, unknown>>;
    if (!(field in from)) throw new StintError("usage", `${key} cannot be changed for a job that is on file`);
    return { [section]: { ...file[section], [field]: from[field] } };
  };
}
