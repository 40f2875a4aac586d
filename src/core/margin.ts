/**
 * `margin: auto`: the margin that follows from how long saving took. A margin that is too short costs all the work since the
 * last save, one that is too long only the seconds that it is too long by. So it is made from the longest of the last twenty
 * (of twenty, the largest is about the 95 % quantile), half as much again: the first saves are few, and checkpoints grow. Who was
 * killed stays among the twenty as a lower bound: a quick end after it does not say that the long save was none.
 */
import type { Progress } from "./progress.ts";
import type { AttemptRecords } from "./records.ts";
import type { Seen } from "./seen.ts";

/** How the application took its TERM. Absent in records of a version that did not measure it. */
export interface Saving {
  /** From our TERM to the end of all of its processes; of one that was killed: to the KILL. Monotonic. */
  readonly ms: number;
  /** It did not end in its time: KILL ended it. */
  readonly killed: boolean;
}

/** The last few that a task has measured, the newest last; handed on from settlement to settlement. */
export type Saves = readonly Saving[];

export const NO_SAVES: Saves = [];

const KEPT = 20;
/** Until something was measured. */
const DEFAULT_MS = 60_000;
/** Never less than this, or than a tenth of a limit that is shorter than ten times this. */
const LEAST_MS = 5_000;

/**
 * After one more attempt and its progress. An end counts where something was saved, or where that cannot be told: whoever leaves
 * at once and saves nothing says nothing of how long saving takes.
 */
export function noteSaving(before: Saves, saving: Saving, progress: Progress): Saves {
  const savedNothing = progress.state === "not-above" || progress.state === "absent";
  if (savedNothing && !saving.killed) return before;
  return [...before, saving].slice(-KEPT);
}

/**
 * What an attempt tells of the margin that it had; null: nothing. A kill is no news of it where a cancel came: that has its own
 * time. A time-out without the body's testimony: the margin did not even suffice for the body itself.
 */
export function measuredSaving(
  { go, exited }: Pick<AttemptRecords, "go" | "exited">,
  seen: Seen | null,
): Saving | null {
  if (go?.what !== "start" || go.marginMs === undefined) return null;
  if (exited?.by === "body") {
    const { saving = null, endedBy } = exited;
    const counts = saving !== null && (!saving.killed || endedBy === "window" || endedBy === "drain");
    return counts ? saving : null;
  }
  return seen?.kind === "over" && seen.state === "TIMEOUT" ? { ms: go.marginMs, killed: true } : null;
}

/** The margin of an attempt with this limit (null: none), in whole ms: at most half of the limit. */
export function autoMarginMs(saves: Saves, limitMs: number | null): number {
  const { longestMs, tooShortMs } = measured(saves);
  // Nobody knows how much longer the one that was killed would have taken.
  const needed = [longestMs === null ? [] : 1.5 * longestMs, tooShortMs === null ? [] : 2 * tooShortMs].flat();
  const wanted = needed.length === 0 ? DEFAULT_MS : withReserveMs(Math.max(...needed));
  const least = Math.min(LEAST_MS, (limitMs ?? Number.POSITIVE_INFINITY) / 10);
  return Math.round(Math.min(Math.max(wanted, least), (limitMs ?? Number.POSITIVE_INFINITY) / 2));
}

/** What a margin is sized from, in words. */
export function savesText(saves: Saves): string {
  const { ends, longestMs, tooShortMs } = measured(saves);
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)}s`;
  const longest =
    longestMs === null
      ? "no measured save yet"
      : `${ends} measured ${ends === 1 ? "save" : "saves"}, the longest ${seconds(longestMs)}`;
  return tooShortMs === null ? longest : `${longest}; ${seconds(tooShortMs)} did not suffice`;
}

/**
 * Of the last few: how many ended in time and the longest of them, and the longest time that did not suffice (null: none). A kill
 * is a lower bound, which a longer end has answered.
 */
function measured(saves: Saves): {
  readonly ends: number;
  readonly longestMs: number | null;
  readonly tooShortMs: number | null;
} {
  const ends = saves.filter(({ killed }) => !killed).map(({ ms }) => ms);
  const longestMs = ends.length === 0 ? null : Math.max(...ends);
  const kills = saves.filter(({ ms, killed }) => killed && ms > (longestMs ?? -1)).map(({ ms }) => ms);
  return { ends: ends.length, longestMs, tooShortMs: kills.length === 0 ? null : Math.max(...kills) };
}

/** Of the margin, what is kept back for KILL, testimony and settlement: 15 %, between 0.3 s and 10 s, at most half. */
export function reserveMs(marginMs: number): number {
  return Math.min(marginMs / 2, Math.min(10_000, Math.max(300, marginMs * 0.15)));
}

/** The margin that leaves `neededMs` beside its own reserve. */
function withReserveMs(neededMs: number): number {
  return Math.max(neededMs + 300, Math.min(neededMs / 0.85, neededMs + 10_000));
}
