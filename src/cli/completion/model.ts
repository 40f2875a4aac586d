/** What a shell may offer behind `stint`, from the same tables that the commands are read with. */
import type { FlagOption } from "../../spec/index.ts";
import { type CliCommand, HELP } from "../command.ts";
import { commandNames, loadCommand } from "../commands/index.ts";

export interface OfferedOption {
  readonly flags: readonly string[];
  readonly help: string;
  /** What may follow: nothing, one of these words, a file, or anything. */
  readonly value: "none" | "file" | "any" | readonly string[];
}

export interface OfferedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly OfferedOption[];
  /** What its other words may be. */
  readonly words: { readonly jobs: boolean; readonly files: boolean; readonly choices: readonly string[] };
}

export async function offeredCommands(): Promise<readonly OfferedCommand[]> {
  return Promise.all(commandNames.map(async (name) => offered(await loadCommand(name))));
}

function offered(command: CliCommand): OfferedCommand {
  const options = [...command.options, ...(command.settings ?? []), HELP];
  return {
    name: command.name,
    summary: command.summary,
    options: options.map(offeredOption),
    words: wordsOf(command.usage),
  };
}

function offeredOption({ flags, help, takes, placeholder = "" }: FlagOption): OfferedOption {
  const value = takes === "nothing" ? "none" : (choicesOf(placeholder) ?? (FILES.has(placeholder) ? "file" : "any"));
  return { flags, help: help.replaceAll(/\s+/g, " "), value };
}

/** `local|slurm` names all there is. */
function choicesOf(placeholder: string): readonly string[] | null {
  return /^[a-z]+(\|[a-z]+)+$/.test(placeholder) ? placeholder.split("|") : null;
}

const FILES = new Set(["FILE", "PATH", "FOLDER", "DIR"]);

/** The usage line says it to a person in the same words. */
function wordsOf(usage: string): OfferedCommand["words"] {
  const choices = /\(([a-z]+(?:\|[a-z]+)+)\)/.exec(usage)?.[1]?.split("|") ?? [];
  return {
    jobs: /\bJOB\b/.test(usage),
    files: /\b(SPEC|SCRIPT|FILE)\b/.test(usage),
    choices: /\[COMMAND\]/.test(usage) ? commandNames : choices,
  };
}
