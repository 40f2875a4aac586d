/** From the words of a command line to one resolved job: flags, environment, spec file, batch script or command. Creates nothing. */
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { checkProgressRule, jsonRuleWords } from "../../checkpoint/index.ts";
import { type JobSpec, type Origins, specForTask, taskIndices } from "../../core/index.ts";
import { findProgram, realClock } from "../../host/index.ts";
import {
  type FlagOption,
  type FlagValues,
  parseFlags,
  refusedFlags,
  resolveSpec,
  settingFlags,
  withAllocation,
} from "../../spec/index.ts";
import { loadSite } from "../site.ts";
import { allocationHere } from "./allocation-here.ts";
import { StintError } from "./errors.ts";
import { jobSource, usage, usageError } from "./job-source.ts";
import { parentHere } from "./parent-job.ts";
import { currentUser, type Where } from "./project.ts";
import { findRuntime, type RuntimeBundle } from "./runtime-bundle.ts";
import { withTasksAtATime } from "./tasks-at-a-time.ts";

export interface PrepareInput extends Where {
  /** The words behind `run` or `submit`. */
  readonly args: readonly string[];
  /** The command's own options beside the settings of a job. */
  readonly options: readonly FlagOption[];
  /** What the command itself implies, e.g. `mode`; see ResolveInput. */
  readonly implied?: ReadonlyMap<string, { readonly text: string; readonly origin: string }>;
}

export interface PreparedJob {
  /** `/user/name`; inside an attempt that of a child of its job. */
  readonly job: string;
  readonly spec: JobSpec;
  readonly origins: Origins;
  /** One line each, to be shown: what the environment set, and what was given and is not used. */
  readonly notices: readonly string[];
  /** One line each, to be shown: what will not do what was expected. */
  readonly warnings: readonly string[];
  /** The batch script's content, where the job is one: for submitJob, which keeps a copy. */
  readonly script?: Uint8Array;
  /** All flags as given, the command's own among them. */
  readonly given: FlagValues;
  readonly runtime: RuntimeBundle;
}

/** Throws StintError `usage` with all faults, one a line. */
export async function prepareJob(input: PrepareInput): Promise<PreparedJob> {
  const options = [...input.options, ...settingFlags];
  const rules = { refused: refusedFlags, hint: "see --help; an option of sbatch goes behind --sbatch-arg" };
  const first = parseFlags(input.args, options, { positionals: "first-ends", ...rules });
  refuse(first.errors);
  const source = await jobSource(input, first.positionals, first.command);
  let { given } = first;
  if (source.kind === "spec" && first.positionals.length > 1) {
    // Behind a spec file options may go on; behind a script all words are the script's own.
    const words = [...input.args];
    words.splice(words.length - first.positionals.length, 1);
    const all = parseFlags(words, options, { positionals: "anywhere", ...rules });
    refuse(all.errors);
    if (all.command !== null) usage(`${source.file.name} and a command behind -- exclude each other`);
    if (all.positionals.length > 0)
      usage(`unexpected "${all.positionals[0]}" behind ${source.file.name}; arguments belong into its command`);
    given = all.given;
  }
  const runtime = findRuntime(input.environment);
  const site = await loadSite(input.environment);
  if (site.kind === "errors") throw new StintError("site", site.errors.join("\n"));
  const resolution = resolveSpec({
    flags: onlySettings(given),
    ...(input.implied === undefined ? {} : { implied: input.implied }),
    environment: input.environment,
    file: source.kind === "spec" ? source.file : null,
    site: site.kind === "site" ? site.site : null,
    command: source.kind === "argv" ? source.argv : null,
    batch: source.kind === "batch" ? source.batch : null,
    cwd: input.cwd,
    nowMs: realClock.nowMs(),
    user: currentUser(),
    here: {
      insideAllocation: insideAllocation(input.environment),
      hasSbatch: findProgram("sbatch", input.environment.PATH ?? "") !== null,
    },
    node: process.execPath,
    runtime: runtime.name,
  });
  if (resolution.kind === "errors") throw usageError(resolution.errors);
  refuse(notYet(resolution.spec, resolution.origins));
  // A job for Slurm itself asks nobody here.
  const around = resolution.spec.scheduler === "local" ? await allocationHere(input.environment) : null;
  const parent = parentHere(input);
  const bounded = withAllocation(resolution.spec, resolution.origins, around);
  const spec = withTasksAtATime(bounded.spec);
  const notices = [
    ...(source.kind === "batch" ? source.notices : []),
    ...resolution.notices,
    ...blindLimit(resolution.spec),
    ...likelyJson(resolution.spec, resolution.origins),
    ...bounded.notices,
    ...(parent.kind === "lost" ? [`${parent.why}: this is submitted as a job of its own, not as a child`] : []),
  ];
  return {
    job: parent.kind === "parent" ? `${parent.place.id}/${spec.name}` : resolution.job,
    spec,
    origins: bounded.origins,
    notices,
    warnings: [...(source.kind === "batch" ? source.warnings : []), ...resolution.warnings],
    given,
    runtime,
    ...(source.kind === "batch" ? { script: source.content } : {}),
  };
}

