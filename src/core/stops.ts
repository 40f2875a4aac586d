/** Stops: wishes on file. The highest number rules, and those of all ancestors count (design §4). */
import type { Decision, Settled, Stop } from "./records.ts";

/** The stops of one job folder: the job's own or an ancestor's. */
export interface StopList {
  /** Number of the highest stop; 0: none. */
  readonly highest: number;
  readonly ruling: Stop | null;
}

export interface Stops {
  /** Own first, then the ancestors upwards. */
  readonly lists: readonly StopList[];
  /** Persons' words "attempt N is over", by attempt. */
  readonly words: ReadonlyMap<number, string>;
}

/** Highest stop numbers of the job and its ancestors together: it only grows, so a newer resume is a higher number. */
export function stopNumber(stops: Stops): number {
  return stops.lists.reduce((sum, list) => sum + list.highest, 0);
}

/** The drain or cancel in force, if any; a cancel anywhere is stronger than a drain. */
export function stopInForce(stops: Stops): "drain" | "cancel" | null {
  const kinds = stops.lists.map((list) => list.ruling?.kind);
  if (kinds.includes("cancel")) return "cancel";
  return kinds.includes("drain") ? "drain" : null;
}

/** Whether somebody has said resume after this settlement was made. */
export function isResumed(settled: Settled, stops: Stops): boolean {
  if (settled.decision.kind === "finish" || stopInForce(stops) !== null) return false;
  return stopNumber(stops) > settled.stopNumber && stops.lists.some((list) => list.ruling?.kind === "resume");
}

/** The decision a chain stands on: as settled, or "continue" where a resume has overridden a hold or a stop. */
export function standingDecision(settled: Settled | null, stops: Stops): Decision | null {
  if (settled === null) return null;
  return isResumed(settled, stops) ? { kind: "continue" } : settled.decision;
}
