/** The words of a command line into what they set. Knows no command: each brings its own table of options. */
import type { FlagOption, FlagValue, FlagValues } from "./flag-option.ts";
import { nearest } from "./nearest.ts";

export interface ParsedFlags {
  readonly given: FlagValues;
  /** Words that are no options; with `first-ends` everything from the first one on, as it was typed. */
  readonly positionals: readonly string[];
  /** What stands behind `--`; null: no `--`. */
  readonly command: readonly string[] | null;
  /** One line each. */
  readonly errors: readonly string[];
}

export interface FlagRules {
  /** `first-ends`: options stop at the first word that is none, since what follows is a command's. */
  readonly positionals: "first-ends" | "anywhere";
  /** Flags that are known and refused: the reason and what to do instead. */
  readonly refused?: ReadonlyMap<string, string>;
  /** Added to the error on an unknown option. */
  readonly hint?: string;
}

/**
 * Understands `--opt=value`, `--opt value`, `-t value`, `-tvalue`, `-ab` for two that take nothing, `--no-opt`, and `--`.
 * A repeated option that is no list: the last one counts, as for sbatch. Never throws; all errors are collected.
 */
export function parseFlags(args: readonly string[], options: readonly FlagOption[], rules: FlagRules): ParsedFlags {
  const byFlag = new Map(options.flatMap((option) => option.flags.map((flag) => [flag, option] as const)));
  const given = new Map<string, FlagValue>();
  const positionals: string[] = [];
  const errors: string[] = [];
  let index = 0;

  const take = (option: FlagOption, flag: string, inline: string | null): void => {
    if (option.bare !== undefined && (inline === null || option.bare === "always")) {
      if (inline !== null) errors.push(`${flag} takes no value`);
      else keep(option, flag, option.handOnAs ?? flag);
      return;
    }
    const value = inline ?? args[index];
    if (inline === null) {
      if (value === undefined || value === "--" || (option.takes === "value" && byFlag.has(value))) {
        errors.push(`${flag} needs a value: ${flag} ${option.placeholder ?? "VALUE"}`);
        return;
      }
      index += 1;
    }
    keep(option, flag, option.handOnAs === undefined ? (value ?? "") : `${option.handOnAs}=${value}`);
  };
  const keep = (option: FlagOption, flag: string, kept: string): void => {
    const earlier = option.takes === "list" ? (given.get(option.key)?.values ?? []) : [];
    given.set(option.key, { flag, values: [...earlier, kept], on: true });
  };

  while (index < args.length) {
    const word = args[index++] ?? "";
    if (word === "--") return { given, positionals, command: args.slice(index), errors };
    if (word === "-" || !word.startsWith("-")) {
      if (rules.positionals === "first-ends")
        return { given, positionals: args.slice(index - 1), command: null, errors };
      positionals.push(word);
    } else if (word.startsWith("--")) readLong(word);
    else readShort(word);
  }
  return { given, positionals, command: null, errors };

  function readLong(word: string): void {
    const equals = word.indexOf("=");
    const flag = equals < 0 ? word : word.slice(0, equals);
    const inline = equals < 0 ? null : word.slice(equals + 1);
    const option = byFlag.get(flag);
    if (option !== undefined && option.takes !== "nothing") {
      take(option, flag, inline);
      return;
    }
    const negated = flag.startsWith("--no-") ? byFlag.get(`--${flag.slice("--no-".length)}`) : undefined;
    const toggled = option ?? (negated?.takes === "nothing" ? negated : undefined);
    if (toggled === undefined) errors.push(unknownOption(flag, byFlag.keys(), rules));
    else if (inline !== null) errors.push(`${flag} takes no value`);
    else given.set(toggled.key, { flag, values: [], on: option !== undefined });
  }

  function readShort(word: string): void {
    for (let at = 1; at < word.length; at++) {
      const flag = `-${word[at]}`;
      const option = byFlag.get(flag);
      if (option === undefined) {
        errors.push(unknownOption(at === 1 ? flag : `${flag} (in ${word})`, byFlag.keys(), rules));
        return;
      }
      if (option.takes === "nothing") {
        given.set(option.key, { flag, values: [], on: true });
        continue;
      }
      if (option.bare === "always") {
        take(option, flag, null);
        continue;
      }
      const rest = word.slice(at + 1).replace(/^=/, "");
      take(option, flag, at + 1 < word.length ? rest : null);
      return;
    }
  }
}

/** The last value of an option; null: not given. */
export function flagText(given: FlagValues, key: string): string | null {
  return given.get(key)?.values.at(-1) ?? null;
}

/** Whether an option that takes nothing is on; `otherwise` when it was not given. */
export function flagOn(given: FlagValues, key: string, otherwise = false): boolean {
  return given.get(key)?.on ?? otherwise;
}

function unknownOption(flag: string, known: Iterable<string>, rules: FlagRules): string {
  const refused = rules.refused?.get(flag);
  if (refused !== undefined) return `${flag} cannot be used: ${refused}`;
  const near = flag.startsWith("--")
    ? nearest(
        flag.slice(2),
        [...known].filter((k) => k.startsWith("--")).map((k) => k.slice(2)),
      )
    : null;
  const hint = rules.hint === undefined ? "" : `; ${rules.hint}`;
  return `unknown option ${flag}${near === null ? "" : `, did you mean --${near}?`}${near === null ? hint : ""}`;
}
