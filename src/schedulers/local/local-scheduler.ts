/**
 * `local`: attempts on this machine, without a daemon. Each attempt has a shepherd, a process of its own session that
 * plays the part of the batch system: it waits for its turn, starts the runner, ends it at the limit, keeps the
 * scheduler's record (`local.json`) and moves the chain on whoever dies. Whoever asks, asks /proc and that record.
 */
import { open } from "node:fs/promises";
import { availableParallelism, constants, hostname } from "node:os";
import { dirname, join } from "node:path";
import type { Active, Machine, Over, ProcessRef, Ref, Seen } from "../../core/index.ts";
import {
  aliveHere,
  type Clock,
  errorCode,
  type Folder,
  findMembers,
  type Member,
  readCommandLine,
  realClock,
  sameMachine,
  signalMembers,
  sinceStartMs,
  spawnDetached,
  thisMachine,
} from "../../host/index.ts";
import type { Allocation, Scheduler, Submission, SubmitAnswer } from "../scheduler.ts";
import { accountAttempts } from "./account.ts";
import { LOCAL_CPUS, LOCAL_LIMIT_END, LOCAL_REF, shepherdEnvironment } from "./environment.ts";
import { doubtfulMembers, endOrphans, isFolderOf, memberRunning, queryOf } from "./orphans.ts";
import { type LocalRecord, readLocalRecord } from "./record.ts";
import { formatLocalRef, parseLocalRef } from "./ref.ts";

/** What the job folder says of the attempt behind a ref. */
export interface LocalAttempt {
  readonly folder: string;
  readonly mark: string;
  /** The shepherd whose runner became the body; null: none has. A second shepherd of the attempt is nothing beside it. */
  readonly begunBy: Ref | null;
  /** Where it was submitted; null: not on file. */
  readonly machine: Machine | null;
  /** The application's first process; null: none, or not on file. */
  readonly application: ProcessRef | null;
  readonly exited: boolean;
  readonly killWaitMs: number;
}

