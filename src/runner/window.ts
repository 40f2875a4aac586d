/** The arithmetic of the window: when TERM comes, when KILL comes, and what is still worth starting. */
import type { Clock } from "../chain/index.ts";
import { autoMarginMs, isWorthStarting, type JobSpec, NO_SAVES, reserveMs, type Saves } from "../core/index.ts";

/** The specification with the margin of this one attempt. */
export type AttemptSpec = JobSpec & { readonly marginMs: number };

/** `limitMs`: of this attempt; null: none. */
export function withMargin(spec: JobSpec, saves: Saves, limitMs: number | null): AttemptSpec {
  return { ...spec, marginMs: spec.marginMs === "auto" ? autoMarginMs(saves, limitMs) : spec.marginMs };
}

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

export function windowOf(limitAtMs: number | null, spec: AttemptSpec): Window {
  if (limitAtMs === null) return { termAtMs: null, killAtMs: null, limitAtMs: null };
  return {
    limitAtMs,
    termAtMs: limitAtMs - spec.marginMs,
    killAtMs: limitAtMs - reserveMs(spec.marginMs),
  };
}

/** Less than a tenth of the window is not worth a start. */
export function leastUsefulMs(spec: AttemptSpec): number {
  return spec.limitMs === null ? 0 : Math.max(0, (spec.limitMs - spec.marginMs) * 0.1);
}

/** How long before the end of a window of this length an attempt without successors gets one: a tenth of it, 1 s to 10 s. */
export function successorLeadMs(windowMs: number): number {
  return Math.min(10_000, Math.max(1_000, windowMs * 0.1));
}

/** Whether its allocation leaves nothing for another attempt when TERM comes to this one: a successor would be taken back. */
export function isLastWindow(spec: AttemptSpec, termAtMs: number | null, clock: Pick<Clock, "nowMs" | "monotonicMs">) {
  if (termAtMs === null || spec.scheduler !== "local") return false;
  const { limitMs, marginMs, allocationEndAtMs = null } = spec;
  const endAtMs = clock.nowMs() + (termAtMs - clock.monotonicMs());
  return !isWorthStarting({ limitMs, marginMs, allocationEndAtMs }, NO_SAVES, endAtMs);
}

/** From TERM to KILL when the end is not the window's: drain has the margin, cancel the kill wait. */
export function graceMs(endedBy: "drain" | "cancel" | "scheduler" | "leftover", spec: AttemptSpec): number {
  return endedBy === "drain" ? Math.max(spec.marginMs, spec.killWaitMs) : spec.killWaitMs;
}
