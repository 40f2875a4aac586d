/** A local chain inside an allocation of a batch system ends before the allocation does, and goes on in another one. */
import { autoMarginMs, type Saves } from "./margin.ts";
import type { Decision, Policy } from "./records.ts";

/** An attempt is over this long before the allocation is, so that the chain can say how it stands. */
const SAFETY_MS = 5_000;

/** What is known of the allocation that a submit or a resume is typed in. */
export interface AllocationHere {
  readonly id: string;
  /** Null: it has no end, or (with `error`) nobody could say. */
  readonly endAtMs: number | null;
  /** Who said so, e.g. `squeue`. */
  readonly by: string;
  /** CPUs of this node that it holds; null: not known. */
  readonly cpus: number | null;
  /** Why its end is not known, in one line. */
  readonly error: string | null;
}

export type AllocationBound = Pick<Policy, "limitMs" | "marginMs" | "allocationEndAtMs">;

/** The limit of an attempt that starts at `nowMs`: its own, or what is left of the allocation. Null: none; 0: nothing is left. */
export function limitWithin(limitMs: number | null, allocationEndAtMs: number | null, nowMs: number): number | null {
  if (allocationEndAtMs === null) return limitMs;
  return Math.max(0, Math.min(limitMs ?? Number.POSITIVE_INFINITY, allocationEndAtMs - SAFETY_MS - nowMs));
}

/** Whether an attempt that starts at `startAtMs` would have its margin and a tenth of a window before the allocation ends. */
export function isWorthStarting(bound: AllocationBound, saves: Saves, startAtMs: number): boolean {
  const leftMs = limitWithin(null, bound.allocationEndAtMs, startAtMs);
  if (leftMs === null) return true;
  const marginMs = bound.marginMs === "auto" ? autoMarginMs(saves, bound.limitMs) : bound.marginMs;
  // Without a limit of its own the margin is the only measure of what an attempt is.
  const windowMs = bound.limitMs === null ? marginMs : bound.limitMs - marginMs;
  return leftMs >= marginMs + windowMs / 10;
}

/** A decision to go on, unless too little of the allocation would be left at the next start: then the chain is drained. */
export function withinAllocation(decision: Decision, bound: AllocationBound, saves: Saves, nowMs: number): Decision {
  if (decision.kind !== "continue" && decision.kind !== "retry") return decision;
  const startAtMs = decision.kind === "retry" ? Math.max(nowMs, decision.notBeforeMs) : nowMs;
  if (bound.allocationEndAtMs === null || isWorthStarting(bound, saves, startAtMs)) return decision;
  const end = allocationEndText(bound.allocationEndAtMs);
  return { kind: "stop", why: `drained: ${end}`, advice: "in another allocation: stint resume JOB" };
}

/** `the allocation ends at 2026-03-01 14:05:09 UTC`. */
export function allocationEndText(allocationEndAtMs: number): string {
  const at = new Date(allocationEndAtMs).toISOString();
  return `the allocation ends at ${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
}