export interface LocalOptions {
  readonly folder: Folder;
  /** null: no attempt of this job has that name. */
  attemptOf(ref: Ref): Promise<LocalAttempt | null>;
  /** The value of STINT_MARK in every process of the attempt. */
  markOf(attemptFolder: string): string;
  /** This process's own. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
}

export function localScheduler(options: LocalOptions): Scheduler {
  const clock = options.clock ?? realClock;
  return {
    name: "local",
    submit: (submission) => submit(submission, options.markOf(submission.attemptFolder)),

    async find(script) {
      const mark = options.markOf(dirname(script));
      const members = findMembers(queryOf({ mark, application: null }));
      const shepherd =
        memberRunning(members, "shepherd", mark) ??
        // Between fork and exec it is still the shell that reads the script.
        members.find(({ pid }) => isScriptOf(mark, readCommandLine(pid)?.at(-1) ?? ""));
      if (shepherd === undefined || shepherd === null) return "none";
      const { pid, startTicks } = shepherd;
      return { ref: formatLocalRef({ ...thisMachine(), pid, startTicks }), cluster: null, id: String(pid) };
    },

    async observe(refs) {
      const answers = await Promise.all(refs.map(async (ref) => [ref, await look(options, ref)] as const));
      return new Map(answers);
    },

    account: (refs) => accountAttempts(options, refs),

    async withdraw(refs) {
      for (const ref of refs) {
        const shepherd = await shepherdOf(options, ref);
        if (shepherd !== null) signalMembers([shepherd], "SIGTERM");
      }
    },

    async kill(ref) {
      const shepherd = await shepherdOf(options, ref);
      // On another machine: its body reads the stop on file, which nobody can do better from here.
      if (shepherd === null) return;
      if (aliveHere(shepherd) === "alive") {
        signalMembers([shepherd], "SIGTERM");
        return;
      }
      const attempt = await options.attemptOf(ref);
      if (attempt === null || shepherd.bootId !== thisMachine().bootId) return;
      // Another shepherd's attempt: that one is on file too, or finds the word against it there.
      if (attempt.begunBy !== ref && otherShepherd(attempt) !== null) return;
      await endOrphans(attempt, attempt.killWaitMs);
    },

    // A local attempt has no steps that anybody else has started.
    warn: async () => "no-step",

    here: async (environment) => allocationOf(environment, clock),
  };
}

async function submit(submission: Submission, mark: string): Promise<SubmitAnswer> {
  const refused = (error: string, code: string | null): SubmitAnswer => ({
    kind: "refused",
    error,
    transient: code !== null && PASSING.has(code),
  });
  try {
    // On the thread pool: a runner that submits its successor must not hang on a sick folder.
    const log = await open(join(submission.attemptFolder, "scheduler.log"), "a", 0o600);
    try {
      const spawned = await spawnDetached(["/bin/sh", submission.script], {
        cwd: "/",
        env: shepherdEnvironment(submission, mark),
        stdin: null,
        stdout: log.fd,
        stderr: log.fd,
      });
      if (spawned.kind === "failed") return refused(spawned.failure.message, spawned.failure.code);
      return { kind: "accepted", ref: formatLocalRef(spawned.ref), cluster: null, id: String(spawned.ref.pid) };
    } finally {
      await log.close();
    }
  } catch (error) {
    const code = errorCode(error);
    return refused(`cannot open scheduler.log of the attempt (${code ?? String(error)})`, code);
  }
}

/** What another moment can cure: too many processes or open files, no memory, a full disk, a sick folder. */
const PASSING: ReadonlySet<string> = new Set([
  "EAGAIN",
  "ENOMEM",
  "EMFILE",
  "ENFILE",
  "EINTR",
  "ENOSPC",
  "EDQUOT",
  "EIO",
  "ESTALE",
]);

async function look(options: LocalOptions, ref: Ref): Promise<Seen> {
  const local = parseLocalRef(ref);
  if (local === null) return { kind: "absent" };
  const own = options.environment[LOCAL_REF] === ref;
  // In the attempt itself the folder isn't asked whether the attempt lives: it may be what hangs.
  if (own && aliveHere({ ...thisMachine(), ...local }) === "alive") return active("running", null, null);
  try {
    const attempt = await options.attemptOf(ref);
    if (attempt === null) return { kind: "absent" };
    const record = await recordOf(options.folder, attempt, ref);
    if (record?.phase === "over") return ended(record, attempt);
    const machine = record?.shepherd ?? attempt.machine;
    if (machine === null || !sameMachine(machine, thisMachine()))
      return { kind: "unreachable", error: `it runs on host ${machine?.host ?? "unknown"}` };
    if (local.bootId !== thisMachine().bootId)
      return over({ state: "REBOOTED", text: `${machine.host} has booted since`, proof: "E" });
    if (aliveHere({ ...machine, ...local }) === "alive")
      return active(
        record?.phase ?? (attempt.begunBy === ref ? "running" : "pending"),
        null,
        record?.limitEndAtMs ?? null,
      );
    // It may have written its last word between our two looks.
    const last = await recordOf(options.folder, attempt, ref);
    if (last?.phase === "over") return ended(last, attempt);
    return withoutShepherd(attempt, ref, last, own);
  } catch (error) {
    return { kind: "unreachable", error: error instanceof Error ? error.message : String(error) };
  }
}

/** What the shepherd of that name has written. The word of another one says nothing about it: two may carry one attempt. */
async function recordOf(folder: Folder, attempt: LocalAttempt, ref: Ref): Promise<LocalRecord | null> {
  const record = await readLocalRecord(folder, attempt.folder);
  return record?.ref === ref ? record : null;
}

/**
 * The shepherd died without a word. A living runner goes on as long as its limit allows: it watches its own window and
 * testifies. Whatever is left without a runner must be ended before the attempt is over (protocol §2, E): that is done by
 * `kill`, on behalf of who moves the chain. Looking ends nothing.
 */
function withoutShepherd(attempt: LocalAttempt, ref: Ref, record: LocalRecord | null, own: boolean): Seen {
  const limitEndAtMs = record?.limitEndAtMs ?? null;
  // We are that runner: the attempt lives as long as it has not testified.
  if (own && !attempt.exited) return active("running", "its shepherd is gone", limitEndAtMs);
  if (attempt.begunBy !== ref) {
    const other = attempt.begunBy === null ? otherShepherd(attempt) : null;
    if (attempt.begunBy !== null || other !== null)
      return over({ state: LOST, text: "LOST: its shepherd died, another one has the attempt", proof: null });
  }
  const members = findMembers(queryOf(attempt));
  const runner = memberRunning(members, "body", attempt.mark);
  if (runner !== null && !isOverdue(runner, record))
    return active("running", `its shepherd is gone, its runner (pid ${runner.pid}) goes on`, limitEndAtMs);
  if (members.length > 0) {
    const pids = members.map(({ pid }) => pid).join(" ");
    return over({ state: LOST, text: `LOST: nobody tends its processes ${pids}`, proof: null, final: false });
  }
  const doubts = doubtfulMembers(attempt);
  if (doubts.length > 0) return { kind: "unreachable", error: doubtsSaid(doubts) };
  return over({ state: LOST, text: "LOST: its shepherd died, all other processes of it are gone", proof: "E" });
}

/** The state of an attempt whose shepherd could say nothing. */
const LOST = "LOST";

/** Whether an answer says that an attempt's processes live on with nobody to tend them: `kill` ends them. */
export function isOrphaned(seen: Seen | undefined): boolean {
  return seen?.kind === "over" && seen.state === LOST && !seen.final;
}

function otherShepherd(attempt: LocalAttempt): Member | null {
  return memberRunning(findMembers(queryOf(attempt)), "shepherd", attempt.mark);
}

function doubtsSaid(pids: readonly number[]): string {
  return `process ${pids.join(" ")} may be left of it, or be none of it: look at it, and end it if it is`;
}

function isScriptOf(mark: string, path: string): boolean {
  return path.endsWith("/script.sh") && isFolderOf(mark, dirname(path));
}

/** A runner that stays longer than this after its limit is taken for dead. */
const OVERDUE_MS = 5_000;

/** By the age of the process: the clock may have been set since its limit was written. */
function isOverdue(runner: Member, record: LocalRecord | null): boolean {
  if (record === null || record.limitEndAtMs === null || record.startedAtMs === null) return false;
  const ageMs = sinceStartMs({ ...thisMachine(), ...runner });
  return ageMs !== null && ageMs > record.limitEndAtMs - record.startedAtMs + OVERDUE_MS;
}

/** The shepherd's last word. It had looked for every process; those that nothing could end are looked for again. */
function ended(record: LocalRecord, attempt: LocalAttempt): Seen {
  const here = thisMachine();
  if (record.survivors.length > 0 && !sameMachine(record.shepherd, here))
    return { kind: "unreachable", error: `processes of it were left on host ${record.shepherd.host}` };
  if (record.survivors.length > 0 && record.shepherd.bootId === here.bootId) {
    const left = findMembers(queryOf(attempt)).map(({ pid }) => pid);
    if (left.length > 0) return active("completing", `nothing can end its processes ${left.join(" ")}`, null);
  }
  const state = record.state ?? "FAILED";
  const how = record.signal ?? (record.exitCode === null ? "" : `exit ${record.exitCode}`);
  return over({
    state,
    text: how === "" ? state : `${state}, its runner ended with ${how}`,
    proof: "E",
    exitCode: record.exitCode,
    signal: record.signal === null ? null : (constants.signals[record.signal as NodeJS.Signals] ?? null),
  });
}

function active(phase: Active["phase"], reason: string | null, limitEndAtMs: number | null): Seen {
  return { kind: "active", phase, reason, limitEndAtMs };
}

function over(
  what: Pick<Over, "state" | "text" | "proof"> & Partial<Pick<Over, "exitCode" | "signal" | "final">>,
): Seen {
  return { kind: "over", exitCode: null, signal: null, cancelledByUid: null, final: true, nodes: null, ...what };
}

/** The shepherd behind a ref; null where it belongs to another machine or is not on file. */
async function shepherdOf(options: LocalOptions, ref: Ref): Promise<ProcessRef | null> {
  const local = parseLocalRef(ref);
  const machine = local === null ? null : ((await options.attemptOf(ref))?.machine ?? null);
  return local === null || machine === null || !sameMachine(machine, thisMachine()) ? null : { ...machine, ...local };
}

function allocationOf(environment: LocalOptions["environment"], clock: Clock): Allocation | null {
  const ref = environment[LOCAL_REF];
  const local = ref === undefined ? null : parseLocalRef(ref);
  if (ref === undefined || local === null) return null;
  const limitEnd = environment[LOCAL_LIMIT_END];
  return {
    ref,
    cluster: null,
    id: String(local.pid),
    restartCount: 0,
    nodes: [hostname()],
    limitEndAtMs: limitEnd === undefined ? null : clock.nowMs() + (Number(limitEnd) - clock.monotonicMs()),
    tracking: "other",
    cgroup: null,
    attributes: { cpus: Number(environment[LOCAL_CPUS]) || availableParallelism() },
  };
}
