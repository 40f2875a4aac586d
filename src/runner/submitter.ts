/**
 * The submitter's life (mode submitter): it looks at the job folder often and at the scheduler once a poll, and moves the chain
 * by the same `advance` as everybody. Before its own limit it queues its successor, which finds the attempt in flight on file
 * and goes on with it. It holds nothing that is not on file, so its death at any moment costs time and nothing else.
 */
import { join } from "node:path";
import {
  advance,
  advanceJob,
  begunTasks,
  claimedSubmitter,
  endSubmitter,
  ensureSubmitter,
  identitiesOf,
  recordJob,
  takeBackKept,
  tasksTogether,
  type World,
  withdrawSubmitters,
} from "../chain/index.ts";
import {
  hasTaskPlan,
  type JobSpec,
  type Outcome,
  RECORD_VERSION,
  refOf,
  type SubmitterEnd,
  type SubmitterStarted,
  specForTask,
  submitterAct,
  submitterBeatMs,
} from "../core/index.ts";
import {
  createRecord,
  HEARTBEAT_FILE,
  JournalError,
  readSpec,
  readSubmitter,
  readSubmitters,
  readTask,
  type SubmitterPlace,
  type TaskPlace,
  taskPlace,
} from "../journal/index.ts";
import type { Allocation } from "../schedulers/index.ts";
import { isHopeless } from "./own-job.ts";
import type { Outside } from "./ports.ts";
import { limitAtOf } from "./window.ts";

export interface SubmitterPorts {
  readonly world: World;
  readonly place: SubmitterPlace;
  readonly allocation: Allocation;
  readonly outside: Pick<Outside, "asked">;
  readonly isAsked: () => boolean;
  /** The allocation's end as the scheduler says it now; null: no news. */
  readLimitEnd(): Promise<number | null>;
}

/** Longest pause between two looks at the folder. */
const LOOK_MS = 2_000;
/** Tasks are begun for so long at a time: its own chains and its heartbeat must not wait. */
const BEGIN_MS = 5_000;
/** So many tasks are named at a beat. */
const MOST_SAID = 3;

/** Returns when it has nothing left to do; its end is on file. */
export async function runSubmitter(ports: SubmitterPorts): Promise<SubmitterEnd | "twin"> {
  const { world, place } = ports;
  const begun = await begin(ports);
  if (begun !== "begun") return begun;
  const reason = await new Life(ports).untilEnd();
  await takeBackKept(world);
  await endSubmitter(world, place, reason);
  if (reason === "chain-over") await withdrawSubmitters(world, place.job, place.number);
  return reason;
}

/** One process a number: a requeue by the site leaves the chain to a new number, as it does with an attempt. */
async function begin({ world, place, allocation }: SubmitterPorts): Promise<"begun" | SubmitterEnd | "twin"> {
  const { submitted, started, ended } = await readSubmitter(world.folder, place);
  if (ended !== null) return ended.reason;
  if (started !== null) {
    if (allocation.restartCount <= started.restartCount) return "twin";
    const { spec } = await specOf(world, place);
    await ensureSubmitter(world, place.job, { spec, basis: "hand-over", me: place.number });
    await endSubmitter(world, place, "requeued");
    return "requeued";
  }
  const record: SubmitterStarted = {
    version: RECORD_VERSION,
    nonce: world.nonce(),
    atMs: world.clock.nowMs(),
    process: world.self,
    ref: allocation.ref,
    restartCount: allocation.restartCount,
    limitEndAtMs: allocation.limitEndAtMs,
  };
  const { mine } = await createRecord(world.folder, join(place.folder, "started.json"), record);
  if (!mine) return "twin";
  if (submitted === null) await recordJob(world, claimedSubmitter(place), allocation, "job");
  return "begun";
}

async function specOf(
  world: World,
  place: SubmitterPlace,
): Promise<{ readonly spec: JobSpec; readonly marginMs: number; readonly limitMs: number | null }> {
  const found = await readSpec(world.folder, place.job);
  const spec = found?.revision.spec;
  if (spec?.submitter === undefined)
    throw new JournalError("missing", place.job.folder, `${place.job.folder} is no job in mode submitter`);
  return { spec, ...spec.submitter };
}

class Life {
  readonly #ports: SubmitterPorts;
  /** On this host's monotonic clock; null: none. */
  #limitAtMs: number | null;
  readonly #begunMs: number;
  #rereadMs = Number.NEGATIVE_INFINITY;
  #beatAtMs = Number.NEGATIVE_INFINITY;
  #says = "begins";
  #trouble = "";
  #begun: readonly TaskPlace[] = [];
  /** Of the task that the scheduler did not take when all were looked at last. */
  #refusal: string | null = null;
  #resting: ReadonlySet<number> = new Set();
  #scannedMs = Number.NEGATIVE_INFINITY;

