/**
 * The one judgement on an attempt. Own testimony where its cause is known; else the scheduler's state speaks, then the
 * testimony, then progress (Slurm's ExitCode is 0:0 for TIMEOUT, CANCELLED, PREEMPTED and NODE_FAIL alike). What is not
 * known yet is `pending`, never a verdict.
 */
import { type Progress, progressValue } from "./progress.ts";
import type { Exited, GoStart, Policy, Started, Verdict } from "./records.ts";
import type { Over, Seen } from "./seen.ts";
import { formatDuration } from "./time.ts";

export interface Facts {
  readonly go: GoStart;
  readonly started: Started | null;
  readonly exited: Exited | null;
  readonly seen: Seen | null;
  /** After the attempt, held against the high-water mark of all earlier ones. */
  readonly progress: Progress;
  /** A drain or cancel in force when the attempt ended. */
  readonly stop: "drain" | "cancel" | null;
}

/** How the chain goes on beside the plain rule of the verdict. */
export type Course = "stop" | "hold" | null;

export type Judgement =
  | {
      readonly kind: "judged";
      readonly verdict: Verdict;
      readonly why: string;
      readonly course: Course;
      readonly conflicts: readonly string[];
    }
  | { readonly kind: "ask" }
  | { readonly kind: "pending"; readonly why: string };

export function judge(facts: Facts, policy: Policy): Judgement {
  const reached = totalReached(facts.progress, policy.total);
  const conflicts: string[] = [];
  const { exited } = facts;
  if (reached) {
    if (exited !== null && exited.exitCode !== 0 && exited.endedBy === "application")
      conflicts.push(`total reached, yet the application ended with ${describeExit(exited)}`);
    return judged("completed", `progress reached the total of ${policy.total}`, null, conflicts);
  }
  if (exited !== null && causeKnown(exited)) return judgeTestimony(exited, facts, policy);
  if (facts.seen === null) return { kind: "ask" };
  if (facts.seen.kind === "over") return judgeState(facts.seen, facts, policy);
  if (facts.stop === "cancel") return judged("cancelled", "ended by cancel", "stop", conflicts);
  if (facts.seen.kind === "absent")
    return judged("node-failed", "the scheduler has no record of how it ended", null, conflicts);
  return { kind: "pending", why: "how it ended is not known yet" };
}

/** Whether the total is reached: only a readable number can say so. */
export function totalReached(progress: Progress, total: number | null): boolean {
  const value = progressValue(progress);
  return total !== null && value !== null && value >= total;
}

/** Signals that only the application itself or its kernel gives for a fault of its own. */
const OWN_FAULTS = new Set(["SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGPIPE", "SIGTRAP"]);

/** A testimony settles the matter unless the end came by a signal from outside that we did not send. */
export function causeKnown(exited: Exited): boolean {
  if (exited.by === "guardian") return false;
  if (exited.endedBy === "scheduler" || exited.endedBy === "unknown") return false;
  if (exited.endedBy === "application" && exited.signal !== null)
    return OWN_FAULTS.has(exited.signal) || (exited.signal === "SIGKILL" && lackedMemory(exited));
  return true;
}

function judgeTestimony(exited: Exited, facts: Facts, policy: Policy): Judgement {
  const { exitCode } = exited;
  const progress = facts.progress;
  if (exited.spawnError !== null)
    return judged("failed", `the application could not be started: ${exited.spawnError}`, "hold", []);
  if (exited.endedBy === "fence")
    return judged("node-failed", "ended itself: it had lost its place in the chain", null, []);
  if (exited.endedBy === "cancel" || facts.stop === "cancel") return judged("cancelled", "ended by cancel", "stop", []);
  if (!exited.spawned)
    return judged("node-failed", `${exited.endedBy} came before the application was started`, null, []);
  if (exitCode === 76) return judged("failed", "exit 76: nothing more to gain", "stop", []);
  if (exitCode !== null && policy.savedExitCodes.includes(exitCode))
    return judged("checkpointed", `exit ${exitCode}: saved, more to do${butNone(progress)}`, null, []);
  const ours = exited.windowEnded;
  // Whatever it made of that: a worker that is gone has not done its part, and another exit status would be chance.
  if (!ours && lackedMemory(exited))
    return judged("out-of-memory", `${describeExit(exited)}, after ${killedText(exited)} for want of memory`, null, []);
  // Whoever was told to end, by us or by anybody, and leaves with 0 has saved: that is not the same as having finished.
  const told = ours || wasTold(exited);
  if (exitCode === 0) {
    if (policy.total === null)
      return told
        ? judged("checkpointed", `exit 0 after TERM: saved${butNone(progress)}`, null, [])
        : judged("completed", "exit 0", null, []);
    if (progress.state === "above") return judged("checkpointed", "exit 0, total not reached, progress grew", null, []);
    return told
      ? judged("stalled", `exit 0 after TERM without any progress${butNone(progress)}`, null, [])
      : judged("failed", `exit 0, but the total of ${policy.total} is not reached and ${ungrown(progress)}`, null, []);
  }
  if (ours)
    return windowEnd(`${describeExit(exited)} at the end of the window${tooShort(facts, policy)}`, progress, policy);
  const hold = exitCode === 126 || exitCode === 127 ? "hold" : null;
  return judged("failed", describeExit(exited), hold, []);
}

