/**
 * `margin: auto`: the margin that follows from how long saving took. A margin that is too short costs all the work since the
 * last save, one that is too long only the seconds that it is too long by. So it is made from the longest of the last twenty
 * (of twenty, the largest is about the 95 % quantile), half as much again: the first saves are few, and checkpoints grow.
 */
import type { AttemptRecords } from "./records.ts";
import type { Seen } from "./seen.ts";

/** How the application took its TERM. Absent in records of a version that did not measure it. */
export interface Saving {
  /** From our TERM to the end of all of its processes; of one that was killed: to the KILL. Monotonic. */
  readonly ms: number;
  /** It did not end in its time: KILL ended it. */
  readonly killed: boolean;
}

/** What a task has measured so far; handed on from settlement to settlement. */
export interface Saves {
  /** How long the last few took that ended by themselves, the newest last. */
  readonly recentMs: readonly number[];
  /** The longest time that did not suffice since one did; null: none. */
  readonly tooShortMs: number | null;
}

export const NO_SAVES: Saves = { recentMs: [], tooShortMs: null };

const KEPT = 20;
/** Until something was measured. */
const DEFAULT_MS = 60_000;
/** Never less than this, or than a tenth of a limit that is shorter than ten times this. */
const LEAST_MS = 5_000;

/** After one more attempt, whose margin was `marginMs`. */
export function noteSaving(before: Saves, saving: Saving, marginMs: number): Saves {
  if (saving.killed) return { ...before, tooShortMs: Math.max(before.tooShortMs ?? 0, marginMs, saving.ms) };
  return { recentMs: [...before.recentMs, saving.ms].slice(-KEPT), tooShortMs: null };
}

/**
 * What an attempt tells of the margin that it had; null: nothing. A kill is no news of it where a cancel came: that has its own
 * time. A time-out without the body's testimony: the margin did not even suffice for the body itself.
 */
export function measuredSaving(
  { go, exited }: Pick<AttemptRecords, "go" | "exited">,
  seen: Seen | null,
): (Saving & { readonly marginMs: number }) | null {
  if (go?.what !== "start" || go.marginMs === undefined) return null;
  const { marginMs } = go;
  if (exited?.by === "body") {
    const { saving = null, endedBy } = exited;
    const counts = saving !== null && (!saving.killed || endedBy === "window" || endedBy === "drain");
    return counts ? { ...saving, marginMs } : null;
  }
  return seen?.kind === "over" && seen.state === "TIMEOUT" ? { ms: marginMs, killed: true, marginMs } : null;
}

/** The margin of an attempt with this limit (null: none), in whole ms: at most half of the limit. */
export function autoMarginMs(saves: Saves, limitMs: number | null): number {
  const { recentMs, tooShortMs } = saves;
  const measured = recentMs.length === 0 ? DEFAULT_MS : withReserveMs(1.5 * Math.max(...recentMs));
  const least = Math.min(LEAST_MS, (limitMs ?? Number.POSITIVE_INFINITY) / 10);
  // Nobody knows how much longer the one that was killed would have taken.
  const wanted = tooShortMs === null ? measured : Math.max(recentMs.length === 0 ? 0 : measured, 2 * tooShortMs);
  return Math.round(Math.min(Math.max(wanted, least), (limitMs ?? Number.POSITIVE_INFINITY) / 2));
}

/** What a margin is sized from, in words. */
export function savesText({ recentMs, tooShortMs }: Saves): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)}s`;
  const longest =
    recentMs.length === 0
      ? "no measured save yet"
      : `${recentMs.length} measured ${recentMs.length === 1 ? "save" : "saves"}, the longest ${seconds(Math.max(...recentMs))}`;
  return tooShortMs === null ? longest : `${longest}; ${seconds(tooShortMs)} did not suffice`;
}

/** Of the margin, what is kept back for KILL, testimony and settlement: 15 %, between 0.3 s and 10 s, at most half. */
export function reserveMs(marginMs: number): number {
  return Math.min(marginMs / 2, Math.min(10_000, Math.max(300, marginMs * 0.15)));
}

/** The margin that leaves `neededMs` beside its own reserve. */
function withReserveMs(neededMs: number): number {
  return Math.max(neededMs + 300, Math.min(neededMs / 0.85, neededMs + 10_000));
}
