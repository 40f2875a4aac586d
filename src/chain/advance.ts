/**
 * `advance(task)`: the one function that moves a chain (protocol §3). Runner, submitter, `resume`, the attached command
 * and shepherds all call it, at any time and at once: it is idempotent, since every change is a record that only one can
 * create. It reads, asks the core what to do, does that one thing, and reads again.
 */
import { join } from "node:path";
import {
  type Claimer,
  type JobSpec,
  lastElapsedMs,
  nextStep,
  noteDoubt,
  type Outcome,
  type Policy,
  RECORD_VERSION,
  type Reading,
  type Ref,
  refOf,
  type Seen,
  type Step,
  specForTask,
  taskPhase,
  type View,
  type Watch,
  type WithdrawReason,
  waitsAsWished,
} from "../core/index.ts";
import {
  type AttemptPlace,
  attemptPlace,
  createRecord,
  type JobPlace,
  JournalError,
  placeOfAttemptFolder,
  readSpec,
  readStops,
  readTask,
  type TaskPlace,
} from "../journal/index.ts";
import { isOrphaned, type JobIdentity } from "../schedulers/index.ts";
import {
  type BeginOptions,
  type BeginResult,
  beginTasks,
  findSlot,
  othersLeft,
  type Slot,
  stands,
} from "./begin-tasks.ts";
import { adoptJob, claimerOf, isThisProcess } from "./hand-in.ts";
import { identitiesOf } from "./job-identity.ts";
import { readRuntimeFault } from "./runtime-fault.ts";
import { claimedAttempt, submitAttempt } from "./submit-attempt.ts";
import type { World } from "./world.ts";

export interface AdvanceOptions {
  /** The attempt whose body calls. */
  readonly me?: number;
  /** Only keep `ahead` successors queued above `me`, which is running. */
  readonly topUp?: boolean;
  /** Overrides the specification's number of successors. */
  readonly ahead?: number;
  /** Whether it may claim the next attempt. Default: yes, but for a body in mode submitter. */
  readonly claims?: boolean;
  /** What the caller knows better than the scheduler's answer would tell. */
  readonly assume?: ReadonlyMap<Ref, Seen>;
  /** Begin other tasks of the job where this one is over. Default true; false where all of them are stopped. */
  readonly others?: boolean;
  /** How it begins other tasks. */
  readonly beginning?: Pick<BeginOptions, "withinMs" | "keeps">;
}

/** More steps than any chain needs in one call; a bug must not turn into a busy loop. */
const MAX_STEPS = 10_000;
/** Whoever has ended a task begins others for so long; after that the next one does. */
const BEGIN_MS = 60_000;

/**
 * Advances one task. Whoever finds it over has freed a slot, and begins what may begin of its job's other tasks; in mode submitter
 * a body leaves that to the submitter. What may begin and was not begun is in the outcome: who can stay tries again.
 */
export async function advance(world: World, task: TaskPlace, options: AdvanceOptions = {}): Promise<Outcome> {
  const outcome = await advanceTask(world, task, options, null);
  if (options.others === false || (outcome.kind !== "over" && outcome.kind !== "held")) return outcome;
  const claims = options.claims ?? mayClaim((await specOf(world, task)).spec, options);
  if (!claims) return outcome;
  const left = othersLeft(await advanceJob(world, task.job, { withinMs: BEGIN_MS, ...options.beginning }));
  return left === null ? outcome : { ...outcome, others: left };
}

function mayClaim({ mode }: JobSpec, { me }: AdvanceOptions): boolean {
  return mode !== "submitter" || me === undefined;
}

/**
 * Begins every task of a job that may begin and that nobody moves; a job of one task is left alone. What the scheduler does not take
 * now leaves no claim behind, unless the caller keeps it.
 */
export async function advanceJob(world: World, job: JobPlace, options: BeginOptions = {}): Promise<BeginResult> {
  const result = await beginTasks(world, job, (task, slot) => advanceTask(world, task, {}, slot), options);
  if (result.refused === null) return result;
  const place = attemptPlace(result.refused.task, result.refused.attempt);
  if (options.keeps === true) world.memory.kept.add(place.folder);
  else await takeBack(world, place);
  return result;
}

