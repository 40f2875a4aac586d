/** What was known at an instant: a later start or end has not happened yet. */
import type { AttemptTimes, TaskTimes } from "./usage-rows.ts";

/** A task (attempt) that had not ended by then counts as running, one that had not started as pending. */
export function asOf<T extends TaskTimes | AttemptTimes>(row: T, asOfMs: number): T {
  const { startedAtMs, finishedAtMs } = row;
  if (startedAtMs !== null && startedAtMs > asOfMs)
    return { ...row, state: "pending", startedAtMs: null, finishedAtMs: null };
  return finishedAtMs !== null && finishedAtMs > asOfMs ? { ...row, state: "running", finishedAtMs: null } : row;
}