  constructor(ports: SubmitterPorts) {
    this.#ports = ports;
    this.#begunMs = ports.world.clock.monotonicMs();
    this.#limitAtMs = limitAtOf(ports.allocation.limitEndAtMs, ports.world.clock);
  }

  async untilEnd(): Promise<SubmitterEnd> {
    const { world, outside, isAsked } = this.#ports;
    for (;;) {
      let pauseMs = LOOK_MS;
      try {
        const reason = await this.#round();
        if (reason !== null) return reason;
        const { spec } = await specOf(world, this.#ports.place);
        pauseMs = Math.min(LOOK_MS, spec.timing.pollMs);
        this.#well();
      } catch (error) {
        if (isHopeless(error)) throw error;
        this.#sick(error instanceof Error ? error.message : String(error));
        if (isAsked()) return "asked";
      }
      await Promise.race([world.clock.sleep(pauseMs), outside.asked]);
    }
  }

  /** One look, and what it asks for. Null: go on. */
  async #round(): Promise<SubmitterEnd | null> {
    const { world, place, isAsked } = this.#ports;
    const { spec, marginMs, limitMs } = await specOf(world, place);
    await this.#beat(spec);
    // Before anything is moved: a later one may be at it.
    const before = await this.#act(false, marginMs, limitMs);
    if (before.do === "leave") return before.reason;
    const { begun, mayBeOver } = await this.#tasks(spec);
    if (begun.length > 1) await this.#askForAll(begun);
    const outcomes: Outcome[] = [];
    const resting = new Set<number>();
    for (const task of begun) {
      // TERM comes shortly before KILL.
      if (isAsked()) return "asked";
      const outcome = await this.#move(task, specForTask(spec, task.index));
      outcomes.push(outcome);
      if (isAtRest(outcome)) resting.add(task.index);
    }
    // First: what stays refused is for a person to mend.
    this.#says = [...(this.#refusal === null ? [] : [this.#refusal]), saysOf(outcomes)].join("; ");
    const isNew = this.#restsAnew(resting) && hasTaskPlan(spec);
    const isOver = outcomes.every(isAtRest) && mayBeOver && !isNew;
    const act = await this.#act(isOver, marginMs, limitMs);
    if (act.do === "leave") return act.reason;
    if (act.do === "hand-over") await this.#handOver(spec);
    return null;
  }

