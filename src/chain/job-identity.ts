import { type AttemptRecords, type Ref, refsOf } from "../core/index.ts";
import { attemptPlace, type TaskPlace } from "../journal/index.ts";
import type { JobIdentity } from "../schedulers/index.ts";
import { scriptPath } from "./submit-attempt.ts";

/** What tells the jobs of these attempts from others that got their numbers. */
export function identitiesOf(task: TaskPlace, attempts: readonly AttemptRecords[]): ReadonlyMap<Ref, JobIdentity> {
  return new Map(
    attempts.flatMap((attempt) => {
      const submittedAtMs = attempt.submitted?.atMs ?? attempt.claim?.atMs;
      if (submittedAtMs === undefined) return [];
      const identity = { script: scriptPath(attemptPlace(task, attempt.number)), submittedAtMs };
      return refsOf(attempt).map((ref): [Ref, JobIdentity] => [ref, identity]);
    }),
  );
}