/** What the specification allows and this version can't do, or what only the checkpoint's reader can judge. */
function notYet(spec: JobSpec, origins: Origins): readonly string[] {
  const errors: string[] = [];
  const indices = taskIndices(spec.tasks);
  const first = specForTask(spec, indices[0] ?? 0);
  const rule = first.checkpoint === null ? null : checkProgressRule(first.checkpoint.progress);
  if (rule !== null) errors.push(`${labelOf("checkpoint.progress", origins)}: ${rule}`);
  // It is the same folder on all nodes; without it every attempt would fail at its start.
  const folders = new Set(indices.map((index) => specForTask({ ...spec, env: {} }, index).cwd));
  const missing = [...folders].find((folder) => !isFolder(folder));
  if (missing !== undefined) errors.push(`${labelOf("cwd", origins)}: there is no folder ${missing}`);
  return errors;
}

/** What stands before an error about a value: `stint.yaml:4:8: cwd`, `--cwd`, `STINT_CWD`. */
function labelOf(key: string, origins: Origins): string {
  const origin = origins[key] ?? "default";
  const [, name] = /^(?:flag|environment) (\S+)$/.exec(origin) ?? [];
  return name ?? (/:\d+(:\d+)?$/.test(origin) ? `${origin}: ${key}` : key);
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // Not there, or on the way to it something that may not be entered: an attempt could not begin there either.
    return false;
  }
}

/** Legal, and rarely meant: what was computed since the last save is lost at each limit, and nobody can tell. */
function blindLimit({ limitMs, checkpoint }: JobSpec): readonly string[] {
  if (limitMs === null || checkpoint !== null) return [];
  return ["no checkpoint is named: an attempt that is killed at its limit counts as stalled (see --checkpoint)"];
}

/** Told before the first attempt, which would be held at its end: the file is not there yet, its name says what it will be. */
function likelyJson({ checkpoint, cwd }: JobSpec, origins: Origins): readonly string[] {
  if (checkpoint === null || checkpoint.progress.kind !== "number" || !checkpoint.path.endsWith(".json")) return [];
  const isDefault = (origins["checkpoint.progress"] ?? "default").startsWith("default");
  if (!isDefault || existsSync(resolve(cwd, checkpoint.path))) return [];
  return [`${checkpoint.path} will be read as one number; if it holds JSON: ${jsonRuleWords(null)}`];
}

function insideAllocation(environment: Readonly<Record<string, string | undefined>>): "local-only" | "slurm" | null {
  if ((environment.SLURM_JOB_ID ?? "") !== "") return "slurm";
  return (environment.STINT_TASK_ID ?? "") !== "" ? "local-only" : null;
}

const SETTING_KEYS = new Set(settingFlags.map((option) => option.key));

/** The command's own options are no settings of the job. */
function onlySettings(given: FlagValues): FlagValues {
  return new Map([...given].filter(([key]) => SETTING_KEYS.has(key)));
}

function refuse(errors: readonly string[]): void {
  if (errors.length > 0) throw usageError(errors);
}
