/**
 * Flags, environment, file and defaults into one resolved spec, each value with its origin. The order: flags, what the
 * command implies, `STINT_*`, the seed's names, `SBATCH_*`, the spec file or the `#SBATCH` lines, the site's defaults, ours.
 * Reads nothing by itself.
 */

import type { Command, JobSpec, Origins, SchedulerName, SubmitterOptions } from "../core/index.ts";
import { formatJobId, namesTask, taskIndices } from "../core/index.ts";
import type { Directives, GivenOption } from "./directives.ts";
import type { FlagValues } from "./flag-option.ts";
import { limitErrors, missingPartErrors, taskErrors } from "./limits.ts";
import { optionTable, settings } from "./option-table.ts";
import { Picker } from "./picker.ts";
import { DROPPED_KEY } from "./sbatch-options.ts";
import { idleOnLocal, marginBySignal, passedByEnvironment, sbatchWishes } from "./sbatch-wishes.ts";
import type { SiteFile } from "./site-file.ts";
import { underSite } from "./site-rules.ts";
import { fromFlags, idleNames, insideAttempt, type Sourced, type Sources, sourceOf, visible } from "./sources.ts";
import type { SpecFile } from "./spec-file.ts";
import { absolute, type Chosen, specOf, submitterOf } from "./spec-of.ts";

export interface ResolveInput {
  /** From `parseFlags` with `settingFlags`. */
  readonly flags: FlagValues;
  /** What the command itself stands for (`run` implies mode attached): above the environment, under the flags. */
  readonly implied?: ReadonlyMap<string, { readonly text: string; readonly origin: string }>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly file: SpecFile | null;
  /** The site's rules and defaults; default: there are none. */
  readonly site?: SiteFile | null;
  /** The words behind `--`; null: none. */
  readonly command: readonly string[] | null;
  /** The batch script that the job is; null or left out: none. */
  readonly batch?: BatchInput | null;
  /** Where the command was typed, absolute. */
  readonly cwd: string;
  /** Epoch milliseconds: what `--begin=now+1hour` counts from. Left out: 0, where nothing begins later. */
  readonly nowMs?: number;
  readonly user: string;
  readonly here: {
    /** `local-only`: inside an attempt or an allocation without a scheduler of its own. */
    readonly insideAllocation: "local-only" | "slurm" | null;
    readonly hasSbatch: boolean;
  };
  /** Absolute path of the node program for the runner. */
  readonly node: string;
  /** Name of the folder below `.stint/runtime`. */
  readonly runtime: string;
}

export interface BatchInput {
  readonly command: Extract<Command, { readonly kind: "batch" }>;
  readonly directives: Directives;
  /** Who named it: `command line`, `environment RUNNER_SCRIPT`. */
  readonly origin: string;
}

export type Resolution =
  | {
      readonly kind: "resolved";
      /** `/user/name`. */
      readonly job: string;
      readonly spec: JobSpec;
      readonly submitter: SubmitterOptions;
      /** By the setting's key; a variable for the application as `env.NAME`. */
      readonly origins: Origins;
      /** To be shown: each environment name that was used, and what was given and is not used. */
      readonly notices: readonly string[];
      /** What was asked of sbatch and comes otherwise, one line each. */
      readonly warnings: readonly string[];
    }
  /** One line each. */
  | { readonly kind: "errors"; readonly errors: readonly string[] };

/** Resolves the spec of a job. `origins` names the source of every value; nothing is ever silently dropped. */
export function resolveSpec(input: ResolveInput): Resolution {
  const batch = input.batch ?? null;
  const sources = sourcesOf(input, batch);
  const picker = new Picker(sources);
  const scheduler = chooseScheduler(picker, input.here);
  picker.scheduler = scheduler;
  if (scheduler === "slurm") picker.foreign = passedByEnvironment(sources).filter(isPassed).map(asSourced);
  const command = chooseCommand(picker, input);
  const cwd = absolute(input.cwd, picker.optional(settings.cwd) ?? input.cwd);
  const env = chooseVariables(picker);
  // Without a command there will be no spec; the rest is read all the same, so that all errors are found at once.
  const resolved = specOf(picker, input, { scheduler, command: command ?? { kind: "shell", text: "" }, cwd, env });
  const submitter = submitterOf(picker, resolved);
  const wishes = sbatchWishes(sources, batch?.directives ?? null, scheduler);
  const { spec, ...under } = underSite(picker, resolved, input.site ?? null);
  const errors = [...wishes.errors, ...picker.errors, ...under.errors];
  if (input.command === null && batch === null && !picker.given(settings.command)) errors.push(noCommand(sources));
  if (errors.length === 0)
    errors.push(
      ...missingPartErrors(picker, spec),
      ...taskErrors(picker, spec),
      ...limitErrors(picker, spec, submitter),
    );
  if (errors.length > 0) return { kind: "errors", errors };
  return {
    kind: "resolved",
    job: formatJobId({ user: input.user, path: [spec.name] }),
    spec: spec.mode === "submitter" ? { ...spec, submitter } : spec,
    submitter,
    origins: picker.origins,
    notices: [...picker.notices, ...under.notices, ...idleNames(sources), ...unusedNotices(picker, spec, batch)],
    warnings: wishes.warnings,
  };
}

