/** What a command is, and how its words are read. */
import { findTarget, type Project, requireProject, StintError, type Target, withTask } from "../chain/index.ts";
import { type FlagOption, type FlagRules, flagText, type ParsedFlags, parseFlags } from "../spec/index.ts";
import type { Terminal } from "./terminal.ts";
import { here } from "./where.ts";

export interface CliCommand {
  readonly name: string;
  /** Behind `stint `. */
  readonly usage: string;
  readonly summary: string;
  /** More than the summary, in help only. */
  readonly details: readonly string[];
  /** Its own options; `--help` is added. */
  readonly options: readonly FlagOption[];
  /** Options of the table of settings that it understands too. */
  readonly settings?: readonly FlagOption[];
  readonly examples: readonly (readonly [command: string, what: string])[];
  /** The exit status. Throws StintError. */
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}

export const HELP: FlagOption = { key: "help", flags: ["--help", "-h"], takes: "nothing", help: "show this" };
export const JSON_FLAG: FlagOption = {
  key: "json",
  flags: ["--json"],
  takes: "nothing",
  help: "one JSON value; times since 1970, spans: in ms",
};
export const QUIET: FlagOption = {
  key: "quiet",
  flags: ["--quiet", "-Q"],
  takes: "nothing",
  help: "only errors and results",
};
export const TIMEOUT: FlagOption = {
  key: "timeout",
  flags: ["--timeout"],
  takes: "value",
  placeholder: "DURATION",
  help: "give up after this long (exit status 75), e.g. 90s or 2h",
};

export const TASK: FlagOption = {
  key: "task",
  flags: ["--task"],
  takes: "value",
  placeholder: "INDEX",
  help: "only this task of the job; JOB/INDEX is the same",
};

/** Reads the words of a command that takes names. Throws StintError `usage` with all faults. */
export function readArgs(
  command: CliCommand,
  args: readonly string[],
  rules: FlagRules = { positionals: "anywhere" },
): ParsedFlags {
  const parsed = parseFlags(args, [...command.options, ...(command.settings ?? []), HELP], rules);
  const errors = [...parsed.errors];
  if (parsed.command !== null && parsed.command.length > 0) errors.push(`${command.name} takes no command behind --`);
  if (errors.length > 0)
    throw new StintError("usage", errors.join("\n"), { hint: `see: stint ${command.name} --help` });
  return parsed;
}

/** The one job that must be named, and its task where one is. Throws StintError `usage`, `no-such-job`. */
export async function oneTarget(
  command: CliCommand,
  parsed: ParsedFlags,
): Promise<{ readonly project: Project; readonly target: Target }> {
  // What is wrong with the words is said first.
  const name = oneJob(command, parsed);
  const project = requireProject(here());
  const target = await findTarget(project, name);
  const task = flagText(parsed.given, "task");
  if (task === null) return { project, target };
  if (!/^\d{1,9}$/.test(task))
    throw new StintError("usage", `--task needs an index, such as --task 7; found "${task}"`);
  if (target.task !== null && target.task !== Number(task))
    throw new StintError("usage", `task ${target.task} or task ${task}? One at a time`);
  return { project, target: await withTask(project, target.place, Number(task)) };
}

/** The one job that must be named. Throws StintError `usage`. */
export function oneJob(command: CliCommand, parsed: ParsedFlags): string {
  const [name, extra] = parsed.positionals;
  if (name === undefined)
    throw new StintError("usage", `which job? stint ${command.usage} (last: the newest one)`, {
      hint: `see: stint ${command.name} --help`,
    });
  if (extra !== undefined) throw new StintError("usage", `one job at a time: unexpected "${extra}"`);
  return name;
}
