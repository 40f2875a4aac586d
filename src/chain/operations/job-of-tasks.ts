/** A job of several tasks as one: how many of them stand how, and what that makes of the job. */
import { NO_SAVES } from "../../core/index.ts";
import type { Chance } from "../../slurm/index.ts";
import type { ChainStatus } from "./chain-status.ts";
import type { JobOnFile } from "./job-on-file.ts";
import { queueReason } from "./queue-state.ts";

/** Each task counts once. */
export interface TaskCounts {
  readonly total: number;
  readonly running: number;
  /** Queued, between two attempts, or not begun: somebody will move them. */
  readonly waiting: number;
  readonly held: number;
  /** Nobody will move them. */
  readonly stranded: number;
  readonly finished: number;
  /** Over without being finished: drained, cancelled, or with nothing to gain. */
  readonly stopped: number;
}

export function countTasks(statuses: readonly ChainStatus[]): TaskCounts {
  const of = (state: ChainStatus["state"]): number => statuses.filter((one) => one.state === state).length;
  const finished = statuses.filter(isFinished).length;
  return {
    total: statuses.length,
    running: of("running"),
    waiting: of("waiting"),
    held: of("held"),
    stranded: of("stranded"),
    finished,
    stopped: of("over") - finished,
  };
}

/** `3 running, 90 waiting, 7 finished`: those that there are, what needs a person first. */
export function countsText(counts: TaskCounts): string {
  const parts = (["stranded", "held", "running", "waiting", "stopped", "finished"] as const).flatMap((state) =>
    counts[state] === 0 ? [] : [`${counts[state]} ${state}`],
  );
  return parts.join(", ");
}

/** The status of the whole job. `first`: any of its tasks. `name`: the job as a person types it. */
export function statusOfTasks(statuses: readonly ChainStatus[], first: JobOnFile, name: string): ChainStatus {
  const tasks = countTasks(statuses);
  const sum = (value: (one: ChainStatus) => number): number => statuses.reduce((all, one) => all + value(one), 0);
  const state = stateOfAll(tasks);
  const atEnd = state === "over" || state === "held";
  const ends = statuses.flatMap(({ endedAtMs }) => endedAtMs ?? []);
  return {
    job: first.place.id,
    folder: first.place.folder,
    project: first.place.stintFolder,
    task: null,
    tasks,
    state,
    reason: reasonOf(tasks, statuses),
    advice: adviceOf(tasks, statuses, name),
    attempt: null,
    mover: statuses.some(({ mover }) => mover),
    submitter: statuses.find(({ submitter }) => submitter !== null)?.submitter ?? null,
    attempts: sum(({ attempts }) => attempts),
    progress: { state: "not-configured" },
    total: null,
    verdict: null,
    decision: decisionOf(tasks, state),
    why: null,
    scheduler: first.spec.scheduler,
    ref: null,
    submittedAtMs: first.submittedAtMs,
    startedAtMs: null,
    endedAtMs: atEnd && ends.length > 0 ? Math.max(...ends) : null,
    windowEndAtMs: null,
    marginMs: null,
    saves: NO_SAVES,
    ranMs: sum(({ ranMs }) => ranMs),
    ranIsLowerBound: statuses.some(({ ranIsLowerBound }) => ranIsLowerBound),
    // The tasks wait beside each other: their sum would be nobody's time.
    waitedMs: null,
    etaMs: null,
    cpuMs: sum(({ cpuMs }) => cpuMs),
    queue: stuckInQueue(statuses)?.queue ?? null,
  };
}

/** What a person must see first; a job is held or over only when nothing of it goes on. */
function stateOfAll(tasks: TaskCounts): ChainStatus["state"] {
  if (tasks.stranded > 0) return "stranded";
  if (tasks.running > 0) return "running";
  if (tasks.waiting > 0) return "waiting";
  return tasks.held > 0 ? "held" : "over";
}

function reasonOf(tasks: TaskCounts, statuses: readonly ChainStatus[]): string {
  if (tasks.finished === tasks.total) return "finished";
  // One reason for all that were stopped: a drain or cancel of the whole job.
  const reasons = new Set(statuses.flatMap((one) => (one.state === "over" && !isFinished(one) ? [one.reason] : [])));
  const [only] = reasons;
  const stopped = tasks.stopped > 0 && reasons.size === 1 && /^(drained|cancelled)\b/.test(only ?? "");
  if (stopped && tasks.stopped + tasks.finished === tasks.total) return `${only} (${countsText(tasks)})`;
  const stuck = stuckInQueue(statuses);
  const queue = stuck?.queue ?? null;
  if (stuck === null || queue === null) return countsText(tasks);
  return `${countsText(tasks)}; of task ${stuck.task} ${queueReason(queue)}`;
}

/** The first task that will not start, or may not, as it waits in the queue: a person must know, whatever the others do. */
function stuckInQueue(statuses: readonly ChainStatus[]): ChainStatus | null {
  const of = (chance: Chance): ChainStatus | undefined => statuses.find(({ queue }) => queue?.chance === chance);
  return of("will-never-start") ?? of("may-never-start") ?? null;
}

function adviceOf(tasks: TaskCounts, statuses: readonly ChainStatus[], name: string): string | null {
  if (tasks.stranded > 0) return `stint resume ${name}`;
  const held = statuses.filter(({ state }) => state === "held");
  const [one] = held;
  if (held.length === 1) return one?.advice ?? null;
  if (held.length > 1) return `see stint status ${name}; mend the cause, then: stint resume ${name}`;
  const stuck = stuckInQueue(statuses);
  if (stuck !== null && stuck.state === "waiting") return stuck.advice;
  return tasks.stopped > 0 && tasks.running + tasks.waiting === 0 ? `stint resume ${name}` : null;
}

function decisionOf(tasks: TaskCounts, state: ChainStatus["state"]): ChainStatus["decision"] {
  if (tasks.finished === tasks.total) return "finish";
  if (state === "held") return "hold";
  return state === "over" ? "stop" : "continue";
}

function isFinished({ state, decision }: ChainStatus): boolean {
  return state === "over" && decision === "finish";
}