function lackedMemory({ oomKills }: Exited): boolean {
  return (oomKills ?? 0) > 0;
}

function killedText({ oomKills }: Exited): string {
  return oomKills === 1 ? "a process of it was killed" : `${oomKills} processes of it were killed`;
}

/** A signal from outside that asks for the end; a closed terminal asks for nothing. */
function wasTold(exited: Exited): boolean {
  return exited.signalsReceived.some(({ signal }) => signal !== "SIGHUP");
}

/** A margin that did not suffice, and what to do about it. */
function tooShort({ exited, go }: Facts, policy: Policy): string {
  if (exited?.saving?.killed !== true || exited.endedBy !== "window" || go.marginMs === undefined) return "";
  const hint = policy.marginMs === "auto" ? "" : " (--margin auto sizes it)";
  return `: it did not end within the margin of ${formatDuration(go.marginMs)}${hint}`;
}

/** Killed or gone at the window's end: only progress tells whether anything was saved. */
function windowEnd(why: string, progress: Progress, policy: Policy): Judgement {
  if (progress.state === "above") return judged("window-ended", `${why}, progress grew`, null, []);
  const reason = policy.checkpointConfigured ? ungrown(progress) : "nothing tells that anything was saved";
  return judged("stalled", `${why}, ${reason}`, null, []);
}

/** A checkpoint that is not where it was said to be explains much. */
function ungrown({ state }: Progress): string {
  return state === "absent" ? NO_CHECKPOINT : "progress did not grow";
}

function butNone({ state }: Progress): string {
  return state === "absent" ? `, but ${NO_CHECKPOINT}` : "";
}

const NO_CHECKPOINT = "the checkpoint is not there";

function judgeState(seen: Over, facts: Facts, policy: Policy): Judgement {
  const { exited, progress } = facts;
  if (!seen.final) return { kind: "pending", why: `state ${seen.state} is not final yet` };
  switch (seen.state) {
    case "TIMEOUT":
      return windowEnd("TIMEOUT", progress, policy);
    case "OUT_OF_MEMORY":
      return judged("out-of-memory", seen.text, null, []);
    case "PREEMPTED":
    case "REVOKED":
      return judged("preempted", seen.text, null, []);
    case "NODE_FAIL":
    case "BOOT_FAIL":
    case "LAUNCH_FAILED":
    case "LOST":
    case "REBOOTED":
      return judged("node-failed", seen.text, null, []);
    case "DEADLINE":
      return judged("cancelled", seen.text, "hold", []);
    case "CANCELLED":
      return judgeCancelled(seen, facts, policy);
    case "REQUEUED":
    case "REQUEUE_HOLD":
    case "SPECIAL_EXIT":
    case "RESIZING":
      // Never requeue: a site's requeue ends this attempt, since the requeued start finds it begun and leaves.
      return judged("preempted", `${seen.text}: requeued by the site`, null, []);
    case "COMPLETED":
    case "FAILED":
      break;
    default:
      // An end that this version has no word for is no success, and not a fault of the application either.
      return judged("node-failed", `${seen.text}: an unknown end`, null, []);
  }
  if (facts.stop === "cancel") return judged("cancelled", "ended by cancel", "stop", []);
  if (exited !== null && exited.by === "body") {
    const received =
      exited.signalsReceived.length > 0 ? `, after ${exited.signalsReceived[0]?.signal} from outside` : "";
    if (exited.exitCode !== null && policy.savedExitCodes.includes(exited.exitCode))
      return judged("checkpointed", `exit ${exited.exitCode}: saved, more to do${received}`, null, []);
    if (received !== "" && progress.state === "above")
      return judged("checkpointed", `${describeExit(exited)}${received}, progress grew`, null, []);
    if (exited.exitCode === 0) return judgeTestimony({ ...exited, endedBy: "application" }, facts, policy);
    return judged("failed", `${describeExit(exited)}${received}`, null, []);
  }
  // Nobody can say how the application ended: our own processes died. That is no fault of the application.
  return judged("node-failed", `${seen.text}, runner gone without a testimony of the application's end`, null, []);
}

function judgeCancelled(seen: Over, facts: Facts, policy: Policy): Judgement {
  if (facts.stop !== null) return judged("cancelled", seen.text, "stop", []);
  if (seen.cancelledByUid === policy.ownerUid) return judged("cancelled", `${seen.text}: by yourself`, "stop", []);
  if (seen.cancelledByUid !== null) return judged("cancelled", `${seen.text}: by another user`, "hold", []);
  return judged("node-failed", `${seen.text}: by nobody`, null, []);
}

function describeExit(exited: Exited): string {
  if (exited.signal !== null) return `killed by ${exited.signal}`;
  return exited.exitCode === null ? "an unknown exit status" : `exit ${exited.exitCode}`;
}

function judged(verdict: Verdict, why: string, course: Course, conflicts: readonly string[]): Judgement {
  return { kind: "judged", verdict, why, course, conflicts };
}
