/**
 * The body: the one process that may act as an attempt (protocol §3, steps 1 to 11). It becomes the body by linking
 * `started`, waits until every lower attempt is proved over, opens the gate by linking `go`, runs the application inside
 * the window, and testifies. Whatever it loses on the way, it leaves without having started anything.
 */
import { join } from "node:path";
import { type AdvanceOptions, advance, claimedAttempt, recordJob, takeBackKept, withdraw } from "../chain/index.ts";
import {
  type Claim,
  EMPTY_CARRY,
  formatDuration,
  type GoStart,
  isResumed,
  NO_SAVES,
  type Outcome,
  type Progress,
  type Proof,
  progressOf,
  progressValue,
  RECORD_VERSION,
  type Saves,
  type Seen,
  type Settled,
  type Started,
  savesText,
  standingDecision,
  stopInForce,
  totalReached,
  type WithdrawReason,
} from "../core/index.ts";
import {
  attemptPlace,
  createRecord,
  newestThatRan,
  readAttempt,
  readRecord,
  readStops,
  readTask,
  type TaskState,
} from "../journal/index.ts";
import { beginOthers } from "./begin-others.ts";
import { handOver } from "./hand-over.ts";
import { keepAccounts } from "./keep-accounts.ts";
import { isSubmittersTurn, restSubmitters, seeThatItGoesOn, watchOverSubmitter } from "./mover.ts";
import type { Body, BodyPorts } from "./ports.ts";
import { runApplication } from "./run-application.ts";
import { othersOf, STAY_MS, seeToOthers } from "./see-to-others.ts";
import { isLastWindow, leastUsefulMs, limitAtOf, successorLeadMs, windowOf, withMargin } from "./window.ts";

/** How a body's life went: `ran` its application, or left without (with the reason). */
export type BodyEnd = { readonly kind: "ran" } | { readonly kind: "left"; readonly why: string };

export async function runBody(given: BodyPorts): Promise<BodyEnd> {
  const { world } = given;
  const limitAtMs = limitOf(given);
  const limitMs = limitAtMs === null ? null : limitAtMs - world.clock.monotonicMs();
  const queued: Body = { ...given, limitAtMs, spec: withMargin(given.spec, await savesBelow(given), limitMs) };
  const became = await becomeBody(queued);
  if (became.kind === "left") return became;
  const turn = await waitForTurn(queued);
  if (turn.kind === "left") return turn;
  const begun = await waitForBackoff(queued);
  if (begun.kind === "left") return begun;
  // All lower attempts are settled: only now it is known what they have measured.
  const saves = await savesBelow(given);
  const ports: Body = { ...queued, spec: withMargin(given.spec, saves, limitMs) };
  if (given.spec.marginMs === "auto")
    world.log(`margin ${formatDuration(ports.spec.marginMs)}, sized from ${savesText(saves)}`);
  // Successors are queued in the background: sbatch or a look-up can block for a minute. Only after the first look at the
  // chain, so that a held or finished chain gets none.
  const keeping = { over: false };
  const topUp = isSubmittersTurn(ports) ? watchOverSubmitter(ports, keeping) : keepSuccessors(ports, keeping);
  const ready = await getReady(ports);
  if (ready.kind === "left") {
    keeping.over = true;
    return ready;
  }
  const gate = ports.leaving() ? await leaveAsked(ports) : await openGate(ports, ready.progress);
  if (gate.kind === "left") {
    keeping.over = true;
    await lastAdvance(ports);
    return gate;
  }
  void keepAccounts(ports, keeping);
  const others = beginOthers(ports);
  await runApplication(ports, became.started, ready.progress);
  keeping.over = true;
  void topUp;
  // What is in the middle of an sbatch must not be cut off by our own end: nobody would know whether there is a job.
  const settled = others.end();
  await handOver(ports);
  await Promise.race([settled, world.clock.sleep(stayMs(ports))]);
  await takeBackKept(world);
  return { kind: "ran" };
}

/** What the task has measured so far. Most margins are fixed, and this is the time between two attempts: then nothing is read. */
async function savesBelow({ world, place, spec }: BodyPorts): Promise<Saves> {
  if (spec.marginMs !== "auto") return NO_SAVES;
  return (await readTask(world.folder, place.task)).settled?.record.carry.recentSaves ?? NO_SAVES;
}

/** The scheduler's word; where it could not be asked, the user's limit from now on, which is never later by much. */
function limitOf({ allocation, spec, world }: BodyPorts): number | null {
  if (allocation.limitEndAtMs === null && spec.limitMs !== null) return world.clock.monotonicMs() + spec.limitMs;
  return limitAtOf(allocation.limitEndAtMs, world.clock);
}

