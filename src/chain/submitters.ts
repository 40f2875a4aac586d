/**
 * The submitter's job, as seen by everybody who may have to make one or to take one back (mode submitter). What is to be done
 * next the core decides (submitterStep); here it is done, with the same care as for an attempt: a claim is linked, a job that
 * nobody is sure of is looked for by its script, and what was accepted is put on file by whoever finds it.
 */
import { join } from "node:path";
import {
  type Claimer,
  type JobSpec,
  RECORD_VERSION,
  type Ref,
  type Seen,
  type SubmitterBasis,
  type SubmitterEnd,
  type SubmitterOptions,
  type SubmitterRecords,
  submitterRef,
  submitterStep,
} from "../core/index.ts";
import {
  createRecord,
  HEARTBEAT_FILE,
  type JobPlace,
  readAllStops,
  readEnvironment,
  readSubmitters,
  type SubmitterPlace,
  submitterPlace,
} from "../journal/index.ts";
import { isStoppedAsAWhole } from "./begin-tasks.ts";
import { adoptJob, type Claimed, claimerOf, handIn } from "./hand-in.ts";
import { stillOwn, submitterIdentities } from "./job-identity.ts";
import { submitterScriptFor } from "./open-world.ts";
import type { World } from "./world.ts";

export interface EnsureOptions {
  readonly spec: JobSpec;
  readonly basis: SubmitterBasis;
  /** The submitter that asks for its successor. */
  readonly me?: number;
  /** Whose heartbeat this process has just seen moving is believed. Default true; else the scheduler is asked. */
  readonly believe?: boolean;
}

export type Ensured =
  /** The chain is being stopped: none is made. */
  | { readonly kind: "not-needed" }
  /** A living or queued submitter moves the chain. */
  | { readonly kind: "there"; readonly number: number }
  | { readonly kind: "waiting"; readonly number: number; readonly why: string; readonly lookAgainMs: number }
  /** A clear no of the scheduler. */
  | { readonly kind: "refused"; readonly error: string; readonly transient: boolean; readonly lookAgainMs: number };

/** More steps than any call needs: a bug must not turn into a busy loop. */
const MAX_STEPS = 1_000;

/** Sees that a submitter lives or is queued, and makes the next one where none does. Idempotent: whoever is first wins. */
export async function ensureSubmitter(world: World, job: JobPlace, options: EnsureOptions): Promise<Ensured> {
  const { spec, me = null, believe = true } = options;
  const seen = new Map<Ref, Seen>();
  const found = new Map<number, "none" | "unreachable" | "adopted">();
  for (let steps = 0; steps < MAX_STEPS; steps++) {
    if (isStoppedAsAWhole(await readAllStops(world.folder, job), spec)) return { kind: "not-needed" };
    const submitters = await readSubmitters(world.folder, job);
    const silentMs = await watchHeartbeats(world, job, submitters);
    const step = submitterStep({
      submitters,
      me,
      seen,
      silentMs,
      believes: believe,
      found,
      timing: spec.timing,
      ...claimsOf(world, job, submitters),
    });
    switch (step.do) {
      case "rest":
        return { kind: "there", number: step.number };
      case "wait": {
        const refusal = world.memory.refusals.get(submitterPlace(job, step.number).folder);
        return refusal === undefined
          ? { kind: "waiting", number: step.number, why: step.why, lookAgainMs: step.lookAgainMs }
          : { kind: "refused", ...refusal, lookAgainMs: step.lookAgainMs };
      }
      case "ask": {
        const identities = submitterIdentities(job, submitters);
        for (const [ref, answer] of await world.scheduler.observe(step.refs, identities)) seen.set(ref, answer);
        for (const ref of step.refs) if (!seen.has(ref)) seen.set(ref, { kind: "unreachable", error: "no answer" });
        break;
      }
      case "find":
        found.set(step.number, await adoptJob(world, claimedSubmitter(submitterPlace(job, step.number))));
        break;
      case "claim":
        await claim(world, submitterPlace(job, step.number), options.basis);
        break;
      case "submit":
        await submit(world, submitterPlace(job, step.number), spec, me, submitters);
        break;
    }
  }
  throw new Error(`the submitter of ${job.id} does not come to rest: please report this`);
}

/**
 * Looks at the heartbeats, and answers how long each has not moved. The first look of a process only begins the watch: that
 * submitter is not in the answer.
 */
export async function watchHeartbeats(
  world: World,
  job: JobPlace,
  submitters: readonly SubmitterRecords[],
): Promise<ReadonlyMap<number, number>> {
  const silentMs = new Map<number, number>();
  const nowMs = world.clock.monotonicMs();
  for (const { number, started, ended } of submitters) {
    if (started === null || ended !== null) continue;
    const { folder } = submitterPlace(job, number);
    // Its length is compared, never a time of another host's clock.
    const heartbeat = String((await world.folder.read(join(folder, HEARTBEAT_FILE)))?.length ?? -1);
    const before = world.memory.watches.get(folder);
    const moved = before === undefined || before.heartbeat !== heartbeat;
    const sinceMs = moved ? nowMs : (before.silentSinceMs ?? nowMs);
    world.memory.watches.set(folder, { doubt: null, answeringSinceMs: null, heartbeat, silentSinceMs: sinceMs });
    if (before !== undefined) silentMs.set(number, nowMs - sinceMs);
  }
  return silentMs;
}

