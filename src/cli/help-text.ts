/** The help of one command, no wider than the terminal. */
import { type FlagOption, optionHelp } from "../spec/index.ts";
import { type CliCommand, HELP } from "./command.ts";

/** A terminal's width within what can be read well. */
export function helpColumns(width: number): number {
  return Math.min(Math.max(width, 60), 100);
}

/** `all`: every setting of a job, too; else the usual ones, which fit on a screen. */
export function helpText(command: CliCommand, width: number, all = false): string {
  const columns = helpColumns(width);
  const options = [...command.options, HELP].map((option) => ({ ...option, group: "options" }));
  const parts = [
    wrap(`usage: stint ${command.usage}`, columns, "         "),
    ...[command.summary, ...command.details].map((paragraph) => wrap(paragraph, columns)),
    `examples:\n${exampleLines(command.examples, columns).join("\n")}`,
    optionHelp(options, columns).trimEnd(),
    ...settingsHelp(command, columns, all),
  ];
  // The usage stands alone, what is said about it in one block.
  const [usage = "", ...rest] = parts;
  const prose = rest.slice(0, 1 + command.details.length).join("\n");
  return [usage, prose, ...rest.slice(1 + command.details.length)].join("\n\n");
}

function settingsHelp(command: CliCommand, columns: number, all: boolean): readonly string[] {
  if (command.settings === undefined) return [];
  const known = command.settings;
  if (all) return [optionHelp(known, columns).trimEnd()];
  const usual = known.filter(({ key, help }) => USUAL.has(key) && help !== "").map(inOneGroup);
  const rest = `all ${known.length} settings, with --tasks, --array, budgets and times: stint ${command.name} --help all`;
  return [optionHelp(usual, columns).trimEnd(), wrap(rest, columns)];
}

/** What most jobs need. */
const USUAL: ReadonlySet<string> = new Set([
  "name",
  "checkpoint.path",
  "total",
  "limit",
  "margin",
  "scheduler",
  "slurm.partition",
  "slurm.account",
  "slurm.cpus-per-task",
  "slurm.mem",
  "slurm.sbatch",
]);

function inOneGroup(option: FlagOption): FlagOption {
  return { ...option, group: "usual settings" };
}

/** What an example does stands beside it where all of them fit; a narrow terminal has the commands alone. */
function exampleLines(examples: CliCommand["examples"], columns: number): readonly string[] {
  const widest = Math.max(...examples.map(([line]) => line.length));
  const fits = examples.every(([, what]) => 2 + widest + 3 + what.length <= columns);
  return examples.map(([line, what]) =>
    fits ? `  ${line.padEnd(widest)}   ${what}`.trimEnd() : wrap(`  ${line}`, columns, "      "),
  );
}

/** Cut at blanks, further lines indented; a word that is longer than the line stays whole. */
export function wrap(text: string, columns: number, indent = ""): string {
  const lines: string[] = [];
  for (const word of text.split(/(?<=\S) /)) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(word);
    else if (last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${indent}${word}`);
  }
  return lines.join("\n");
}
