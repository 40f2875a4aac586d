/** The arithmetic of the window: when TERM comes, when KILL comes, and what is still worth starting. */
import type { Clock } from "../chain/index.ts";
import type { JobSpec } from "../core/index.ts";

export interface Window {
  /** On this host's monotonic clock; null: no limit. */
  readonly termAtMs: number | null;
  readonly killAtMs: number | null;
  readonly limitAtMs: number | null;
}

/**
 * From the scheduler's word (epoch) to this host's monotonic clock. To be called at once when the word has come: the clock
 * may be set at any time after.
 */
export function limitAtOf(limitEndAtMs: number | null, clock: Pick<Clock, "nowMs" | "monotonicMs">): number | null {
  return limitEndAtMs === null ? null : clock.monotonicMs() + (limitEndAtMs - clock.nowMs());
}

export function windowOf(limitAtMs: number | null, spec: JobSpec): Window {
  if (limitAtMs === null) return { termAtMs: null, killAtMs: null, limitAtMs: null };
  return {
    limitAtMs,
    termAtMs: limitAtMs - spec.marginMs,
    killAtMs: limitAtMs - reserveMs(spec.marginMs),
  };
}

/** Of the margin, what is kept back for KILL, testimony and settlement: 15 %, between 0.3 s and 10 s, at most half. */
export function reserveMs(marginMs: number): number {
  return Math.min(marginMs / 2, Math.min(10_000, Math.max(300, marginMs * 0.15)));
}

/** Less than a tenth of the window is not worth a start. */
export function leastUsefulMs(spec: JobSpec): number {
  return spec.limitMs === null ? 0 : Math.max(0, (spec.limitMs - spec.marginMs) * 0.1);
}

/** From TERM to KILL when the end is not the window's: drain has the margin, cancel the kill wait. */
export function graceMs(endedBy: "drain" | "cancel" | "scheduler" | "leftover", spec: JobSpec): number {
  return endedBy === "drain" ? Math.max(spec.marginMs, spec.killWaitMs) : spec.killWaitMs;
}