  async #act(chainOver: boolean, marginMs: number, limitMs: number | null) {
    const { world, place, isAsked } = this.#ports;
    const nowMs = world.clock.monotonicMs();
    // Where the scheduler could not be asked, the user's own limit is never later by much.
    const limitAtMs = this.#limitAtMs ?? (limitMs === null ? null : this.#begunMs + limitMs);
    return submitterAct({
      me: place.number,
      submitters: await this.#allFromMe(),
      chainOver,
      asked: isAsked(),
      limitLeftMs: limitAtMs === null ? null : limitAtMs - nowMs,
      marginMs,
    });
  }

  /** From the newest started one upwards, and this one, which may lie below it. */
  async #allFromMe() {
    const { world, place } = this.#ports;
    const newest = await readSubmitters(world.folder, place.job);
    if (newest.some(({ number }) => number === place.number)) return newest;
    return [await readSubmitter(world.folder, place), ...newest];
  }

  async #move(task: TaskPlace, spec: JobSpec): Promise<Outcome> {
    const { world } = this.#ports;
    const outcome = await advance(world, task, { others: false });
    if (spec.ahead === 0 || outcome.kind === "over" || outcome.kind === "held") return outcome;
    const { open } = await readTask(world.folder, task);
    const running = open.find(({ go, exited }) => go?.what === "start" && exited === null);
    if (running === undefined) return outcome;
    // A body in this mode queues nothing: its successors are our affair.
    const queued = await advance(world, task, {
      me: running.number,
      topUp: true,
      ahead: spec.ahead,
      claims: true,
      others: false,
    });
    return queued.kind === "waiting" ? queued : outcome;
  }

  /**
   * The tasks that have begun. Once a poll, and after each end of one, all of them are looked at, and those that may begin are
   * begun: of a thousand tasks most need no look in between.
   */
  async #tasks(spec: JobSpec): Promise<{ readonly begun: readonly TaskPlace[]; readonly mayBeOver: boolean }> {
    const { world, place } = this.#ports;
    if (!hasTaskPlan(spec)) return { begun: [taskPlace(place.job, 0)], mayBeOver: true };
    const nowMs = world.clock.monotonicMs();
    if (nowMs - this.#scannedMs < spec.timing.pollMs) return { begun: this.#begun, mayBeOver: false };
    this.#scannedMs = nowMs;
    const { refused, left } = await advanceJob(world, place.job, { withinMs: BEGIN_MS, keeps: true });
    if (refused === null && left > 0) this.#scannedMs = Number.NEGATIVE_INFINITY;
    const refusal = refused === null ? null : `task ${refused.task.index} is not taken now: ${refused.error}`;
    if (refusal !== null && refusal !== this.#refusal) world.log(refusal);
    this.#refusal = refusal;
    this.#begun = await begunTasks(world, place.job, spec);
    return { begun: this.#begun, mayBeOver: (await tasksTogether(world, place.job, spec)) !== "due" };
  }

  /** Whether one has come to rest in this round: it has freed its slot. */
  #restsAnew(resting: ReadonlySet<number>): boolean {
    const isNew = [...resting].some((index) => !this.#resting.has(index));
    this.#resting = resting;
    if (isNew) this.#scannedMs = Number.NEGATIVE_INFINITY;
    return isNew;
  }

  /** One question for all tasks together: what each of them asks next is answered from it. */
  async #askForAll(tasks: readonly TaskPlace[]): Promise<void> {
    const { world } = this.#ports;
    const states = await Promise.all(
      tasks.map(async (task) => ({ task, open: (await readTask(world.folder, task)).open })),
    );
    const refs = states.flatMap(({ open }) => open.map(refOf)).filter((ref) => ref !== null);
    const identities = states.flatMap(({ task, open }) => [...identitiesOf(task, open)]);
    if (refs.length > 0) await world.scheduler.observe([...new Set(refs)], new Map(identities));
  }

  async #handOver(spec: JobSpec): Promise<void> {
    const { world, place } = this.#ports;
    if (await this.#hasMoreTime(spec)) return;
    const ensured = await ensureSubmitter(world, place.job, { spec, basis: "hand-over", me: place.number });
    if (ensured.kind === "there" || ensured.kind === "not-needed") return;
    this.#says = `its successor is not queued: ${ensured.kind === "refused" ? ensured.error : ensured.why}`;
  }

  /** The limit may have been changed since: asked once a poll. */
  async #hasMoreTime({ timing, submitter }: JobSpec): Promise<boolean> {
    const { clock } = this.#ports.world;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#rereadMs < timing.pollMs) return false;
    this.#rereadMs = nowMs;
    const limitEndAtMs = await this.#ports.readLimitEnd();
    if (limitEndAtMs === null) return false;
    this.#limitAtMs = limitAtOf(limitEndAtMs, clock);
    return (this.#limitAtMs ?? Number.POSITIVE_INFINITY) - nowMs > (submitter?.marginMs ?? 0);
  }

  async #beat(spec: JobSpec): Promise<void> {
    const { world, place } = this.#ports;
    const nowMs = world.clock.monotonicMs();
    if (nowMs - this.#beatAtMs < submitterBeatMs(spec.timing)) return;
    this.#beatAtMs = nowMs;
    const line = `${Math.round(world.clock.nowMs())} ${this.#says.replaceAll(/\s+/g, " ")}\n`;
    try {
      await world.folder.append(join(place.folder, HEARTBEAT_FILE), line);
    } catch (error) {
      // The chain may still be moved; who misses the beat asks the scheduler.
      this.#sick(`heartbeat: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #sick(trouble: string): void {
    // Once: a sick folder stays sick for hours.
    if (trouble !== this.#trouble) this.#ports.world.log(trouble);
    this.#trouble = trouble;
    this.#says = trouble;
  }

  #well(): void {
    if (this.#trouble !== "") this.#ports.world.log("well again");
    this.#trouble = "";
  }
}

function saysOf(outcomes: readonly Outcome[]): string {
  const said = outcomes.slice(0, MOST_SAID).map(outcomeText).join("; ");
  const rest = outcomes.length - MOST_SAID;
  return rest > 0 ? `${said}; and ${rest} more` : said;
}

function isAtRest({ kind }: Outcome): boolean {
  return kind === "over" || kind === "held";
}

function outcomeText(outcome: Outcome): string {
  switch (outcome.kind) {
    case "waiting":
    case "held":
      return outcome.why;
    case "going":
      return `attempt ${outcome.attempt} is queued or runs`;
    case "over":
      return `over (${outcome.decision.kind})`;
  }
}
