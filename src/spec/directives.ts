/** The words of a batch script's `#SBATCH` lines into what they set, as getopt reads them for sbatch. */

import { longOption, type SbatchOption, shortOption } from "./sbatch-options.ts";
import type { FileValue, SpecFile } from "./spec-file.ts";

/** An option of sbatch as some source gives it. */
export interface GivenOption {
  /** Null: no version of sbatch that is known here has it; it is handed on, sbatch shall judge. */
  readonly option: SbatchOption | null;
  /** For sbatch: `--gres=gpu:1`. */
  readonly text: string;
  /** Null: none. */
  readonly value: string | null;
  /** `job.sh:3`, `environment SBATCH_GRES`, `flag`. */
  readonly at: string;
}

export interface Directives {
  /** What is a setting of ours, and under `slurm.sbatch` what is handed on. */
  readonly settings: SpecFile;
  /** All of them, in order. */
  readonly given: readonly GivenOption[];
  /** One line each, beginning with `name:line`. */
  readonly errors: readonly string[];
}

export interface Word {
  readonly text: string;
  readonly line: number;
}

/** `name` is the script's, for origins and errors. Of a setting that is given twice the last one counts, as for sbatch. */
export function readDirectives(words: readonly Word[], name: string): Directives {
  const given: GivenOption[] = [];
  const errors: string[] = [];
  let index = 0;

  for (let word = words[index++]; word !== undefined; word = words[index++]) {
    const { text } = word;
    const at = `${name}:${word.line}`;
    if (text === "--" || text === "-" || !text.startsWith("-")) {
      const stray = text === "--" ? words[index] : word;
      if (stray === undefined) break;
      // All that follows is none of its options either.
      errors.push(`${name}:${stray.line}: "${stray.text}" is no option, and sbatch refuses it as well`);
      break;
    }
    const error = text.startsWith("--") ? long(text, at) : short(text, at);
    if (error !== null) errors.push(`${at}: ${error}`);
  }
  return { settings: { name, values: valuesOf(given) }, given, errors };

  function long(text: string, at: string): string | null {
    const equals = text.indexOf("=");
    const flag = equals < 0 ? text : text.slice(0, equals);
    const inline = equals < 0 ? null : text.slice(equals + 1);
    const option = longOption(flag);
    if (option === "ambiguous") return `${flag} is the beginning of several options of sbatch: write the whole name`;
    if (option === null) {
      // Whether it takes a value only sbatch knows: a word that is no option must be one.
      const next = words[index]?.text;
      const value = inline ?? (next === undefined || next.startsWith("-") ? null : next);
      if (inline === null && value !== null) index++;
      push(null, flag, value, at);
      return null;
    }
    if (option.takes === "nothing" && inline !== null) return `${option.long} takes no value`;
    return add(option, inline, at);
  }

  function short(text: string, at: string): string | null {
    for (let place = 1; place < text.length; place++) {
      const option = shortOption(`-${text[place]}`);
      if (option === null) return `sbatch has no option -${text[place]}${text.length > 2 ? ` (in ${text})` : ""}`;
      if (option.takes === "nothing") {
        push(option, option.long, null, at);
        continue;
      }
      return add(option, place + 1 < text.length ? text.slice(place + 1) : null, at);
    }
    return null;
  }

  function add(option: SbatchOption, inline: string | null, at: string): string | null {
    const next = inline === null && option.takes === "value" ? words[index++]?.text : undefined;
    if (option.takes === "value" && inline === null && next === undefined) return `${option.long} needs a value`;
    push(option, option.long, inline ?? next ?? null, at);
    return null;
  }

  function push(option: SbatchOption | null, flag: string, value: string | null, at: string): void {
    given.push({ option, value, text: value === null ? flag : `${flag}=${value}`, at });
  }
}

function valuesOf(given: readonly GivenOption[]): ReadonlyMap<string, FileValue> {
  const values = new Map<string, FileValue>();
  for (const { option, value, at } of given)
    if (option?.becomes.what === "setting")
      values.set(option.becomes.key, { raw: { form: "text", text: value ?? "yes" }, at, as: option.long });
  const passed = given.filter(({ option }) => option === null || option.becomes.what === "passed");
  if (passed.length > 0)
    values.set("slurm.sbatch", {
      raw: { form: "list", items: passed.map(({ text }) => text) },
      at: [...new Set(passed.map(({ at }) => at))].join(", "),
      as: "an option of sbatch",
    });
  return values;
}
