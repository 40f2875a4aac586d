/** Settings given to `resume`, laid over the specification on file. */
import { checkProgressRule } from "../../checkpoint/index.ts";
import type { JobSpec, Origins } from "../../core/index.ts";
import { formatDuration } from "../../core/index.ts";
import {
  DROPPED_KEY,
  type FlagOption,
  type FlagValues,
  resolveSpec,
  type SiteFile,
  settingFlags,
} from "../../spec/index.ts";
import { StintError } from "./errors.ts";

export interface ChangedSpec {
  readonly spec: JobSpec;
  /** Of the changed values only. */
  readonly origins: Origins;
  /** Keys of what is different now. */
  readonly changed: readonly string[];
  /** What the site's rules made of it, one line each. */
  readonly notices: readonly string[];
}

const FIXED = new Set([
  ...["name", "command", "tasks", "array", "cwd", "checkpoint.path", "scheduler", "mode"],
  DROPPED_KEY,
]);
/** What counts until an attempt has run. */
const FIRST = new Set(["begin", "slurm.dependency", "slurm.hold"]);

/** What may change between two attempts of one job: everything but what makes it this job. */
export const resumeFlags: readonly FlagOption[] = settingFlags.filter(({ key }) => !FIXED.has(key) && !FIRST.has(key));

/** Throws StintError `usage` for values that cannot be read or do not go together (margin and limit). */
export function changeSpec(onFile: JobSpec, flags: FlagValues, site: SiteFile | null = null): ChangedSpec {
  const keys = new Set(resumeFlags.map((option) => option.key));
  const given: FlagValues = new Map([...flags].filter(([key]) => keys.has(key)));
  if (given.size === 0) return { spec: onFile, origins: {}, changed: [], notices: [] };
  const resolution = resolveSpec({
    flags: given,
    implied: impliedBy(onFile),
    environment: {},
    file: null,
    // What is on file stands, so a site's defaults are no affair of a change; its rules are.
    site: site === null ? null : { ...site, defaults: new Map() },
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
    Object.entries(resolution.origins).filter(([key, origin]) => origin.startsWith("flag ") || given.has(key)),
  );
  const changed = JSON.stringify(spec) === JSON.stringify(onFile) ? [] : [...given.keys()];
  const notices = resolution.notices.filter((notice) => [...given.keys()].some((key) => notice.startsWith(`${key} `)));
  return { spec, origins, changed, notices };
}

/** What the checks between settings need to know of the values that stay. */
function impliedBy(spec: JobSpec): ReadonlyMap<string, { readonly text: string; readonly origin: string }> {
  const values: [string, string | null][] = [
    ["name", spec.name],
    ["scheduler", spec.scheduler],
    ["mode", spec.mode],
    ["submitter.limit", spec.submitter?.limitMs == null ? null : formatDuration(spec.submitter.limitMs)],
    ["submitter.margin", spec.submitter === undefined ? null : formatDuration(spec.submitter.marginMs)],
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
  // sbatch refuses two words on memory: the new one counts.
  "slurm.mem": (now, file) => ({
    slurm: { ...file.slurm, memory: now.slurm.memory, sbatch: file.slurm.sbatch.filter((word) => !isMemory(word)) },
  }),
  "slurm.sbatch": (now, file) => {
    const given = new Set(now.slurm.sbatch.map(optionOf));
    const kept = file.slurm.sbatch.filter((word) => !given.has(optionOf(word)));
    const byMemory = now.slurm.sbatch.some(isMemory);
    return {
      slurm: {
        ...file.slurm,
        ...(byMemory ? { memory: null } : {}),
        sbatch: [...kept.filter((word) => !byMemory || !isMemory(word)), ...now.slurm.sbatch],
      },
    };
  },
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
  input: (now) => (now.input === undefined ? {} : { input: now.input }),
  env: (now, file) => ({ env: { ...file.env, ...now.env } }),
  "checkpoint.every": (now) => ({ checkpointEvery: now.checkpointEvery }),
  "kill-wait": (now) => ({ killWaitMs: now.killWaitMs }),
  "sample-interval": (now) => ({ sampleIntervalMs: now.sampleIntervalMs }),
  "term-to": (now) => ({ termTo: now.termTo }),
  "saved-exits": (now) => ({ savedExitCodes: now.savedExitCodes }),
  "backoff.first": (now) => ({ backoffFirstMs: now.backoffFirstMs }),
  "backoff.max": (now) => ({ backoffMaxMs: now.backoffMaxMs }),
};

function optionOf(word: string): string {
  return word.split("=", 1)[0] ?? word;
}

function isMemory(word: string): boolean {
  return /^--mem-per-[cg]pu(=|$)/.test(word);
}

const UNLIMITED = "--time=UNLIMITED";

const SECTIONS = {
  slurm: { mem: "memory" },
  submitter: { mem: "memory", limit: "limitMs", margin: "marginMs" },
  budgets: { wall: "wallMs" },
  timing: {},
} as const;

/** `slurm.cpus-per-task` → `slurm.cpusPerTask`, `timing.poll` → `timing.pollMs`. Null: no such part of a specification. */
function takerOf(key: string): Taker | null {
  const [section = "", name = ""] = key.split(".");
  if (section !== "slurm" && section !== "submitter" && section !== "budgets" && section !== "timing") return null;
  const renamed: Readonly<Record<string, string>> = SECTIONS[section];
  const camel = name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const field = renamed[name] ?? (section === "timing" ? `${camel}Ms` : camel);
  return (now, file) => {
    if (file[section] === undefined) throw new StintError("usage", `${key}: this job is in mode ${file.mode}`);
    const from = now[section] as unknown as Readonly<Record<string, unknown>>;
    if (!(field in from)) throw new StintError("usage", `${key} cannot be changed for a job that is on file`);
    return { [section]: { ...file[section], [field]: from[field] } };
  };
}