/** Steps 1 and 2: a twin or a requeue finds the attempt begun and leaves; else link `started`. */
async function becomeBody(
  ports: Body,
): Promise<{ readonly kind: "body"; readonly started: Started } | { readonly kind: "left"; readonly why: string }> {
  const { world, place, allocation, spec } = ports;
  const before = await readAttempt(world.folder, place);
  if (before.settled !== null || before.go?.what === "withdrawn")
    return leave(ports, before.go?.what === "withdrawn" ? `withdrawn (${before.go.reason})` : "settled");
  if (before.started !== null) return leaveBegun(ports, before.started);
  const nowMs = world.clock.nowMs();
  const started: Started = {
    version: RECORD_VERSION,
    nonce: world.nonce(),
    atMs: nowMs,
    body: world.self,
    guardian: ports.guardian === null ? null : { ...world.self, ...ports.guardian },
    scheduler: world.scheduler.name,
    ref: allocation.ref,
    restartCount: allocation.restartCount,
    cgroup: allocation.cgroup,
    tracking: allocation.tracking,
    nodes: allocation.nodes,
    limitEndAtMs: allocation.limitEndAtMs,
    windowEndAtMs: allocation.limitEndAtMs === null ? null : allocation.limitEndAtMs - spec.marginMs,
    allocation: allocation.attributes,
    outputOffsetBytes: await ports.outputOffsets(),
  };
  const { mine, record } = await createRecord(world.folder, join(place.folder, "started.json"), started);
  if (!mine) return leave(ports, `already begun by pid ${record.body.pid} on ${record.body.host}`);
  if (before.submitted === null) await recordJob(world, claimedAttempt(place), allocation, "job");
  return { kind: "body", started };
}

/** Step 4: until every lower attempt is settled and proved. Lower ones without a body are passed over by `advance`. */
async function waitForTurn(
  ports: Body,
): Promise<{ readonly kind: "turn" } | { readonly kind: "left"; readonly why: string }> {
  const { world, place, spec } = ports;
  const me = place.number;
  const begunMs = world.clock.monotonicMs();
  const window = windowOf(ports.limitAtMs, spec);
  const useless = window.termAtMs === null ? Number.POSITIVE_INFINITY : window.termAtMs - leastUsefulMs(spec);
  const until = Math.min(begunMs + spec.timing.proofWaitMs, useless);
  for (;;) {
    // Where it is over we leave, and begin others then.
    const outcome = await advance(world, place.task, { me, others: false });
    if (outcome.kind === "over") return leave(ports, `the chain is over (${outcome.decision.kind})`, "not-needed");
    if (outcome.kind === "held") return leave(ports, `held: ${outcome.why}`, "not-needed");
    const { settled, open } = await readTask(world.folder, place.task);
    if (settled !== null && settled.number >= me) return leave(ports, "settled by another");
    const mine = open.find((a) => a.number === me);
    if (mine?.go != null) return leave(ports, `go says ${mine.go.what}`);
    if (open[0]?.number === me) return { kind: "turn" };
    if (world.clock.monotonicMs() >= until) {
      const why = outcome.kind === "waiting" ? outcome.why : "lower attempts are not over";
      return leave(ports, `waited in vain: ${why}`, "waited-in-vain");
    }
    const pauseMs = outcome.kind === "waiting" ? outcome.lookAgainMs : spec.timing.pollMs;
    await pause(ports, Math.max(20, Math.min(pauseMs, spec.timing.pollMs, until - world.clock.monotonicMs())));
    if (ports.leaving()) return leaveAsked(ports);
  }
}

/**
 * A retry has its time. An attempt that was queued before the decision was made may come too early: the hand-over asks the
 * scheduler to move its start, and where that did not work the body itself waits.
 */
async function waitForBackoff(
  ports: Body,
): Promise<{ readonly kind: "turn" } | { readonly kind: "left"; readonly why: string }> {
  const { world, place, spec } = ports;
  for (;;) {
    const stops = await readStops(world.folder, place.task);
    const { settled } = await readTask(world.folder, place.task);
    const decision = standingDecision(settled?.record ?? null, stops);
    const restMs = decision?.kind === "retry" ? decision.notBeforeMs - world.clock.nowMs() : 0;
    if (restMs <= 0) return { kind: "turn" };
    if (stopInForce(stops) !== null) return leave(ports, `stopped (${stopInForce(stops)})`, "stopped");
    const { termAtMs } = windowOf(ports.limitAtMs, spec);
    if (termAtMs !== null && termAtMs - world.clock.monotonicMs() - restMs < leastUsefulMs(spec))
      return leave(ports, "the back-off leaves too little of the window", "not-needed");
    await pause(ports, Math.min(restMs, spec.timing.pollMs));
    if (ports.leaving()) return leaveAsked(ports);
  }
}

/**
 * Asked to end before anything was started. On Slurm only the job's final state tells who asked (its owner means the chain),
 * so nothing is put on file here: a successor is queued, and it sees that state.
 */
