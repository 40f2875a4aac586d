/**
 * Durations as people and Slurm write them. Pure text in both directions; milliseconds inside.
 *
 * Accepted: Slurm's six forms with Slurm's meaning (`90` minutes, `MM:SS`, `HH:MM:SS`, `D-HH`, `D-HH:MM`, `D-HH:MM:SS`),
 * units in falling order (`1d12h`, `2h30m`, `90s`, `1.5s`), ISO 8601 (`PT2H`, `P1DT2H`, `P2W`) and Slurm's words for "no
 * limit" (`UNLIMITED`, `INFINITE`, `-1`). The leading field may be any number. A later field over its natural range is
 * accepted only where every higher field is 0 (`0-72`, `00:90:00`: people write these and they mean one thing); `1:99:00`
 * is refused, since a typing error is as likely as 2 h 39 min.
 */

export type ParsedDuration =
  | { readonly kind: "duration"; readonly ms: number }
  | { readonly kind: "unlimited" }
  | { readonly kind: "error"; readonly error: string };

export interface DurationRules {
  /** What `60` means: minutes, as Slurm has it, or nothing at all. */
  readonly bareNumber: "minutes" | "refused";
}

/** Reads a duration. The error is one line that says what was understood and what is accepted. */
export function parseDuration(text: string, rules: DurationRules): ParsedDuration {
  const trimmed = text.trim();
  if (/^(unlimited|infinite|-1)$/i.test(trimmed)) return { kind: "unlimited" };
  if (/^\d+$/.test(trimmed)) return bareNumber(trimmed, rules);
  if (/^[\d:-]+$/.test(trimmed)) return slurmForm(trimmed, rules);
  if (/^p/i.test(trimmed)) return isoForm(trimmed, rules);
  return unitForm(trimmed, rules);
}

/** `2h30m`, `52h51m50s`, `1.5s`, `0s`: hours are the largest unit. Rounded to whole milliseconds; negative with a sign. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) throw new RangeError(`not a duration: ${ms}`);
  const whole = Math.round(Math.abs(ms));
  const hours = Math.floor(whole / HOUR_MS);
  const minutes = Math.floor((whole % HOUR_MS) / MINUTE_MS);
  const restMs = whole % MINUTE_MS;
  const seconds = String(restMs / SECOND_MS);
  const parts = [hours > 0 ? `${hours}h` : "", minutes > 0 ? `${minutes}m` : "", restMs > 0 ? `${seconds}s` : ""];
  return `${ms < 0 && whole > 0 ? "-" : ""}${parts.join("") || "0s"}`;
}

/** `[D-]HH:MM:SS` for sbatch, rounded up to a second so that no limit becomes shorter. `ms` must be finite and ≥ 0. */
export function formatSlurmTime(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) throw new RangeError(`not a time for Slurm: ${ms}`);
  const total = Math.ceil(ms / SECOND_MS);
  const days = Math.floor(total / 86_400);
  const clock = [Math.floor((total % 86_400) / 3600), Math.floor((total % 3600) / 60), total % 60]
    .map((field) => String(field).padStart(2, "0"))
    .join(":");
  return days > 0 ? `${days}-${clock}` : clock;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Longer ones would lead beyond what a date can hold; no limit at all is said by UNLIMITED. */
const MOST_DAYS = 36_500;

interface Field {
  readonly unit: "d" | "h" | "m" | "s";
  readonly digits: string;
}

const UNITS = {
  d: { ms: DAY_MS, range: Number.POSITIVE_INFINITY, word: "days" },
  h: { ms: HOUR_MS, range: 24, word: "hours" },
  m: { ms: MINUTE_MS, range: 60, word: "minutes" },
  s: { ms: SECOND_MS, range: 60, word: "seconds" },
} as const;

function bareNumber(text: string, rules: DurationRules): ParsedDuration {
  if (rules.bareNumber === "minutes") return sum(text, [{ unit: "m", digits: text }], rules);
  return {
    kind: "error",
    error: `"${text}" is a number without a unit, which could mean seconds or minutes; write ${text}s or ${text}m`,
  };
}

