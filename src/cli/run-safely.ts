/** Runs a command so that a person sees one clear line and never a stack (unless STINT_DEBUG asks for it). */
import { EXIT_STATUS, type StintError, toStintError } from "../chain/index.ts";
import { nearest } from "../spec/index.ts";
import { type CliCommand, HELP } from "./command.ts";
import { helpText } from "./help-text.ts";
import { toJson } from "./json.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

export async function runSafely(command: CliCommand, args: readonly string[]): Promise<number> {
  const terminal = openTerminal();
  try {
    if (asksForHelp(command, args)) {
      terminal.out(helpText(command, terminal.width, asksForAll(args)));
      return 0;
    }
    return await command.run(args, terminal);
  } catch (error) {
    return report(toStintError(error), error, terminal, ownWords(command, args).includes("--json"));
  }
}

export function unknownCommand(name: string, known: readonly string[]): number {
  const near = nearest(name, known);
  const guess = near === null ? "" : `, did you mean ${near}?`;
  const terminal = openTerminal();
  terminal.note(`stint: there is no command ${name}${guess}`);
  terminal.note("see: stint --help");
  return EXIT_STATUS.usage;
}

function report(error: StintError, cause: unknown, terminal: Terminal, json: boolean): number {
  const { code, message, hint, exitStatus } = error;
  if (json) terminal.out(toJson({ error: { code, message, hint, exitStatus } }));
  for (const line of message.split("\n")) terminal.note(`stint: ${line}`);
  if (hint !== null) terminal.note(hint);
  if ((process.env.STINT_DEBUG ?? "") !== "" && cause instanceof Error)
    for (const line of (cause.stack ?? "").split("\n")) terminal.note(line);
  return exitStatus;
}

function asksForHelp(command: CliCommand, args: readonly string[]): boolean {
  return ownWords(command, args).some((word) => HELP.flags.includes(word));
}

/** `--help all`. */
function asksForAll(args: readonly string[]): boolean {
  const at = args.findIndex((word) => HELP.flags.includes(word));
  return args[at + 1] === "all";
}

/** The words up to the user's own command: what stands behind a script's name or behind `--` is not ours. */
function ownWords(command: CliCommand, args: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  const words = end < 0 ? args : args.slice(0, end);
  if (command.settings === undefined || command.name === "resume") return words;
  const script = words.findIndex((word, index) => !word.startsWith("-") && !takesValue(command, words[index - 1]));
  if (script < 0 || /\.(ya?ml|json)$/i.test(words[script] ?? "")) return words;
  return words.slice(0, script);
}

function takesValue(command: CliCommand, word: string | undefined): boolean {
  if (word === undefined || !word.startsWith("-") || word.includes("=")) return false;
  const option = [...command.options, ...(command.settings ?? [])].find(({ flags }) => flags.includes(word));
  return option !== undefined && option.takes !== "nothing";
}
