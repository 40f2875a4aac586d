/** When a job may begin, in sbatch's words (--begin), as 22.05 understands them. */

/**
 * Epoch milliseconds; null: not understood. `now[+N[UNIT]]`, a time of day (`16:00`, `4:05pm`, `noon`), a date, both together
 * (`2026-12-24T10:00`), `today`, `tomorrow`. In this process's time zone. A time of day or a date without a year that is over
 * means the next one; a moment that is over is given back as it is.
 */
export function parseBeginTime(text: string, nowMs: number): number | null {
  const words = text.trim().toLowerCase();
  const [, sign, count = "0", unit = ""] = /^now(?:\s*([+-])\s*(\d+)\s*([a-z]*))?$/.exec(words) ?? [];
  if (words.startsWith("now")) {
    const unitMs = UNITS_MS.find(([names]) => names.test(unit))?.[1];
    const isWhole = sign !== undefined || words === "now";
    return unitMs === undefined || !isWhole ? null : nowMs + (sign === "-" ? -1 : 1) * Number(count) * unitMs;
  }
  const epoch = /^uts(\d+)$/.exec(words)?.[1];
  if (epoch !== undefined) return Number(epoch) * 1000;
  const [, dateText, timeText] =
    /^(?:(\d{4}-\d\d?-\d\d?|\d\d?\/\d\d?(?:\/\d\d)?|\d{6}|today|tomorrow)(?:[\s t-]+|$))?(.*)$/.exec(words) ?? [
      undefined,
      undefined,
      "",
    ];
  const time = timeText === undefined || timeText === "" ? null : timeOfDay(timeText);
  if (timeText !== undefined && timeText !== "" && time === null) return null;
  if (dateText === undefined) return time === null ? null : nextDay(time, nowMs);
  return onDate(dateText, time ?? { hours: 0, minutes: 0, seconds: 0 }, nowMs, time === null);
}

interface TimeOfDay {
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
}

const UNITS_MS: readonly (readonly [RegExp, number])[] = [
  [/^(seconds?)?$/, 1_000],
  [/^minutes?$/, 60_000],
  [/^hours?$/, 3_600_000],
  [/^days?$/, 86_400_000],
  [/^weeks?$/, 604_800_000],
];

const NAMED: Readonly<Record<string, number>> = { midnight: 0, noon: 12, fika: 15, teatime: 16 };

function timeOfDay(text: string): TimeOfDay | null {
  const named = NAMED[text];
  if (named !== undefined) return { hours: named, minutes: 0, seconds: 0 };
  const match = /^(\d\d?):(\d\d)(?::(\d\d))?\s*(am|pm)?$/.exec(text);
  if (match === null) return null;
  const [, hoursText, minutesText, secondsText = "0", half] = match;
  const [given, minutes, seconds] = [Number(hoursText), Number(minutesText), Number(secondsText)];
  if (given > 23 || minutes > 59 || seconds > 59 || (half !== undefined && given > 12)) return null;
  const hours = half === undefined ? given : (given % 12) + (half === "pm" ? 12 : 0);
  return { hours, minutes, seconds };
}

function nextDay(time: TimeOfDay, nowMs: number): number {
  const now = new Date(nowMs);
  const today = at(now.getFullYear(), now.getMonth(), now.getDate(), time);
  return today > nowMs ? today : at(now.getFullYear(), now.getMonth(), now.getDate() + 1, time);
}

function onDate(text: string, time: TimeOfDay, nowMs: number, wholeDay: boolean): number | null {
  const now = new Date(nowMs);
  // The day alone has begun already.
  if (text === "today" && wholeDay) return nowMs;
  if (text === "today" || text === "tomorrow")
    return at(now.getFullYear(), now.getMonth(), now.getDate() + (text === "today" ? 0 : 1), time);
  const iso = /^(\d{4})-(\d\d?)-(\d\d?)$/.exec(text);
  const [, year, month, day] = iso ?? [];
  if (iso !== null) return dated(Number(year), Number(month), Number(day), time);
  const [, m, d, y] = /^(\d\d?)\/(\d\d?)(?:\/(\d\d))?$/.exec(text) ?? /^(\d\d)(\d\d)(\d\d)$/.exec(text) ?? [];
  if (y !== undefined) return dated(2000 + Number(y), Number(m), Number(d), time);
  const thisYear = dated(now.getFullYear(), Number(m), Number(d), time);
  return thisYear !== null && thisYear < nowMs ? dated(now.getFullYear() + 1, Number(m), Number(d), time) : thisYear;
}

/** Null: there is no such day. */
function dated(year: number, month: number, day: number, time: TimeOfDay): number | null {
  const ms = at(year, month - 1, day, time);
  return new Date(ms).getMonth() === month - 1 && day > 0 ? ms : null;
}

function at(year: number, month: number, day: number, { hours, minutes, seconds }: TimeOfDay): number {
  return new Date(year, month, day, hours, minutes, seconds).getTime();
}