function slurmForm(text: string, rules: DurationRules): ParsedDuration {
  const match = /^(?:(\d+)-)?(\d+(?::\d+){0,3})$/.exec(text);
  if (match === null) return refused(text, "the digits, colons and dashes fit none of Slurm's forms", rules);
  const days = match[1];
  const clock = (match[2] ?? "").split(":");
  if (clock.length > 3) return refused(text, "four fields with colons (days stand before a dash)", rules);
  const units =
    days !== undefined
      ? (["h", "m", "s"] as const)
      : clock.length === 2
        ? (["m", "s"] as const)
        : (["h", "m", "s"] as const);
  const fields = clock.map((digits, index) => ({ unit: units[index] ?? "s", digits }));
  return sum(text, days === undefined ? fields : [{ unit: "d", digits: days }, ...fields], rules);
}

function unitForm(text: string, rules: DurationRules): ParsedDuration {
  const match = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d{1,3})?)s)?$/.exec(text);
  if (match === null || text === "") return refused(text, understoodOfUnits(text), rules);
  return sum(text, fieldsOf(match.slice(1)), rules);
}

function isoForm(text: string, rules: DurationRules): ParsedDuration {
  const weeks = /^P(\d+)W$/i.exec(text)?.[1];
  if (weeks !== undefined) return sum(text, [{ unit: "d", digits: String(Number(weeks) * 7) }], rules);
  if (/^P\d+[YM]/i.test(text)) return refused(text, "ISO 8601 years and months, which have no fixed length", rules);
  const match = /^P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,3})?)S)?)?$/i.exec(text);
  if (match === null || /^P$/i.test(text)) return refused(text, "it starts as ISO 8601 but does not go on so", rules);
  return sum(text, fieldsOf(match.slice(1)), rules);
}

function fieldsOf(groups: readonly (string | undefined)[]): readonly Field[] {
  const units = ["d", "h", "m", "s"] as const;
  return units.flatMap((unit, index) => {
    const digits = groups[index];
    return digits === undefined ? [] : [{ unit, digits }];
  });
}

function sum(text: string, fields: readonly Field[], rules: DurationRules): ParsedDuration {
  let ms = 0;
  for (const { unit, digits } of fields) {
    const { ms: unitMs, range, word } = UNITS[unit];
    const count = Number(digits);
    if (ms > 0 && count >= range) {
      const total = formatDuration(ms + count * unitMs);
      return refused(
        text,
        `${formatDuration(ms)}, then ${count} ${word}, more than ${range - 1}; if that is meant, write ${total}`,
        rules,
      );
    }
    ms += Math.round(count * unitMs);
  }
  if (!(ms <= MOST_DAYS * DAY_MS))
    return { kind: "error", error: `"${text}" is too long: the most is ${MOST_DAYS}d (100 years)` };
  return { kind: "duration", ms };
}

function understoodOfUnits(text: string): string {
  if (text === "") return "nothing, it is empty";
  const head = /^(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+(?:\.\d{1,3})?s)?/.exec(text)?.[0] ?? "";
  if (head !== "") return `${head}, but not "${text.slice(head.length)}"`;
  if (/^\d+\.\d+[dhm]/.test(text)) return "a fraction, which only seconds may have";
  if (/^\d+[DHMS]/.test(text)) return "a number with a capital letter (units are small letters)";
  return "no part of it";
}

function refused(text: string, understood: string, rules: DurationRules): ParsedDuration {
  const minutes = rules.bareNumber === "minutes" ? "90 (minutes), " : "";
  const accepted = `${minutes}MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS, 90s, 2h30m, 1d12h, PT2H, UNLIMITED`;
  return {
    kind: "error",
    error: `cannot read "${text}" as a duration: understood ${understood}. Accepted: ${accepted}`,
  };
}
