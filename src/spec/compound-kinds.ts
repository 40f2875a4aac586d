/** The kinds of values with an inner structure: command, lists, environment, progress. */
import type { Command, ProgressRule } from "../core/index.ts";
import { OF_AN_ATTEMPT, parseArray, splitWords } from "../core/index.ts";
import { type Answer, fine, type Kind, type Raw, scalar, TEXT, TEXT_OR_NUMBER, wrong } from "./kind.ts";
import { refusedSbatchArgument } from "./sbatch-options.ts";

/** Text is for a login bash; a list is an argument vector without any shell. */
export const command: Kind<Command> = {
  expected: "text for a shell, or a list of arguments",
  placeholder: "COMMAND",
  shape: { is: "any-of", shapes: [TEXT, { is: "list", of: TEXT_OR_NUMBER }] },
  read(raw) {
    if (raw.form === "text") {
      if (raw.text.trim() === "") return wrong("must not be empty");
      return hasNul(raw) ? wrong("must not hold a NUL character") : fine({ kind: "shell", text: raw.text });
    }
    if (raw.form === "map") return wrong("expected text for a shell, or a list of arguments");
    if (raw.items.length === 0 || raw.items[0] === "") return wrong("the program's name is empty");
    return hasNul(raw) ? wrong("must not hold a NUL character") : fine({ kind: "argv", argv: raw.items });
  },
};

/** A list of words. One text is cut into words as a shell does it, without expanding anything. */
export const words: Kind<readonly string[]> = {
  expected: "a list, such as [-n, 1], or one text",
  placeholder: "WORDS",
  shape: { is: "any-of", shapes: [TEXT, { is: "list", of: TEXT_OR_NUMBER }] },
  read: readWords,
};

/** Arguments handed on to sbatch, without those that would break a chain. */
export const sbatchArguments: Kind<readonly string[]> = {
  ...words,
  expected: "a list of sbatch's options, such as [--gres=gpu:1]",
  placeholder: "OPTION",
  read(raw) {
    const list = readWords(raw);
    if (!list.ok) return list;
    const refused = list.value.map(refusedSbatchArgument).find((reason) => reason !== null);
    return refused === undefined ? list : wrong(refused ?? "");
  },
};

/** Indices in Slurm's notation, with how many at a time. */
export const arrayTasks: Kind<{ readonly indices: readonly number[]; readonly parallel: number | null }> = scalar({
  expected: "indices such as 0-99, 1-10:2,15 or 0-99%5",
  placeholder: "INDICES[%K]",
  shape: TEXT_OR_NUMBER,
  readText(given) {
    const parsed = parseArray(given);
    return parsed.kind === "array" ? fine(parsed) : wrong(parsed.error);
  },
});

/** Exit codes that say "saved, more to do". */
export const exitCodes: Kind<readonly number[]> = {
  expected: "a list of exit codes, such as [99, 124]",
  placeholder: "CODE,…",
  shape: { is: "list", of: { is: "number", whole: true, minimum: 1 } },
  read(raw) {
    const items =
      raw.form === "text"
        ? raw.text.split(",")
        : raw.form === "list"
          ? raw.items.flatMap((item) => item.split(","))
          : [];
    const codes = items.map((item) => item.trim()).filter((item) => item !== "");
    const bad = codes.find((code) => !/^\d{1,3}$/.test(code) || Number(code) < 1 || Number(code) > 255);
    if (bad !== undefined) return wrong(`"${bad}" is not an exit code between 1 and 255`);
    const taken = codes.find((code) => TAKEN_CODES.has(Number(code)));
    if (taken !== undefined) return wrong(`${taken} has a meaning of its own (${TAKEN_CODES.get(Number(taken))})`);
    return fine([...new Set(codes.map(Number))]);
  },
};

/** Variables for the application, without those that the runner sets. */
export const variables: Kind<Readonly<Record<string, string>>> = {
  expected: "a map of variables, such as {OMP_NUM_THREADS: 4}",
  placeholder: "NAME=VALUE",
  shape: { is: "map", of: TEXT_OR_NUMBER },
  read(raw) {
    if (raw.form === "text") return wrong("expected NAME=VALUE");
    const pairs = raw.form === "map" ? Object.entries(raw.entries) : raw.items.map(cutAtEquals);
    for (const [name, value] of pairs) {
      if (value === undefined) return wrong(`"${name}" has no value: expected NAME=VALUE`);
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return wrong(`"${name}" is not a name of a variable`);
      const setBy = SET_BY_RUNNER.get(name);
      if (setBy !== undefined) return wrong(`${name} is set for every attempt: ${setBy}`);
      if (value.includes("\0")) return wrong(`${name} must not hold a NUL character`);
    }
    return fine(Object.fromEntries(pairs.map(([name, value]) => [name, value ?? ""])));
  },
};

/** `number`, `json:.step`, `pattern:…`, `files:…`; in YAML also `{json: .step}` and so on. */
export const progress: Kind<ProgressRule> = {
  expected: "number, {json: .step}, {pattern: 'step (\\d+)'} or {files: 'restart.*'}",
  placeholder: "RULE",
  shape: {
    is: "any-of",
    shapes: [
      { is: "choice", values: ["number"] },
      { is: "one-key", keys: ["json", "pattern", "files"] },
    ],
  },
  read(raw) {
    if (raw.form === "text" && raw.text === "number") return fine({ kind: "number" });
    const [kind, argument] =
      raw.form === "text" ? cutAtColon(raw.text) : raw.form === "map" ? (Object.entries(raw.entries)[0] ?? []) : [];
    if (kind !== undefined && argument === "") return wrong(`nothing stands behind "${kind}"`);
    if (argument !== undefined) {
      if (kind === "json") return fine({ kind: "json", path: argument });
      if (kind === "pattern") return fine({ kind: "pattern", pattern: argument });
      if (kind === "files") return fine({ kind: "files", glob: argument });
    }
    return wrong(
      `expected number, json:.step, pattern:'step (\\d+)' or files:'restart.*'${raw.form === "text" ? `, found "${raw.text}"` : ""}`,
    );
  },
};

const TAKEN_CODES = new Map([
  [76, "stop, nothing to gain"],
  [126, "the command cannot be run"],
  [127, "the command is not there"],
]);

const SET_BY_RUNNER = new Map([
  ["CKPT_PATH", "set checkpoint.path (--checkpoint)"],
  ["MAX_ITER", "set total (--total)"],
  ...OF_AN_ATTEMPT.map((name): [string, string] => [name, "it cannot be chosen"]),
]);

function readWords(raw: Raw): Answer<readonly string[]> {
  if (raw.form === "map") return wrong("expected a list, or one text");
  if (hasNul(raw)) return wrong("must not hold a NUL character");
  if (raw.form === "list") return fine(raw.items);
  const cut = splitWords(raw.text);
  return cut === null ? wrong(`a quote is left open in "${raw.text}"`) : fine(cut);
}

function hasNul(raw: Raw): boolean {
  const texts = raw.form === "text" ? [raw.text] : raw.form === "list" ? raw.items : Object.values(raw.entries);
  return texts.some((text) => text.includes("\0"));
}

function cutAtEquals(text: string): [string, string | undefined] {
  const at = text.indexOf("=");
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function cutAtColon(text: string): [string?, string?] {
  const at = text.indexOf(":");
  return at < 0 ? [] : [text.slice(0, at), text.slice(at + 1)];
}
