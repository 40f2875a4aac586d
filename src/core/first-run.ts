/** Wishes about the beginning of a chain, which count until a job of it has begun. */
import type { JobSpec } from "./job-spec.ts";
import type { TaskRecords } from "./slots.ts";

/** No job of the chain has begun: where one has, the scheduler has seen the wishes met. */
export function hasNotBegun({ settled, open }: TaskRecords): boolean {
  return (settled?.record.carry.attempts ?? 0) === 0 && open.every(({ started }) => started === null);
}

/** What is queued waits for a dependency of the user's own: another job in its place would wait for the same. */
export function waitsAsWished({ untilFirstRun }: JobSpec, task: TaskRecords): boolean {
  return untilFirstRun?.dependency != null && hasNotBegun(task);
}
