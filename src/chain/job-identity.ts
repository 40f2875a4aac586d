import {
  type AttemptRecords,
  type Claim,
  type Ref,
  refsOf,
  type Settled,
  type Submitted,
  type SubmitterClaim,
  type SubmitterRecords,
  submitterRef,
} from "../core/index.ts";
import { attemptPlace, type JobPlace, submitterPlace, type TaskPlace } from "../journal/index.ts";
import type { JobIdentity } from "../schedulers/index.ts";
import { scriptPath } from "./hand-in.ts";
import type { World } from "./world.ts";

type Identities = ReadonlyMap<Ref, JobIdentity>;

/** What tells the jobs of these attempts from others that got their numbers. */
export function identitiesOf(task: TaskPlace, attempts: readonly AttemptRecords[]): Identities {
  return new Map(
    attempts.flatMap((attempt) => identities(attemptPlace(task, attempt.number), attempt, refsOf(attempt))),
  );
}

/** The same of a settled attempt: who got its number has submitted after its start. */
export function settledIdentity(
  task: TaskPlace,
  settled: { readonly number: number; readonly record: Settled },
): Identities {
  const { ref, startedAtMs } = settled.record.evidence;
  if (ref === null) return new Map();
  const submittedUntilMs = startedAtMs ?? settled.record.atMs;
  const script = scriptPath(attemptPlace(task, settled.number));
  return new Map([[ref, { script, submittedFromMs: null, submittedUntilMs }]]);
}

/** The same of submitters. */
export function submitterIdentities(job: JobPlace, submitters: readonly SubmitterRecords[]): Identities {
  return new Map(
    submitters.flatMap((one) => {
      const ref = submitterRef(one);
      return identities(submitterPlace(job, one.number), one, ref === null ? [] : [ref]);
    }),
  );
}

/** Those that may still be the jobs that they were: a cancel must not meet another one that has got a number. */
export async function stillOwn(world: World, own: Identities): Promise<readonly Ref[]> {
  const seen = await world.scheduler.observe([...own.keys()], own);
  return [...own.keys()].filter((ref) => seen.get(ref)?.kind !== "absent");
}

function identities(
  { folder }: { readonly folder: string },
  { submitted, claim }: { readonly submitted: Submitted | null; readonly claim: Claim | SubmitterClaim | null },
  refs: readonly Ref[],
): readonly (readonly [Ref, JobIdentity])[] {
  const submittedUntilMs = submitted?.atMs ?? claim?.atMs;
  if (submittedUntilMs === undefined) return [];
  const identity = { script: scriptPath({ folder }), submittedFromMs: claim?.atMs ?? null, submittedUntilMs };
  return refs.map((ref) => [ref, identity]);
}
