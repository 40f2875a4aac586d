/** How one chain stands: its state, what it has reached, and the account of its time so far. */
import {
  type AttemptRecords,
  type Decision,
  EMPTY_CARRY,
  isNothing,
  type JobSpec,
  NO_SAVES,
  type Progress,
  type Ref,
  refOf,
  type Saves,
  type SchedulerName,
  type Settled,
  standingDecision,
  stopInForce,
  type Verdict,
  windowEndOf,
} from "../../core/index.ts";
import type { JobPlace } from "../../journal/index.ts";
import { type ChainState, type StateInput, type StateNow, stateOf } from "./chain-state.ts";
import type { TaskCounts } from "./job-of-tasks.ts";
import { hasTasks, type JobOnFile } from "./job-on-file.ts";
import { type QueueState, queueStateOf } from "./queue-state.ts";
import type { SubmitterNow } from "./submitter-status.ts";

export interface ChainStatus {
  /** `/user/name`. */
  readonly job: string;
  readonly folder: string;
  /** The `.stint` folder that it lies in. */
  readonly project: string;
  /** The index of this task; null: the job has one task, or this is the whole of it. */
  readonly task: number | null;
  /** How the tasks stand where this is the whole of a job of several; else null. */
  readonly tasks: TaskCounts | null;
  readonly state: ChainState;
  readonly reason: string | null;
  /** What a person should do; null: nothing. */
  readonly advice: string | null;
  /** The attempt that the state speaks of; null: none yet. */
  readonly attempt: number | null;
  /** A body, a guardian or a job in the scheduler that will move the chain is seen now. */
  readonly mover: boolean;
  /** Mode submitter: the one that lives or is queued; null: none, or another mode. */
  readonly submitter: SubmitterNow | null;
  /** Attempts whose application was allowed to start, the running one included. */
  readonly attempts: number;
  readonly progress: Progress;
  readonly total: number | null;
  /** Of the newest settlement of an attempt that ran. */
  readonly verdict: Verdict | null;
  readonly decision: Decision["kind"] | null;
  readonly why: string | null;
  readonly scheduler: SchedulerName | null;
  readonly ref: Ref | null;
  readonly submittedAtMs: number | null;
  /** When the running attempt's application was allowed to start. */
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  /** When TERM comes to the running attempt (epoch ms); null: no limit, or nothing runs. */
  readonly windowEndAtMs: number | null;
  /** The margin in force of the running attempt, in ms; null: nothing runs. */
  readonly marginMs: number | null;
  /** How long saving took so far: what `margin: auto` is sized from. */
  readonly saves: Saves;
  /** Run time of all attempts together, the running one included, in ms. */
  readonly ranMs: number;
  /** Of an attempt that nobody could testify for only the last sample is in `ranMs`, or nothing; `waitedMs` is then an upper bound. */
  readonly ranIsLowerBound: boolean;
  /** All other time since submit, up to now or to the end of the chain, in ms: queue, hand-overs, back-off, holds. */
  readonly waitedMs: number | null;
  /** Run time still needed at the rate of progress so far, in ms; null: cannot be told. */
  readonly etaMs: number | null;
  /** CPU time of all settled attempts, in ms. */
  readonly cpuMs: number;
  /** The lowest attempt that waits in the scheduler's queue, and why; null: none is seen there. */
  readonly queue: QueueState | null;
}

export interface StatusInput extends StateInput {
  /** The checkpoint as it is now; null: take the newest settlement's. */
  readonly progress: Progress | null;
  /** Progress before the first attempt, for the rate. */
  readonly firstProgress: number | null;
}

