/** The kinds of single values: text, number, choice, duration, memory, name. */
import { type DurationRules, formatSlurmMemory, parseDuration, parseJobName, parseMemory } from "../core/index.ts";
import { parseBeginTime } from "./begin-time.ts";
import { fine, type Kind, scalar, TEXT, TEXT_OR_NUMBER, wrong } from "./kind.ts";

/** Any text that is not empty and can be an argument. */
export function text(placeholder: string, expected: string): Kind<string> {
  return scalar({ expected, placeholder, shape: TEXT, readText: readPlain });
}

/** Text that YAML may take for a number (`nodes: 2`, `account: 1234`); it is kept as it was written. */
export function textOrNumber(placeholder: string, expected: string): Kind<string> {
  return scalar({ expected, placeholder, shape: TEXT_OR_NUMBER, readText: readPlain });
}

export const jobName: Kind<string> = scalar({
  expected: "a name, such as sim",
  placeholder: "NAME",
  shape: TEXT,
  readText(given) {
    const parsed = parseJobName(given);
    return parsed.kind === "name" ? fine(parsed.name) : wrong(parsed.error);
  },
});

export function choice<const T extends string>(values: readonly T[]): Kind<T> {
  const expected = `one of ${values.join(", ")}`;
  return scalar({
    expected,
    placeholder: values.join("|"),
    shape: { is: "choice", values },
    readText(given) {
      const found = values.find((value) => value === given);
      return found === undefined ? wrong(`expected ${expected}, found "${given}"`) : fine(found);
    },
  });
}

/** Whole number in `minimum` … `maximum`. */
export function wholeNumber(minimum: number, maximum = Number.MAX_SAFE_INTEGER): Kind<number> {
  const above = maximum === Number.MAX_SAFE_INTEGER ? "" : ` and at most ${maximum}`;
  const expected = `a whole number, at least ${minimum}${above}`;
  return scalar({
    expected,
    placeholder: "N",
    shape: { is: "number", whole: true, minimum },
    readText(given) {
      const value = /^\+?\d+$/.test(given) ? Number(given) : Number.NaN;
      return value >= minimum && value <= maximum ? fine(value) : wrong(`expected ${expected}, found "${given}"`);
    },
  });
}

/** Decimal number above 0. */
export const positiveNumber: Kind<number> = scalar({
  expected: "a number above 0, such as 500",
  placeholder: "N",
  shape: { is: "number", whole: false, minimum: 0, above: true },
  readText(given) {
    const value = /^\+?\d+(\.\d+)?([eE]\+?\d+)?$/.test(given) ? Number(given) : Number.NaN;
    return value > 0 && Number.isFinite(value) ? fine(value) : wrong(`expected a number above 0, found "${given}"`);
  },
});

/** Milliseconds, from text with a unit. */
export function duration(options: { readonly zero: "allowed" | "refused" }): Kind<number> {
  return scalar({
    expected: "a duration with a unit, such as 60s or 2h30m",
    placeholder: "DURATION",
    shape: TEXT,
    readText(given) {
      const parsed = parseDuration(given, { bareNumber: "refused" });
      if (parsed.kind === "error") return wrong(durationError(given, parsed.error));
      if (parsed.kind === "unlimited") return wrong(`"${given}" has no end; give a duration such as 60s`);
      if (parsed.ms === 0 && options.zero === "refused") return wrong("must be longer than 0 s");
      return fine(parsed.ms);
    },
  });
}

/** Milliseconds, or sized anew for each attempt. */
export const margin: Kind<number | "auto"> = scalar<number | "auto">({
  expected: "a duration with a unit, such as 60s, or auto",
  placeholder: "DURATION|auto",
  shape: TEXT,
  readText(given) {
    if (given === "auto") return fine("auto");
    return duration({ zero: "allowed" }).read({ form: "text", text: given });
  },
});

/** A limit as Slurm's --time: a bare number is minutes. Milliseconds, or no limit at all. */
export const timeLimit: Kind<number | "unlimited"> = scalar<number | "unlimited">({
  expected: "a time limit, such as 4h, 01:00:00 or 1-12 (a bare number is minutes, as for Slurm)",
  placeholder: "TIME",
  shape: TEXT_OR_NUMBER,
  readText(given) {
    const rules: DurationRules = { bareNumber: "minutes" };
    const parsed = parseDuration(given, rules);
    if (parsed.kind === "error") return wrong(durationError(given, parsed.error));
    if (parsed.kind === "unlimited") return fine("unlimited");
    return parsed.ms > 0
      ? fine(parsed.ms)
      : wrong("0 asks Slurm for no limit at all; write UNLIMITED if that is meant");
  },
});

/** A moment in sbatch's words, as text: what it means depends on when it is read. */
export const beginTime: Kind<string> = scalar({
  expected: "a time, such as 16:00, now+1hour or 2026-12-24T10:00",
  placeholder: "TIME",
  shape: TEXT,
  readText(given) {
    // Whether it is understood does not depend on the moment.
    if (parseBeginTime(given, 0) !== null) return fine(given);
    return wrong(`"${given}" is not understood: write 16:00, noon, tomorrow, now+1hour, 12/24 or 2026-12-24T10:00`);
  },
});

/** Memory, normalised to what every sbatch takes (`1.5G` becomes `1536M`). */
export const memory: Kind<string> = scalar({
  expected: "a memory size, such as 8G (a bare number is MiB, as for Slurm)",
  placeholder: "SIZE",
  shape: TEXT_OR_NUMBER,
  readText(given) {
    const parsed = parseMemory(given);
    if (parsed.kind === "error") return wrong(parsed.error);
    if (parsed.per !== null) return wrong(`"${given}" is accounting's form; give the memory of a node, such as 8G`);
    return fine(formatSlurmMemory(parsed.bytes));
  },
});

/** `4 hours`: what it would be in the accepted form. */
function durationError(given: string, error: string): string {
  const [, digits, word] = /^\s*(\d+)\s*([a-z]+)\.?\s*$/i.exec(given) ?? [];
  const unit = /^(d(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)$/i.exec(word ?? "")?.[1]?.[0];
  return unit === undefined ? error : `"${given}" is not understood: write ${digits}${unit.toLowerCase()}`;
}

function readPlain(given: string) {
  if (given === "") return wrong("must not be empty");
  if (given.includes("\0")) return wrong("must not hold a NUL character");
  return fine(given);
}