async function leaveAsked(ports: BodyPorts): Promise<{ readonly kind: "left"; readonly why: string }> {
  const { world } = ports;
  const why = "asked to end before anything was started";
  if (world.scheduler.name === "local") return leave(ports, why, "job-gone");
  world.log(`left without starting anything: ${why}`);
  await seeThatItGoesOn(ports);
  return { kind: "left", why };
}

/** A wait that ends at once when somebody asks this process to end. */
async function pause(ports: BodyPorts, ms: number): Promise<void> {
  await Promise.race([ports.world.clock.sleep(ms), ports.outside.asked]);
}

/**
 * Step 3: `ahead` successors, retried all along. Without any, `local` gets one shortly before the window ends: its processes
 * start while the application still computes.
 */
async function keepSuccessors(ports: Body, keeping: { over: boolean }): Promise<void> {
  const { world, place, spec } = ports;
  const ahead = Math.max(1, spec.ahead);
  const { termAtMs } = windowOf(ports.limitAtMs, spec);
  if (isLastWindow(spec, termAtMs, world.clock)) return;
  if (spec.ahead === 0) {
    if (termAtMs === null || world.scheduler.name !== "local") return;
    const windowMs = termAtMs - world.clock.monotonicMs();
    await world.clock.sleep(windowMs - successorLeadMs(windowMs));
  }
  while (!keeping.over) {
    try {
      const outcome = await advance(world, place.task, { me: place.number, topUp: true, ahead });
      // Queued ones may be withdrawn later (changed settings) or taken back: looked at again, in the folder alone.
      const pauseMs = outcome.kind === "waiting" ? outcome.lookAgainMs : spec.timing.pollMs;
      await world.clock.sleep(Math.max(200, pauseMs));
    } catch (error) {
      // A successor is a convenience of the queue; its failure must never hurt the attempt that runs.
      world.log(`successors: ${error instanceof Error ? error.message : String(error)}`);
      await world.clock.sleep(spec.timing.pollMs);
    }
  }
}

/** Step 5: total reached, checkpoint usable and ours, space, time left. */
async function getReady(
  ports: Body,
): Promise<{ readonly kind: "ready"; readonly progress: Progress } | { readonly kind: "left"; readonly why: string }> {
  const { world, place, spec } = ports;
  const stops = await readStops(world.folder, place.task);
  const { settled } = await readTask(world.folder, place.task);
  const record = settled?.record ?? null;
  const highWater = record?.carry.highWater ?? EMPTY_CARRY.highWater;
  const progress = progressOf(await world.readCheckpoint(place.task, spec), highWater);
  if (stopInForce(stops) !== null) return leave(ports, `stopped (${stopInForce(stops)})`, "stopped");
  if (totalReached(progress, spec.total))
    return leave(ports, `progress ${progressValue(progress)} has reached the total of ${spec.total}`, "total-reached");
  const trusted = await resumedByPerson(ports, settled, stops);
  if (progress.state === "invalid" && !trusted)
    return leave(ports, `the checkpoint can't be used: ${progress.why}`, "checkpoint-unusable");
  if (progress.state === "absent" && highWater !== null && !trusted)
    return leave(ports, `the checkpoint is gone, yet progress had reached ${highWater}`, "checkpoint-unusable");
  const owner = await ports.otherOwner();
  if (owner !== null) return leave(ports, owner, "other-owner");
  const trouble = await ports.spaceTrouble();
  if (trouble !== null) return leave(ports, trouble, "no-space");
  const window = windowOf(ports.limitAtMs, spec);
  if (window.termAtMs !== null && window.termAtMs - world.clock.monotonicMs() < leastUsefulMs(spec))
    return leave(ports, "too little of the window is left", "not-enough-time");
  return { kind: "ready", progress };
}

/**
 * After a resume a person has looked at the checkpoint: the first attempt that runs takes it as it is, whatever was claimed and
 * taken back in between.
 */
async function resumedByPerson(
  { world, place }: BodyPorts,
  settled: TaskState["settled"],
  stops: Parameters<typeof isResumed>[1],
): Promise<boolean> {
  const ran = await newestThatRan(world.folder, place.task, settled);
  const neverRan = ran?.record.verdict === "never-ran";
  if (ran !== null && isResumed(neverRan ? { ...ran.record, stopNumber: 0 } : ran.record, stops)) return true;
  const claim = await readRecord<Claim>(world.folder, join(place.folder, "claim.json"));
  return claim?.basis === "resume" && standingDecision(settled?.record ?? null, stops)?.kind !== "hold";
}

