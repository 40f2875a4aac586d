/** From the words of a command line to one resolved job: flags, environment, spec file or command. Creates nothing. */
import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import { checkProgressRule, jsonRuleWords } from "../../checkpoint/index.ts";
import { type JobSpec, type Origins, quoteShell, specForTask, taskIndices } from "../../core/index.ts";
import { errorCode, findProgram } from "../../host/index.ts";
import {
  type FlagOption,
  type FlagValues,
  MOST_SPEC_BYTES,
  parseFlags,
  parseSpecFile,
  refusedFlags,
  resolveSpec,
  type SpecFile,
  settingFlags,
  withAllocation,
} from "../../spec/index.ts";
import { allocationHere } from "./allocation-here.ts";
import { StintError } from "./errors.ts";
import { currentUser, type Where } from "./project.ts";
import { findRuntime, type RuntimeBundle } from "./runtime-bundle.ts";

export interface PrepareInput extends Where {
  /** The words behind `run` or `submit`. */
  readonly args: readonly string[];
  /** The command's own options beside the settings of a job. */
  readonly options: readonly FlagOption[];
  /** What the command itself implies, e.g. `mode`; see ResolveInput. */
  readonly implied?: ReadonlyMap<string, { readonly text: string; readonly origin: string }>;
}

export interface PreparedJob {
  /** `/user/name`. */
  readonly job: string;
  readonly spec: JobSpec;
  readonly origins: Origins;
  /** One line each, to be shown: what the environment set, and what was given and is not used. */
  readonly notices: readonly string[];
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
  const source = await sourceOf(input, first.positionals, first.command);
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
  const resolution = resolveSpec({
    flags: onlySettings(given),
    ...(input.implied === undefined ? {} : { implied: input.implied }),
    environment: input.environment,
    file: source.kind === "spec" ? source.file : null,
    command: source.kind === "argv" ? source.argv : null,
    ...(source.kind === "argv" && source.script !== null ? { script: source.script } : {}),
    cwd: input.cwd,
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
  const bounded = withAllocation(resolution.spec, resolution.origins, around);
  const notices = [
    ...(source.kind === "argv" ? source.notices : []),
    ...resolution.notices,
    ...blindLimit(resolution.spec),
    ...likelyJson(resolution.spec, resolution.origins),
    ...bounded.notices,
  ];
  return { job: resolution.job, spec: bounded.spec, origins: bounded.origins, notices, given, runtime };
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
  if (spec.mode === "submitter")
    errors.push("mode submitter is not there in this version: leave --mode out, the chain then moves itself");
  return errors;
}

/** What stands before an error about a value: `stint.yaml:4:8: cwd`, `--cwd`, `STINT_CWD`. */
function labelOf(key: string, origins: Origins): string {
  const origin = origins[key] ?? "default";
  const [, name] = /^(?:flag|environment) (\S+)$/.exec(origin) ?? [];
  return name ?? (/:\d+:\d+$/.test(origin) ? `${origin}: ${key}` : key);
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

type Source =
  | { readonly kind: "none" }
  | { readonly kind: "spec"; readonly file: SpecFile }
  | {
      readonly kind: "argv";
      readonly argv: readonly string[];
      readonly script: string | null;
      readonly notices: readonly string[];
    };

async function sourceOf(
  where: Where,
  positionals: readonly string[],
  command: readonly string[] | null,
): Promise<Source> {
  const [name, ...rest] = positionals;
  if (name === undefined) {
    if (command === null) return { kind: "none" };
    if (command.length === 0) usage("there is no command behind --");
    requireWords(where, command);
    return { kind: "argv", argv: command, script: null, notices: [] };
  }
  const text = readText(where, name, rest);
  // What kind of input it is, its content says, not its ending.
  if (text.startsWith("#!")) return scriptSource(where, name, rest, text);
  if (text.includes("\0")) usage(`${name} is a program; write it behind --: -- ${dotted(name)} …`);
  const program = PROGRAMS[extname(name).toLowerCase()];
  const asCommand = (by: string): string =>
    `${name} is no spec; a command goes behind --: -- ${[by, name, ...rest].join(" ")}`;
  if (program !== undefined) usage(asCommand(program));
  const parsed = await parseSpecFile(text, name);
  if (parsed.kind === "errors") {
    const isSpec = SPEC_NAME.test(name) || !parsed.errors.some((error) => error.includes("expected a map of settings"));
    throw isSpec ? usageError(parsed.errors) : new StintError("usage", asCommand("PROGRAM"));
  }
  if (parsed.file.values.size === 0 && (where.environment.APP_CMD ?? "") === "")
    usage(`${name} is empty: it needs at least command:`);
  return { kind: "spec", file: parsed.file };
}

const SPEC_NAME = /\.(ya?ml|json)$/i;

/** Who runs a file of that ending which does not say it itself by a `#!` line. */
const PROGRAMS: Readonly<Record<string, string>> = {
  ".py": "python3",
  ".sh": "bash",
  ".r": "Rscript",
  ".jl": "julia",
  ".pl": "perl",
  ".rb": "ruby",
  ".js": "node",
  ".mjs": "node",
  ".lua": "lua",
};

/** One argument with blanks in it that names no file was meant as several words, or for a shell. */
function requireWords(where: Where, command: readonly string[]): void {
  const [only = "", ...more] = command;
  if (more.length > 0 || !/\S\s+\S/.test(only) || existsSync(resolve(where.cwd, only))) return;
  const meant = /[|&;<>$`*?(){}'"\\\n]/.test(only)
    ? `for a shell: -- bash -c ${quoteShell(only)}`
    : `without quotes: -- ${only}`;
  usage(`there is no program named ${quoteShell(only)}; ${meant}`);
}

function scriptSource(where: Where, name: string, rest: readonly string[], text: string): Source {
  const path = resolve(where.cwd, name);
  const program = isExecutable(path) ? [] : interpreterOf(text);
  if (program.length === 0 && !isExecutable(path))
    usage(`${name} is not executable and its first line names no interpreter: chmod +x ${name}, or: -- bash ${name}`);
  const directives = /^#SBATCH\b/m.test(text)
    ? [`${name} is run as a command: its #SBATCH lines are not read by this version, give their options as flags`]
    : [];
  return { kind: "argv", argv: [...program, path, ...rest], script: path, notices: directives };
}

/** The program of a `#!` line, and what stands behind it as one argument, as the kernel reads it. Empty: none is named. */
function interpreterOf(text: string): readonly string[] {
  const [, program, argument] = /^#![ \t]*(\S+)[ \t]*([^\r\n]*)/.exec(text) ?? [];
  if (program === undefined) return [];
  return argument === undefined || argument.trim() === "" ? [program] : [program, argument.trim()];
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function readText(where: Where, name: string, rest: readonly string[]): string {
  const path = resolve(where.cwd, name);
  try {
    if (statSync(path).isDirectory()) usage(`${name} is a folder; give a spec file, or a command behind --`);
    return readBeginning(path, MOST_SPEC_BYTES + 1);
  } catch (error) {
    if (error instanceof StintError) throw error;
    if (errorCode(error) !== "ENOENT" && errorCode(error) !== "ENOTDIR")
      throw new StintError("usage", `cannot read ${name}: ${errorCode(error) ?? String(error)}`);
    const inPath = findProgram(name, where.environment.PATH ?? "");
    const words = [name, ...rest].join(" ");
    const hint = inPath === null && !name.endsWith("ml") ? "" : ` (a command goes behind --: -- ${words})`;
    usage(`there is no file ${join(where.cwd, name)}${hint === "" ? "; a command goes behind --" : hint}`);
  }
}

/** A script or program may be of any size, and a spec that is longer is refused. A pipe works too. */
function readBeginning(path: string, mostBytes: number): string {
  const buffer = Buffer.alloc(mostBytes);
  const file = openSync(path, "r");
  try {
    let filled = 0;
    for (let got = -1; got !== 0 && filled < mostBytes; filled += got)
      got = readSync(file, buffer, filled, mostBytes - filled, null);
    return buffer.toString("utf8", 0, filled);
  } finally {
    closeSync(file);
  }
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

function dotted(name: string): string {
  return name.includes("/") ? name : `./${name}`;
}

function refuse(errors: readonly string[]): void {
  if (errors.length > 0) throw usageError(errors);
}

function usageError(errors: readonly string[]): StintError {
  return new StintError("usage", errors.join("\n"));
}

function usage(message: string): never {
  throw new StintError("usage", message);
}
