/** Values as a person reads them. */

import type { AttemptRow, ChainStatus } from "../chain/index.ts";
import { StintError } from "../chain/index.ts";
import { formatDuration, formatProgress, type Progress, parseDuration } from "../core/index.ts";
import { type FlagValues, flagText } from "../spec/index.ts";
import type { Colour, Terminal } from "./terminal.ts";

/** Whole seconds from ten seconds on, tenths below. Empty for null. */
export function span(ms: number | null): string {
  if (ms === null) return "";
  const step = ms < 10_000 ? 100 : 1_000;
  return formatDuration(Math.round(ms / step) * step);
}

/** `≥ 16s` where it is only known that it was at least so long. Empty for null. */
export function ranText({ ranMs, ranIsLowerBound }: Pick<AttemptRow, "ranMs" | "ranIsLowerBound">): string {
  return ranMs !== null && ranIsLowerBound ? `≥ ${span(ranMs)}` : span(ranMs);
}

/** What is left of the time since submit: `≤` where the rest is a lower bound. Empty for null. */
export function waitedText({ waitedMs, ranIsLowerBound }: ChainStatus): string {
  return waitedMs !== null && ranIsLowerBound ? `≤ ${span(waitedMs)}` : span(waitedMs);
}

/** CPU time: milliseconds below a second, where a tenth of a second would be nothing. Empty for null. */
export function cpuSpan(ms: number | null): string {
  return ms !== null && ms > 0 && ms < 999.5 ? `${Math.max(1, Math.round(ms))}ms` : span(ms);
}

/** `2026-03-01 14:05:09`, local time. Empty for null. */
export function moment(atMs: number | null): string {
  if (atMs === null) return "";
  const date = new Date(atMs);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Local time's distance from UTC then: `UTC+1`, `UTC-3:30`, `UTC+0`. */
export function zone(atMs: number): string {
  const minutes = -new Date(atMs).getTimezoneOffset();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "-" : "+"}${hours}${rest === 0 ? "" : `:${String(rest).padStart(2, "0")}`}`;
}

/** `2026-03-01 14:05:09 (UTC+1)`. Empty for null. */
export function momentInZone(atMs: number | null): string {
  return atMs === null ? "" : `${moment(atMs)} (${zone(atMs)})`;
}

export function progressText(status: ChainStatus): string {
  return status.progress.state === "not-configured" ? "" : formatProgress(status.progress, status.total);
}

export function windowLeft(status: ChainStatus, nowMs: number): string {
  return status.windowEndAtMs === null ? "" : span(Math.max(0, status.windowEndAtMs - nowMs));
}

/** As progressText, for a line that says the reason elsewhere. */
export function progressCell(status: ChainStatus): string {
  return status.progress.state === "invalid" ? "invalid" : progressText(status);
}

/** Why a checkpoint is invalid, unless `said` says it already; else null. */
export function invalidWhy(progress: Progress | null, said: string | null): string | null {
  if (progress?.state !== "invalid" || said?.includes(progress.why) === true) return null;
  return `checkpoint invalid: ${progress.why}`;
}

const STATE_COLOURS: Readonly<Record<ChainStatus["state"], Colour>> = {
  stranded: "red",
  unreadable: "red",
  held: "yellow",
  waiting: "blue",
  running: "green",
  over: "dim",
  "unfinished-submit": "yellow",
};

export function stateText(status: ChainStatus, terminal: Pick<Terminal, "colour">): string {
  return terminal.colour(status.state, STATE_COLOURS[status.state]);
}

/** `exit 99`, `SIGTERM`; empty where it is not known. */
export function exitText(row: AttemptRow): string {
  if (row.signal !== null) return row.signal;
  return row.exitCode === null ? "" : `exit ${row.exitCode}`;
}

/** `10 → 20`, `none yet`, `10 → gone`; empty where nothing is configured. */
export function progressChange(row: AttemptRow): string {
  const { progressBefore: before, progressAfter: after } = row;
  if (after === null || after.state === "not-configured") return before === null ? "" : String(before);
  if (after.state === "absent") return before === null ? "none yet" : `${before} → gone`;
  // The reason stands beside it.
  return `${before ?? 0} → ${after.state === "invalid" ? "invalid" : formatProgress(after, null)}`;
}

/** A duration given to an option. Throws StintError `usage`. */
export function readDuration(flag: string, text: string): number {
  const parsed = parseDuration(text, { bareNumber: "refused" });
  if (parsed.kind === "duration") return parsed.ms;
  throw new StintError(
    "usage",
    parsed.kind === "error" ? `${flag}: ${parsed.error}` : `${flag} needs an end, such as 90s`,
  );
}

/** A whole number above 0. Throws StintError `usage`. */
export function readNumber(flag: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new StintError("usage", `${flag} needs a number, such as ${flag} 3; found "${text}"`);
}

/** One of these words, given to `--key`; null: it was not given. Throws StintError `usage`. */
export function readChoice<T extends string>(given: FlagValues, key: string, allowed: readonly T[]): T | null {
  const text = flagText(given, key);
  if (text === null) return null;
  const found = allowed.find((each) => each === text);
  if (found !== undefined) return found;
  const words = `${allowed.slice(0, -1).join(", ")} or ${allowed.at(-1)}`;
  throw new StintError("usage", `--${key} ${text}: expected ${words}`);
}

const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/**
 * A moment that is over, in epoch ms: ISO (`2026-05-11T10:00:00Z`; without a zone local time), ms since 1970, or how long ago it
 * is (`2h`). Throws StintError `usage`.
 */
export function readPastMoment(flag: string, text: string, nowMs: number): number {
  const atMs = /^\d{11,15}$/.test(text) ? Number(text) : ISO.test(text) ? isoMs(text) : agoMs(flag, text, nowMs);
  if (Number.isNaN(atMs)) throw new StintError("usage", `${flag} ${text}: there is no such moment`);
  if (atMs > nowMs) throw new StintError("usage", `${flag} ${text}: that moment has not come yet`);
  return atMs;
}

/** A date alone would be UTC's in JavaScript, where a date with a time is local. */
function isoMs(text: string): number {
  return Date.parse(text.includes("T") ? text : `${text}T00:00`);
}

function agoMs(flag: string, text: string, nowMs: number): number {
  const parsed = parseDuration(text, { bareNumber: "refused" });
  if (parsed.kind === "duration") return nowMs - parsed.ms;
  throw new StintError(
    "usage",
    `${flag} ${text}: no moment is understood; e.g. 2026-05-11T10:00:00Z, 1778493600000, or 2h for two hours ago`,
  );
}