/** Whoever has kept refused claims leaves: others begin those tasks. */
export async function takeBackKept(world: World): Promise<void> {
  for (const folder of [...world.memory.kept]) {
    world.memory.kept.delete(folder);
    const place = placeOfAttemptFolder(folder);
    if (place !== null) await takeBack(world, place);
  }
}

/** Our own claim, of which a clear no says that no job carries it: the next mover need not look for one. */
async function takeBack(world: World, { task, number, folder }: AttemptPlace): Promise<void> {
  // What is being handed in just now may be taken after all.
  if (!world.memory.refusals.has(folder) || world.memory.submitting.has(folder)) return;
  if (await isOurClaim(world, task, number))
    await withdraw(world, task, number, "not-needed", "the scheduler did not take it");
}

async function isOurClaim(world: World, task: TaskPlace, attempt: number): Promise<boolean> {
  const { open } = await readTask(world.folder, task);
  const { claim = null, submitted = null } = open.find(({ number }) => number === attempt) ?? {};
  return claim !== null && submitted === null && isThisProcess(world, claim.by);
}

async function advanceTask(
  world: World,
  task: TaskPlace,
  options: AdvanceOptions,
  granted: Slot | null,
): Promise<Outcome> {
  const round = newRound(options.assume);
  let slot = granted;
  for (let steps = 0; steps < MAX_STEPS; steps++) {
    const spec = await specOf(world, task);
    const view = await look(world, task, spec.spec, options, round);
    const step = nextStep(view);
    if (step.do === "rest") return step.outcome;
    const bounded = step.do === "claim" && needsSlot(spec.spec, view);
    if (bounded) slot ??= await findSlot(world, task, spec.spec);
    if (bounded && slot === null) return waitsForSlot(step.attempt, spec.spec);
    await perform(world, task, spec, view, step, round);
    if (!bounded || slot === null || (await stands(world, task.job, slot))) continue;
    slot = null;
    if (await isOurClaim(world, task, step.attempt))
      await withdraw(world, task, step.attempt, "not-needed", "a resume has put others in the way");
  }
  throw new Error(`advance of ${task.id} does not come to rest: please report this`);
}

/** It has not begun, and its job is one of which no more than so many are at work. */
function needsSlot({ tasks }: JobSpec, { settled, open, stops }: View): boolean {
  return (tasks?.parallel ?? null) !== null && taskPhase({ settled, open }, stops) === "idle";
}

function waitsForSlot(attempt: number, { tasks, timing }: JobSpec): Outcome {
  const why = `waits for a slot: ${tasks?.parallel} at a time`;
  return { kind: "waiting", why, attempt, lookAgainMs: timing.pollMs, forSlot: true };
}

/** Answers of one call: what was asked once is not asked again, unless our own cancel has changed it. */
interface Round {
  readonly seen: Map<Ref, Seen>;
  readonly found: Map<number, "none" | "unreachable" | "adopted">;
  readonly cancelled: Set<Ref>;
  reading: Reading | null;
  readonly sampled: Map<number, number | null>;
}

function newRound(assume: ReadonlyMap<Ref, Seen> = new Map()): Round {
  return { seen: new Map(assume), found: new Map(), cancelled: new Set(), reading: null, sampled: new Map() };
}

interface SpecNow {
  readonly number: number;
  readonly spec: JobSpec;
}

async function specOf(world: World, task: TaskPlace): Promise<SpecNow> {
  const found = await readSpec(world.folder, task.job);
  if (found === null) {
    const path = join(task.job.folder, "spec");
    throw new JournalError(
      "missing",
      path,
      `${path} is empty: the submit of ${task.job.id} never came to its end; submit it again`,
    );
  }
  return { number: found.number, spec: specForTask(found.revision.spec, task.index) };
}

export function policyOf(spec: JobSpec, ownerUid: number): Policy {
  return {
    total: spec.total,
    savedExitCodes: spec.savedExitCodes,
    checkpointConfigured: spec.checkpoint !== null,
    budgets: spec.budgets,
    backoffFirstMs: spec.backoffFirstMs,
    backoffMaxMs: spec.backoffMaxMs,
    limitMs: spec.limitMs,
    marginMs: spec.marginMs,
    // Absent in a specification of an older version. A job of Slurm's own outlives the allocation that it was typed in.
    allocationEndAtMs: spec.scheduler === "local" ? (spec.allocationEndAtMs ?? null) : null,
    ownerUid,
  };
}

