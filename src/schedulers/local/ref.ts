import type { ProcessRef, Ref } from "../../core/index.ts";

/** The shepherd of one attempt. On which machine it is, the records of the attempt say. */
export interface LocalRef {
  readonly bootId: string;
  readonly pid: number;
  readonly startTicks: number;
}

/** `local/<bootId>/<pid>/<startTicks>`. */
export function formatLocalRef(shepherd: Pick<ProcessRef, "bootId" | "pid" | "startTicks">): Ref {
  return `local/${shepherd.bootId}/${shepherd.pid}/${shepherd.startTicks}`;
}

/** null: not the name of a local attempt. */
export function parseLocalRef(ref: Ref): LocalRef | null {
  const match = /^local\/([^/]+)\/(\d+)\/(\d+)$/.exec(ref);
  if (match?.[1] === undefined) return null;
  return { bootId: match[1], pid: Number(match[2]), startTicks: Number(match[3]) };
}