/** Takes back the submitters that are queued and have not started: first on file, then one cancel for all. */
export async function withdrawSubmitters(world: World, job: JobPlace, except: number | null = null): Promise<void> {
  const queued = (await readSubmitters(world.folder, job)).filter(
    ({ number, claim, started, ended }) => number !== except && claim !== null && started === null && ended === null,
  );
  for (const { number } of queued) await endSubmitter(world, submitterPlace(job, number), "withdrawn");
  const refs = await stillOwn(world, submitterIdentities(job, queued));
  if (refs.length === 0) return;
  world.log(`cancel ${refs.join(" ")}: the chain needs no submitter any more`);
  await world.scheduler.withdraw(refs);
}

/** Puts the end of a submitter on file: its own word, or that it is not needed. */
export async function endSubmitter(world: World, place: SubmitterPlace, reason: SubmitterEnd): Promise<void> {
  const record = { version: RECORD_VERSION, nonce: world.nonce(), atMs: world.clock.nowMs(), by: world.self, reason };
  await createRecord(world.folder, join(place.folder, "ended.json"), record);
}

/** Its job is called after the one that it moves. */
export function submitterName({ name }: Pick<JobSpec, "name">): string {
  return `${name}-submitter`;
}

/** The specification of its job: small, and without what the application needs. */
export function submitterJob(spec: JobSpec, options: SubmitterOptions): JobSpec {
  const { limitMs, memory, partition, account, qos, sbatch } = options;
  return {
    ...spec,
    limitMs,
    slurm: {
      ...{ partition, account, qos, memory, cpusPerTask: 1, nodes: "1", exclude: null },
      // Without a limit of ours sbatch would take the partition's default.
      sbatch: limitMs === null ? [...sbatch, "--time=UNLIMITED"] : sbatch,
      ...{ launch: "direct", srunArgs: [], modules: [] },
    },
  };
}

/** The submitter as something that is handed in. */
export function claimedSubmitter({ folder, number }: SubmitterPlace): Claimed {
  return { folder, what: `submitter ${number}` };
}

/** What is known of claims without a job, for the core. */
function claimsOf(world: World, job: JobPlace, submitters: readonly SubmitterRecords[]) {
  const claimers = new Map<number, Claimer>();
  const claimWatchedMs = new Map<number, number>();
  const refused = new Map<number, { readonly error: string; readonly lookAgainMs: number }>();
  const nowMs = world.clock.monotonicMs();
  for (const one of submitters) {
    if (one.claim === null || submitterRef(one) !== null) continue;
    const { folder } = submitterPlace(job, one.number);
    claimers.set(one.number, claimerOf(world, one.claim.by, folder));
    const sinceMs = world.memory.watches.get(folder)?.silentSinceMs ?? nowMs;
    world.memory.watches.set(folder, { doubt: null, answeringSinceMs: null, heartbeat: null, silentSinceMs: sinceMs });
    claimWatchedMs.set(one.number, nowMs - sinceMs);
    const refusal = world.memory.refusals.get(folder);
    if (refusal !== undefined && refusal.againAtMs > nowMs)
      refused.set(one.number, { error: refusal.error, lookAgainMs: refusal.againAtMs - nowMs });
  }
  return { claimers, claimWatchedMs, refused };
}

async function claim(world: World, place: SubmitterPlace, basis: SubmitterBasis): Promise<void> {
  await world.folder.makeFolder(place.folder);
  const frame = { version: RECORD_VERSION, nonce: world.nonce(), atMs: world.clock.nowMs() };
  const { mine } = await createRecord(world.folder, join(place.folder, "claim.json"), {
    ...frame,
    by: world.self,
    basis,
  });
  if (mine) world.log(`submitter ${place.number} claimed (${basis})`);
}

async function submit(
  world: World,
  place: SubmitterPlace,
  spec: JobSpec,
  me: number | null,
  submitters: readonly SubmitterRecords[],
): Promise<void> {
  const { submitter } = spec;
  if (submitter === undefined) return;
  await handIn(world, claimedSubmitter(place), async (script) => {
    await world.folder.replace(script, submitterScriptFor(place, spec));
    // One at a time by the queue, too: a successor waits for the end of who hands over to it.
    const own = submitters.find(({ number }) => number === me);
    const after = own === undefined ? null : submitterRef(own);
    return {
      script,
      attemptFolder: place.folder,
      jobName: submitterName(spec),
      spec: submitterJob(spec, submitter),
      after: after === null ? [] : [after],
      notBeforeMs: null,
      environment: await readEnvironment(world.folder, place.job),
    };
  });
}