async function look(
  world: World,
  task: TaskPlace,
  spec: JobSpec,
  options: AdvanceOptions,
  round: Round,
): Promise<View> {
  // Stops first: one that arrives after this look is seen by the next.
  const stops = await readStops(world.folder, task);
  const { settled, open } = await readTask(world.folder, task);
  const claimers = new Map<number, Claimer>();
  const watches = new Map<number, Watch>();
  const refused = new Map<number, { readonly error: string; readonly lookAgainMs: number }>();
  const nowMonotonicMs = world.clock.monotonicMs();
  for (const attempt of open) {
    const key = attemptPlace(task, attempt.number).folder;
    if (attempt.submitted === null && attempt.started === null) {
      const by = attempt.claim?.by;
      claimers.set(attempt.number, by === undefined ? "elsewhere" : claimerOf(world, by, key));
      watchClaim(world, key, nowMonotonicMs);
    }
    const watch = world.memory.watches.get(key);
    if (watch !== undefined) watches.set(attempt.number, watch);
    const refusal = world.memory.refusals.get(key);
    if (refusal !== undefined && refusal.againAtMs > nowMonotonicMs)
      refused.set(attempt.number, { error: refusal.error, lookAgainMs: refusal.againAtMs - nowMonotonicMs });
  }
  return {
    settled,
    open,
    stops,
    policy: policyOf(spec, world.ownerUid),
    timing: spec.timing,
    ahead: options.ahead ?? spec.ahead,
    me: options.me ?? null,
    topUp: options.topUp ?? false,
    waitsAsWished: waitsAsWished(spec, { settled, open }),
    claims: options.claims ?? mayClaim(spec, options),
    seen: round.seen,
    found: round.found,
    claimers,
    refused,
    cancelled: round.cancelled,
    watches,
    reading: round.reading,
    sampled: round.sampled,
    nowMs: world.clock.nowMs(),
    nowMonotonicMs,
  };
}

function watchClaim(world: World, key: string, nowMonotonicMs: number): void {
  if (!world.memory.watches.has(key))
    world.memory.watches.set(key, {
      doubt: null,
      silentSinceMs: nowMonotonicMs,
      answeringSinceMs: null,
      heartbeat: null,
    });
}

async function perform(
  world: World,
  task: TaskPlace,
  spec: SpecNow,
  view: View,
  step: Step,
  round: Round,
): Promise<void> {
  switch (step.do) {
    case "rest":
      return;
    case "ask":
      return askScheduler(world, task, view, step.refs, round);
    case "find":
      round.found.set(step.attempt, await adoptJob(world, claimedAttempt(attemptPlace(task, step.attempt))));
      return;
    case "read-checkpoint":
      round.reading = await world.readCheckpoint(task, spec.spec);
      return;
    case "read-samples": {
      const text = await world.folder.read(join(attemptPlace(task, step.attempt).folder, "samples.csv"));
      round.sampled.set(step.attempt, lastElapsedMs(text ?? ""));
      return;
    }
    case "withdraw": {
      const { reason, note } = await causeOf(world, task, step);
      await withdraw(world, task, step.attempt, reason, note);
      return;
    }
    case "cancel":
      world.log(`cancel ${step.refs.join(" ")}`);
      await world.scheduler.withdraw(step.refs);
      for (const ref of step.refs) {
        round.cancelled.add(ref);
        round.seen.delete(ref);
      }
      return;
    case "settle": {
      const place = attemptPlace(task, step.attempt);
      const record = { version: RECORD_VERSION, nonce: world.nonce(), atMs: world.clock.nowMs(), ...step.settlement };
      const { mine } = await createRecord(world.folder, join(place.folder, "settled.json"), record);
      // The checkpoint may be read anew for the next one.
      round.reading = null;
      if (mine)
        world.log(
          `attempt ${step.attempt} settled: ${record.verdict} (${record.evidence.why}) → ${record.decision.kind}`,
        );
      return;
    }
    case "claim": {
      const place = attemptPlace(task, step.attempt);
      await world.folder.makeFolder(place.folder);
      const claim = {
        version: RECORD_VERSION,
        nonce: world.nonce(),
        atMs: world.clock.nowMs(),
        by: world.self,
        specRevision: spec.number,
        basis: step.basis,
        after: step.after,
        notBeforeMs: step.notBeforeMs,
      };
      const { mine } = await createRecord(world.folder, join(place.folder, "claim.json"), claim);
      if (mine) world.log(`attempt ${step.attempt} claimed (${step.basis})`);
      return;
    }
    case "submit": {
      const ref = await submitAttempt(world, task, spec.spec, view, step.attempt);
      // The controller need not be asked about what it has accepted just now: of a thousand tasks that would be a thousand calls. A
      // look on this machine costs nothing, and shows whether the shepherd is there.
      if (ref !== null && world.scheduler.name !== "local") round.seen.set(ref, JUST_ACCEPTED);
      return;
    }
  }
}