/** The status of a chain from its records and the answers of this round. `name`: the job as a person types it. */
export function statusOf(job: JobOnFile, input: StatusInput, name: string): ChainStatus {
  const { settled, open } = job.state;
  const current = stateOf(job, input, name);
  const record = settled?.record ?? null;
  const carry = record?.carry ?? EMPTY_CARRY;
  const running = open.find((a) => a.go?.what === "start") ?? null;
  const runningMs =
    running === null ? 0 : (running.exited?.ranMs ?? Math.max(0, input.nowMs - (running.go?.atMs ?? 0)));
  const ranMs = carry.ranMs + runningMs;
  const lastRan = job.lastRan?.record ?? null;
  const progress = input.progress ?? progressOf(job.spec, lastRan, carry.highWater);
  const endedAtMs = endOf(job, current);
  const live = current.state === "running" ? running : null;
  return {
    job: job.place.id,
    folder: hasTasks(job) ? job.task.folder : job.place.folder,
    project: job.place.stintFolder,
    task: hasTasks(job) ? job.task.index : null,
    tasks: null,
    ...current,
    submitter: input.submitter,
    attempts: carry.attempts + (running === null ? 0 : 1),
    progress,
    total: job.spec.total,
    verdict: lastRan?.verdict ?? null,
    decision: standingDecision(record, job.stops)?.kind ?? null,
    why: lastRan?.evidence.why ?? null,
    scheduler: job.spec.scheduler,
    ref: (running === null ? null : refOf(running)) ?? lastRef(open) ?? lastRan?.evidence.ref ?? null,
    submittedAtMs: job.submittedAtMs,
    startedAtMs: live?.go?.atMs ?? null,
    endedAtMs,
    windowEndAtMs: live === null ? null : windowEndOf(live),
    marginMs: running?.go?.what === "start" ? (running.go.marginMs ?? null) : null,
    saves: carry.recentSaves ?? NO_SAVES,
    ranMs,
    ranIsLowerBound: carry.ranIsLowerBound === true,
    waitedMs: Math.max(0, (endedAtMs ?? input.nowMs) - job.submittedAtMs - ranMs),
    etaMs: endedAtMs !== null ? null : etaOf(progress, job.spec.total, input.firstProgress, ranMs),
    cpuMs: carry.cpuUserMs + carry.cpuSystemMs,
    queue: queueStateOf(open, input.seen, input.nowMs),
  };
}

/**
 * When the chain came to rest; null: it has not. A stop ends it where nothing of it ran any more, else the end of what still
 * ran does; what comes after is no waiting.
 */
function endOf(job: JobOnFile, { state }: StateNow): number | null {
  if (state !== "over" && state !== "held") return null;
  const lastRan = job.lastRan?.record ?? null;
  const ranUntilMs = lastRan?.evidence.endedAtMs ?? lastRan?.atMs ?? null;
  if (stopInForce(job.stops) === null) return ranUntilMs;
  const stopped = job.stops.lists.flatMap(({ ruling }) =>
    ruling === null || ruling.kind === "resume" ? [] : [ruling.atMs],
  );
  return Math.max(ranUntilMs ?? 0, ...stopped);
}

function lastRef(open: readonly AttemptRecords[]): Ref | null {
  const last = open.findLast((a) => !isNothing(a));
  return last === undefined ? null : refOf(last);
}

function progressOf(spec: JobSpec, settled: Settled | null, highWater: number | null): Progress {
  if (spec.checkpoint === null) return { state: "not-configured" };
  if (settled === null) return { state: "absent" };
  if (settled.verdict !== "never-ran") return settled.evidence.progress;
  return highWater === null ? { state: "absent" } : { state: "not-above", value: highWater };
}

function etaOf(progress: Progress, total: number | null, first: number | null, ranMs: number): number | null {
  if (total === null || (progress.state !== "above" && progress.state !== "not-above")) return null;
  const done = progress.value - (first ?? 0);
  if (done <= 0 || ranMs <= 0) return null;
  return Math.max(0, Math.round(((total - progress.value) * ranMs) / done));
}

/** A job that cannot be read, as a row among the others. */
export function unreadableStatus(place: JobPlace, reason: string): ChainStatus {
  return { ...EMPTY_STATUS, ...whereOf(place), state: "unreadable", reason };
}

/** A job whose submit died before its specification was on file. */
export function unfinishedStatus(place: JobPlace, name: string): ChainStatus {
  return {
    ...EMPTY_STATUS,
    ...whereOf(place),
    state: "unfinished-submit",
    reason: "its submit did not come to its end, nothing was started",
    advice: `submit it again, or: stint rm ${name}`,
  };
}

function whereOf(place: JobPlace): Pick<ChainStatus, "job" | "folder" | "project"> {
  return { job: place.id, folder: place.folder, project: place.stintFolder };
}

const EMPTY_STATUS: Omit<ChainStatus, "job" | "folder" | "project"> = {
  task: null,
  tasks: null,
  state: "unreadable",
  reason: null,
  advice: null,
  attempt: null,
  mover: false,
  submitter: null,
  attempts: 0,
  progress: { state: "not-configured" },
  total: null,
  verdict: null,
  decision: null,
  why: null,
  scheduler: null,
  ref: null,
  submittedAtMs: null,
  startedAtMs: null,
  endedAtMs: null,
  windowEndAtMs: null,
  marginMs: null,
  saves: NO_SAVES,
  ranMs: 0,
  ranIsLowerBound: false,
  waitedMs: null,
  etaMs: null,
  cpuMs: 0,
  queue: null,
};
