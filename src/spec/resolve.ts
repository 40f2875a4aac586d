/**
 * Flags, environment, file and defaults into one resolved spec, each value with its origin. The order: flags, what the
 * command implies, `STINT_*`, the seed's names, `SBATCH_*`, the spec file, defaults. Reads nothing by itself.
 */

import type { Command, JobSpec, Origins, SchedulerName } from "../core/index.ts";
import { formatJobId, namesTask, taskIndices } from "../core/index.ts";
import type { FlagValues } from "./flag-option.ts";
import { limitErrors, missingPartErrors, taskErrors } from "./limits.ts";
import { optionTable, RUNNER_SCRIPT, settings } from "./option-table.ts";
import { Picker } from "./picker.ts";
import { fromFlags, idleNames, insideAttempt, isSet, type Sources } from "./sources.ts";
import type { SpecFile } from "./spec-file.ts";
import { absolute, type Chosen, type SubmitterSpec, specOf, submitterOf } from "./spec-of.ts";

export interface ResolveInput {
  /** From `parseFlags` with `settingFlags`. */
  readonly flags: FlagValues;
  /** What the command itself stands for (`run` implies mode attached): above the environment, under the flags. */
  readonly implied?: ReadonlyMap<string, { readonly text: string; readonly origin: string }>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly file: SpecFile | null;
  /** The words behind `--`; null: none. */
  readonly command: readonly string[] | null;
  /** The script that the command runs: the job is named after it. */
  readonly script?: string;
  /** Where the command was typed, absolute. */
  readonly cwd: string;
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

export type Resolution =
  | {
      readonly kind: "resolved";
      /** `/user/name`. */
      readonly job: string;
      readonly spec: JobSpec;
      readonly submitter: SubmitterSpec;
      /** By the setting's key; a variable for the application as `env.NAME`. */
      readonly origins: Origins;
      /** To be shown: each environment name that was used, and what was given and is not used. */
      readonly notices: readonly string[];
    }
  /** One line each. */
  | { readonly kind: "errors"; readonly errors: readonly string[] };

/** Resolves the spec of a job. `origins` names the source of every value; nothing is ever silently dropped. */
export function resolveSpec(input: ResolveInput): Resolution {
  const sources: Sources = { ...input, implied: input.implied ?? new Map() };
  const picker = new Picker(sources);
  const scheduler = chooseScheduler(picker, input.here);
  picker.scheduler = scheduler;
  const command = chooseCommand(picker, input);
  const cwd = absolute(input.cwd, picker.optional(settings.cwd) ?? input.cwd);
  const env = chooseVariables(picker);
  // Without a command there will be no spec; the rest is read all the same, so that all errors are found at once.
  const spec = specOf(picker, input, { scheduler, command: command ?? { kind: "shell", text: "" }, cwd, env });
  const submitter = submitterOf(picker);
  const errors = [...picker.errors];
  if (input.command === null && !picker.given(settings.command)) errors.push(noCommand(sources));
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
    spec,
    submitter,
    origins: picker.origins,
    notices: [...picker.notices, ...idleNames(sources), ...unusedNotices(picker, spec)],
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
  const ways = "give one behind --, as command: in a spec file, or in APP_CMD";
  if (insideAttempt(sources))
    return "there is no command (APP_CMD belongs to the job that this runs in); give one behind --, or as command: in a spec file";
  if (!isSet(sources, RUNNER_SCRIPT)) return `there is no command; ${ways}`;
  return `there is no command, and ${RUNNER_SCRIPT}=${sources.environment[RUNNER_SCRIPT]} names a batch script, which this version does not read; ${ways}`;
}

/** What was given and cannot count is said, not dropped. */
function unusedNotices(picker: Picker, spec: JobSpec): readonly string[] {
  const notices: string[] = [];
  const forSlurm = [...picker.sources.flags.keys()].filter((key) => key.startsWith("slurm."));
  if (spec.scheduler === "local" && forSlurm.length > 0)
    notices.push(`not used, since the scheduler is local: ${forSlurm.join(", ")}`);
  const shared = [spec.output.stdout, spec.output.stderr].filter(
    (path) => path !== null && !path.startsWith("/dev/") && !namesTask(path) && !/%[aj]/.test(path),
  );
  if (taskIndices(spec.tasks).length > 1 && shared.length > 0)
    notices.push(`all tasks append to one file, ${shared[0]}: %a or {task} in its name gives each its own`);
  const forSubmitter = optionTable.filter((setting) => setting.key.startsWith("submitter.") && picker.given(setting));
  if (spec.mode !== "submitter" && forSubmitter.length > 0) {
    notices.push(`not used, since the mode is ${spec.mode}: ${forSubmitter.map(({ key }) => key).join(", ")}`);
  }
  return notices;
}