const JUST_ACCEPTED: Seen = { kind: "active", phase: "pending", reason: null, limitEndAtMs: null };

/** A job that is gone, or passed over, without having become a body: its script may have left word that it could not. */
async function causeOf(
  world: World,
  task: TaskPlace,
  step: Extract<Step, { do: "withdraw" }>,
): Promise<{ readonly reason: WithdrawReason; readonly note: string | null }> {
  if (step.reason !== "job-gone" && step.reason !== "not-needed") return step;
  const fault = await readRuntimeFault(world.folder, attemptPlace(task, step.attempt));
  return fault === null ? step : { reason: "runtime-failed", note: fault.why };
}

/** Links `go` = withdrawn unless somebody has linked a go before. */
export async function withdraw(
  world: World,
  task: TaskPlace,
  attempt: number,
  reason: WithdrawReason,
  note: string | null,
): Promise<boolean> {
  const go = {
    version: RECORD_VERSION,
    nonce: world.nonce(),
    atMs: world.clock.nowMs(),
    what: "withdrawn" as const,
    reason,
    note,
    by: world.self,
  };
  const { mine } = await createRecord(world.folder, join(attemptPlace(task, attempt).folder, "go.json"), go);
  if (mine) world.log(`attempt ${attempt} withdrawn: ${reason}${note === null ? "" : ` (${note})`}`);
  return mine;
}

/** Looking ends nothing; whoever moves the chain first ends what the death of an attempt's processes has left behind. */
async function observeAndEndOrphans(
  world: World,
  refs: readonly Ref[],
  identities: ReadonlyMap<Ref, JobIdentity>,
): Promise<ReadonlyMap<Ref, Seen>> {
  const answers = await world.scheduler.observe(refs, identities);
  const orphaned = refs.filter((ref) => isOrphaned(answers.get(ref)));
  if (orphaned.length === 0) return answers;
  for (const ref of orphaned) {
    world.log(`ends what is left of ${ref}`);
    await world.scheduler.kill(ref);
  }
  return new Map([...answers, ...(await world.scheduler.observe(orphaned, identities))]);
}

const NO_WATCH = { doubt: null, silentSinceMs: null, answeringSinceMs: null, heartbeat: null };

async function askScheduler(
  world: World,
  task: TaskPlace,
  view: View,
  refs: readonly Ref[],
  round: Round,
): Promise<void> {
  const answers = await observeAndEndOrphans(world, refs, identitiesOf(task, view.open));
  const nowMonotonicMs = world.clock.monotonicMs();
  for (const ref of refs) {
    const seen = answers.get(ref) ?? { kind: "unreachable", error: "the scheduler's answer doesn't name it" };
    round.seen.set(ref, seen);
    const attempt = view.open.find((a) => refOf(a) === ref);
    if (attempt === undefined) continue;
    const place = attemptPlace(task, attempt.number);
    const before = world.memory.watches.get(place.folder) ?? NO_WATCH;
    const doubt = noteDoubt(before.doubt, seen, nowMonotonicMs);
    if (doubt === null && before.doubt === null) continue;
    // Only a doubtful end makes the heartbeat interesting; it is compared as text, never by a clock of another host.
    const heartbeat = String((await world.folder.read(join(place.folder, "samples.csv")))?.length ?? -1);
    const nodesAnswer = seen.kind === "over" && seen.nodes === "answering";
    const moved = before.heartbeat !== heartbeat || before.silentSinceMs === null;
    world.memory.watches.set(place.folder, {
      doubt,
      heartbeat,
      answeringSinceMs: nodesAnswer ? (before.answeringSinceMs ?? nowMonotonicMs) : null,
      silentSinceMs: moved ? nowMonotonicMs : before.silentSinceMs,
    });
  }
}
