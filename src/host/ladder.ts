import type { ProcessRef } from "../core/index.ts";
import { type Clock, realClock } from "./clock.ts";
import { errorCode } from "./folder-error.ts";
import type { Member } from "./members.ts";
import { hasEnded, readStat } from "./proc.ts";

export interface SignalResult {
  readonly sent: readonly number[];
  /** Ended, or the pid is a later process's, before the signal went out. */
  readonly gone: readonly number[];
  /** Alive, and the system did not let us (another user's process). */
  readonly refused: readonly number[];
}

type Signalled = Pick<Member, "pid" | "startTicks">;

/**
 * Sends a signal to each, after a last look that the pid is still the same process. A stopped process gets SIGCONT after a
 * signal that it could handle, since it would sleep through it otherwise. Nothing here waits.
 */
export function signalMembers(members: readonly Signalled[], signal: NodeJS.Signals): SignalResult {
  const result = { sent: [] as number[], gone: [] as number[], refused: [] as number[] };
  for (const { pid, startTicks } of members) {
    const stat = readStat(pid);
    if (stat === null || stat.startTicks !== startTicks || hasEnded(stat)) {
      result.gone.push(pid);
      continue;
    }
    const outcome = send(pid, signal);
    if (outcome === "sent" && stat.state === "T" && !NOT_HANDLED.has(signal)) send(pid, "SIGCONT");
    result[outcome].push(pid);
  }
  return result;
}

const NOT_HANDLED: ReadonlySet<NodeJS.Signals> = new Set(["SIGSTOP", "SIGKILL", "SIGCONT"]);

/**
 * TERM (or another signal) once to a whole attempt. The application's process group gets it in one system call, so that
 * what it forks meanwhile cannot slip through; members outside that group get it one by one. Called once only: a process
 * that is born later may be what saves the checkpoint.
 *
 * `leader` is the application's first process, started as leader of its own group. It may have ended: the group counts as
 * ours as long as a member is in it.
 */
export function termAll(
  members: readonly Member[],
  leader: ProcessRef | null,
  signal: NodeJS.Signals = "SIGTERM",
): SignalResult {
  const inGroup = leader === null ? [] : members.filter((member) => member.processGroup === leader.pid);
  const verified = inGroup.filter((member) => {
    const stat = readStat(member.pid);
    return stat !== null && stat.startTicks === member.startTicks && stat.processGroup === member.processGroup;
  });
  if (
    leader === null ||
    verified.length === 0 ||
    leader.pid <= 1 ||
    readStat(process.pid)?.processGroup === leader.pid
  ) {
    return signalMembers(members, signal);
  }
  const outcome = send(-leader.pid, signal);
  for (const { pid } of verified) if (readStat(pid)?.state === "T" && !NOT_HANDLED.has(signal)) send(pid, "SIGCONT");
  const single = signalMembers(
    members.filter((member) => !verified.includes(member)),
    signal,
  );
  return { ...single, [outcome]: [...verified.map((member) => member.pid), ...single[outcome]] };
}

export interface SweepOptions {
  /** Looks for members, thoroughly; synchronous. */
  readonly find: () => readonly Member[];
  /** Time that members have to end by themselves before the first KILL, in milliseconds. 0: none. */
  readonly graceMs: number;
  /** KILL is given up after this (a process in uninterruptible sleep, or another user's). Default 10 s. */
  readonly boundMs?: number;
  readonly clock?: Clock;
  /** Cuts the grace short, e.g. when a second signal asks for haste. */
  readonly hurry?: AbortSignal;
}

/**
 * Waits until no member is left, or the grace is over; then stops them all (SIGSTOP, so that nothing forks away from under the
 * hand), kills them, and repeats until two looks in a row find nothing. Returns what is left when `boundMs` is over,
 * normally nothing. Waits for timers only, never for a file.
 */
export async function sweep(options: SweepOptions): Promise<readonly Member[]> {
  const { find, graceMs, hurry, boundMs = 10_000, clock = realClock } = options;
  if (await endsByItself(find, graceMs, clock, hurry)) return [];
  const giveUpAtMs = clock.monotonicMs() + boundMs;
  let emptyLooks = 0;
  for (let round = 0; ; round++) {
    const members = freeze(find, clock, giveUpAtMs);
    emptyLooks = members.length === 0 ? emptyLooks + 1 : 0;
    if (emptyLooks === 2) return [];
    signalMembers(members, "SIGKILL");
    if (clock.monotonicMs() >= giveUpAtMs) {
      await clock.sleep(SETTLE_MS);
      return find();
    }
    await clock.sleep(Math.min(SETTLE_MS * (round + 1), 200));
  }
}

/** A killed process is gone after about this, if nothing holds it. */
const SETTLE_MS = 5;
/** A look may cost this share of one core while we wait. */
const LOOK_SHARE = 0.05;

/** True when two looks in a row have found nothing within the grace. */
async function endsByItself(
  find: () => readonly Member[],
  graceMs: number,
  clock: Clock,
  hurry: AbortSignal | undefined,
): Promise<boolean> {
  const endAtMs = clock.monotonicMs() + graceMs;
  for (let emptyLooks = 0; ; ) {
    const beganAtMs = clock.monotonicMs();
    emptyLooks = find().length === 0 ? emptyLooks + 1 : 0;
    if (emptyLooks === 2) return true;
    const nowMs = clock.monotonicMs();
    if (emptyLooks === 0 && (nowMs >= endAtMs || hurry?.aborted === true)) return false;
    const restMs = Math.min(Math.max((nowMs - beganAtMs) / LOOK_SHARE, 25), 1000);
    await clock.sleep(
      emptyLooks > 0 ? SETTLE_MS : Math.min(restMs, endAtMs - nowMs),
      emptyLooks > 0 ? undefined : hurry,
    );
  }
}

/** Stops members until a look shows no new one; all that were found. Bounded in looks and time. */
function freeze(find: () => readonly Member[], clock: Clock, endAtMs: number): readonly Member[] {
  const frozen = new Map<string, Member>();
  for (let look = 0; look < 50; look++) {
    const fresh = find().filter((member) => !frozen.has(keyOf(member)));
    if (fresh.length === 0) break;
    signalMembers(fresh, "SIGSTOP");
    for (const member of fresh) frozen.set(keyOf(member), member);
    if (clock.monotonicMs() >= endAtMs) break;
  }
  // Stopped, a process shows what it is: one that was taken for a member in the middle of an exec is let go again.
  const members = new Set(find().map(keyOf));
  const strangers = [...frozen.values()].filter((member) => !members.has(keyOf(member)));
  signalMembers(strangers, "SIGCONT");
  return [...frozen.values()].filter((member) => members.has(keyOf(member)));
}

function keyOf(member: Signalled): string {
  return `${member.pid}/${member.startTicks}`;
}

function send(pid: number, signal: NodeJS.Signals): keyof SignalResult {
  try {
    process.kill(pid, signal);
    return "sent";
  } catch (error) {
    return errorCode(error) === "ESRCH" ? "gone" : "refused";
  }
}