/** Step 6: `go` = start, whichever comes first. It names the proof of every lower attempt. */
async function openGate(
  ports: Body,
  progressBefore: Progress,
): Promise<{ readonly kind: "open" } | { readonly kind: "left"; readonly why: string }> {
  const { world, place } = ports;
  const { provedBy, proofs } = await proofsBelow(ports);
  const go: GoStart = {
    version: RECORD_VERSION,
    nonce: world.nonce(),
    atMs: world.clock.nowMs(),
    what: "start",
    provedBy,
    proofs,
    progressBefore,
    marginMs: ports.spec.marginMs,
  };
  const { mine, record } = await createRecord(world.folder, join(place.folder, "go.json"), go as GoStart);
  if (mine) return { kind: "open" };
  world.log(`left: go says ${record.what}`);
  return { kind: "left", why: `go says ${record.what}` };
}

/** Proofs from the attempt below down to the last one that started; that one's own go names the rest. */
async function proofsBelow(
  ports: BodyPorts,
): Promise<{ readonly provedBy: number; readonly proofs: readonly Proof[] }> {
  const { world, place } = ports;
  const proofs: Proof[] = [];
  for (let number = place.number - 1; number > 0; number--) {
    const below = attemptPlace(place.task, number);
    const settled = await readRecord<Settled>(world.folder, join(below.folder, "settled.json"));
    if (settled === null) {
      // A number that nobody claimed has no folder worth the name and never will start: numbers are never reused.
      const { claim, started } = await readAttempt(world.folder, below);
      if (claim !== null || started !== null)
        throw new Error(`attempt ${number} is not settled, and attempt ${place.number} must not start`);
      proofs.push({ attempt: number, by: "A", seen: "never claimed" });
      continue;
    }
    proofs.push(settled.evidence.proof);
    if (settled.verdict !== "never-ran") return { provedBy: number, proofs };
  }
  return { provedBy: 0, proofs };
}

async function leave(
  ports: BodyPorts,
  why: string,
  reason: WithdrawReason | null = null,
): Promise<{ readonly kind: "left"; readonly why: string }> {
  const { world, place } = ports;
  world.log(`left without starting anything: ${why}`);
  if (reason !== null) await withdraw(world, place.task, place.number, reason, why);
  const outcome = await lastAdvance(ports);
  // Whoever leaves a chain that goes on makes sure that somebody is queued to move it.
  if (reason !== null && (outcome.kind === "waiting" || outcome.kind === "going")) await seeThatItGoesOn(ports);
  if ((await restSubmitters(ports, outcome)) === "mend") await seeThatItGoesOn(ports);
  return { kind: "left", why };
}

/** From now on. */
function stayMs({ world, limitAtMs }: Pick<Body, "world" | "limitAtMs">): number {
  return Math.max(0, Math.min(STAY_MS, (limitAtMs ?? Number.POSITIVE_INFINITY) - 200 - world.clock.monotonicMs()));
}

/** A body that leaves has ended its task, or finds it over: it stays until others of the job that may begin have begun. */
async function lastAdvance(ports: BodyPorts, options: Pick<AdvanceOptions, "assume"> = {}): Promise<Outcome> {
  const { world, place } = ports;
  const withinMs = stayMs({ ...ports, limitAtMs: limitOf(ports) });
  const untilMs = world.clock.monotonicMs() + withinMs;
  const beginning = { withinMs, keeps: true };
  const outcome = await advance(world, place.task, { ...options, me: place.number, beginning });
  const left = othersOf(outcome);
  if (left !== undefined) await seeToOthers(world, place.task.job, untilMs, left);
  return outcome;
}

/**
 * The attempt has begun already. A twin just leaves. After a requeue by the site (law 8) the scheduler itself has ended the
 * earlier run before it started this one: that is told to `advance`, which settles the attempt.
 */
async function leaveBegun(
  ports: BodyPorts,
  started: Started,
): Promise<{ readonly kind: "left"; readonly why: string }> {
  const { world, allocation } = ports;
  if (allocation.restartCount <= started.restartCount) return leave(ports, `already begun by pid ${started.body.pid}`);
  world.log(`requeued by the site (restart ${allocation.restartCount}): left`);
  // On the same nodes Slurm has ended the earlier run before it started this one. Of other nodes nothing is known here: the
  // next attempt asks, when this job is over, how each of its runs has ended.
  const sameNodes = started.nodes.length > 0 && started.nodes.every((node) => allocation.nodes.includes(node));
  const requeued: Seen = {
    kind: "over",
    state: "REQUEUED",
    exitCode: null,
    signal: null,
    cancelledByUid: null,
    final: true,
    proof: "C",
    nodes: null,
    text: `restart ${allocation.restartCount} of ${allocation.ref} runs`,
  };
  const assume = new Map([[started.ref, requeued]]);
  await lastAdvance(ports, sameNodes ? { assume } : {});
  await seeThatItGoesOn(ports);
  return { kind: "left", why: "requeued by the site" };
}