function sourcesOf(input: ResolveInput, batch: BatchInput | null): Sources {
  const { flags, environment } = input;
  const file = batch === null ? input.file : batch.directives.settings;
  const sources = {
    flags,
    environment,
    file,
    implied: input.implied ?? new Map(),
    batchFrom: batch?.origin ?? null,
    site: input.site ?? null,
  };
  const margin = marginBySignal(sources, batch?.directives ?? null);
  if (margin === null || sourceOf(settings.margin, sources) !== null) return sources;
  return { ...sources, implied: new Map([...sources.implied, [settings.margin.key, margin]]) };
}

function isPassed({ option }: GivenOption): boolean {
  return option === null || option.becomes.what === "passed";
}

function asSourced({ text, at }: GivenOption): Sourced {
  const name = at.replace("environment ", "");
  return {
    raw: { form: "list", items: [text] },
    origin: at,
    label: name,
    notice: `${name} in the environment hands ${visible(text)} on to sbatch`,
  };
}

/** Never a computation on a login node by accident: where sbatch is at hand and no allocation is held, it is Slurm. */
function chooseScheduler(picker: Picker, here: ResolveInput["here"]): SchedulerName {
  const given = picker.optional(settings.scheduler);
  if (given !== null) return given;
  const inside = here.insideAllocation !== null;
  const why = inside ? "inside an allocation" : here.hasSbatch ? "sbatch is on PATH" : "no sbatch on PATH";
  picker.origins.scheduler = `default (${why})`;
  return !inside && here.hasSbatch ? "slurm" : "local";
}

function chooseCommand(picker: Picker, input: ResolveInput): Command | null {
  if (input.batch != null) {
    picker.origins.command = input.batch.origin;
    return input.batch.command;
  }
  if (input.command === null) return picker.optional(settings.command);
  picker.origins.command = "command line";
  const read = settings.command.kind.read({ form: "list", items: input.command });
  if (read.ok) return read.value;
  picker.errors.push(`the command behind --: ${read.error}`);
  return null;
}

/** The file's variables with the flags' over them. CHECKPOINT_EVERY is the setting of that name, wherever it stands. */
function chooseVariables(picker: Picker): Chosen["env"] {
  const merged = picker.merged(settings.env);
  const every = picker.optional(settings.checkpointEvery);
  const { CHECKPOINT_EVERY: inMap, ...variables } = merged;
  if (inMap === undefined) return { variables, checkpointEvery: every };
  const byFlag = picker.origins["env.CHECKPOINT_EVERY"]?.startsWith("flag ") === true;
  const settingByFlag = fromFlags(settings.checkpointEvery, picker.sources) !== null;
  if (every !== null && (settingByFlag || !byFlag)) {
    delete picker.origins["env.CHECKPOINT_EVERY"];
    return { variables, checkpointEvery: every };
  }
  picker.origins["checkpoint.every"] = picker.origins["env.CHECKPOINT_EVERY"] ?? "default";
  delete picker.origins["env.CHECKPOINT_EVERY"];
  return { variables, checkpointEvery: inMap };
}

function noCommand(sources: Sources): string {
  const ways = "name a batch script, give one behind --, as command: in a spec file, or in APP_CMD";
  if (insideAttempt(sources))
    return "there is no command (APP_CMD belongs to the job that this runs in); give one behind --, or as command: in a spec file";
  return `there is no command; ${ways}`;
}

/** What was given and cannot count is said, not dropped. */
function unusedNotices(picker: Picker, spec: JobSpec, batch: BatchInput | null): readonly string[] {
  const notices: string[] = [];
  const forSlurm = [
    ...[...picker.sources.flags.keys()].filter((key) => key.startsWith("slurm.") && key !== DROPPED_KEY),
    ...(batch === null ? [] : idleOnLocal(batch.directives)),
  ];
  if (spec.scheduler === "local" && forSlurm.length > 0)
    notices.push(`not used, since the scheduler is local: ${forSlurm.join(", ")}`);
  const shared = [spec.output.stdout, spec.output.stderr].filter(
    (path) => path !== null && !path.startsWith("/dev/") && !namesTask(path) && !/%\d*[ajAJ]/.test(path),
  );
  if (taskIndices(spec.tasks).length > 1 && shared.length > 0)
    notices.push(`all tasks append to one file, ${shared[0]}: %a or {task} in its name gives each its own`);
  const forSubmitter = optionTable.filter((setting) => setting.key.startsWith("submitter.") && picker.given(setting));
  if (spec.mode !== "submitter" && forSubmitter.length > 0) {
    notices.push(`not used, since the mode is ${spec.mode}: ${forSubmitter.map(({ key }) => key).join(", ")}`);
  }
  return notices;
}
