/** The help of one command. */
import { optionHelp } from "../spec/index.ts";
import { type CliCommand, HELP } from "./command.ts";

const WIDEST = 100;

export function helpText(command: CliCommand, width: number): string {
  const columns = Math.min(Math.max(width, 60), WIDEST);
  const own = optionHelp(
    [...command.options, HELP].map((option) => ({ ...option, group: "options" })),
    columns,
  );
  const settings = command.settings === undefined ? [] : [optionHelp(command.settings, columns)];
  const widest = Math.max(...command.examples.map(([line]) => line.length));
  const examples = command.examples.map(([line, what]) => `  ${line.padEnd(widest)}   ${what}`.trimEnd());
  const parts = [
    `usage: stint ${command.usage}`,
    [command.summary, ...command.details].join("\n"),
    `examples:\n${examples.join("\n")}`,
    own.trimEnd(),
    ...settings.map((text) => text.trimEnd()),
  ];
  return parts.join("\n\n");
}
