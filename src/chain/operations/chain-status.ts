/**
 * What a chain is doing and who will move it, from its records. What is over or held by its newest settlement is told
 * without asking any process or scheduler; for the others one question per scheduler is enough.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type AttemptRecords,
  type Decision,
  EMPTY_CARRY,
  type JobSpec,
  type Progress,
  prove,
  type Ref,
  refOf,
  type SchedulerName,
  type Seen,
  type Settled,
  type SpecRevision,
  type Started,
  type Stops,
  standingDecision,
  stopInForce,
  type Verdict,
} from "../../core/index.ts";
import { aliveHere, type Folder } from "../../host/index.ts";
import {
  attemptPlace,
  type JobPlace,
  padded,
  readRecord,
  readSpec,
  readStops,
  readTask,
  type TaskState,
  taskPlace,
} from "../../journal/index.ts";

/**
 * - `running`: an application is (or is about to be) at work.
 * - `waiting`: somebody will move it: a queued job, a claimer at work, a wait for a proof; `reason` says which.
 * - `held`: a person must look. - `stranded`: not over, and nobody will move it.
 * - `over`: finished, stopped or cancelled; `decision` says which.
 * - `unfinished-submit`: the submit died half-way; typing it again mends it.
 * - `unreadable`: its records cannot be used by this version; `reason` says why.
 */
export type ChainState = "running" | "waiting" | "held" | "stranded" | "over" | "unfinished-submit" | "unreadable";

export interface ChainStatus {
  /** `/user/name`. */
  readonly job: string;
  readonly folder: string;
  readonly state: ChainState;
  readonly reason: string | null;
  /** What a person should do; null: nothing. */
  readonly advice: string | null;
  /** The attempt that the state speaks of; null: none yet. */
  readonly attempt: number | null;
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
  /** Run time of all attempts together, the running one included, in ms. */
  readonly ranMs: number;
  /** All other time since submit, up to now or to the end of the chain, in ms: queue, hand-overs, back-off, holds. */
  readonly waitedMs: number | null;
  /** Run time still needed at the rate of progress so far, in ms; null: cannot be told. */
  readonly etaMs: number | null;
  /** CPU time of all settled attempts, in ms. */
  readonly cpuMs: number;
}

/** What is on file of one job. */
export interface JobOnFile {
  readonly place: JobPlace;
  readonly spec: JobSpec;
  readonly revision: number;
  /** Of the first revision. */
  readonly submittedAtMs: number;
  readonly stops: Stops;
  readonly state: TaskState;
  /** The newest settlement of an attempt that ran: above it lie only ones that never did. */
  readonly lastRan: TaskState["settled"];
}

/** Reads a job's records. Null: its submit never came to its end. Throws JournalError. */
export async function readJob(folder: Folder, place: JobPlace): Promise<JobOnFile | null> {
  const found = await newestRevision(folder, place);
  if (found === null) return null;
  const state = await readTask(folder, taskPlace(place, 0));
  // A finished chain stays finished whatever anybody wishes: most jobs of a long list need no look at their stops.
  const finished = state.open.length === 0 && state.settled?.record.decision.kind === "finish";
  const stops = finished ? NO_STOPS : await readStops(folder, place);
  const { number: revision, submittedAtMs } = found;
  const { spec } = found.revision;
  const lastRan = await newestThatRan(folder, place, state.settled);
  return { place, spec, revision, submittedAtMs, stops, state, lastRan };
}

/** Successors that were queued and not needed end as never-ran above the one that says how the work went. */
async function newestThatRan(
  folder: Folder,
  place: JobPlace,
  newest: TaskState["settled"],
): Promise<TaskState["settled"]> {
  let settled = newest;
  while (settled !== null && settled.record.verdict === "never-ran" && settled.record.carry.attempts > 0) {
    const number: number = settled.number - 1;
    const path = join(attemptPlace(taskPlace(place, 0), number).folder, "settled.json");
    const record = await readRecord<Settled>(folder, path);
    settled = record === null ? null : { number, record };
  }
  return settled ?? newest;
}

/** Revisions are numbered without gaps and most jobs have one: a look for the second is cheaper than a list. */
async function newestRevision(
  folder: Folder,
  place: JobPlace,
): Promise<{ readonly number: number; readonly revision: SpecRevision; readonly submittedAtMs: number } | null> {
  const path = (number: number): string => join(place.folder, "spec", `${padded(number)}.json`);
  const first = await readRecord<SpecRevision>(folder, path(1));
  if (first === null) return null;
  const newest = existsSync(path(2)) ? await readSpec(folder, place) : null;
  return { ...(newest ?? { number: 1, revision: first }), submittedAtMs: first.atMs };
}

const NO_STOPS: Stops = { lists: [], words: new Map() };

/** Over or held by its newest settlement, with nothing left above it: no process and no scheduler need be asked. */
export function isAtRest(job: JobOnFile): boolean {
  const { settled, open } = job.state;
  const nothingAbove = open.every(isNothing);
  const decision = standingDecision(settled?.record ?? null, job.stops);
  if (decision === null) return stopInForce(job.stops) !== null && nothingAbove;
  return nothingAbove && (isEnding(decision) || stopInForce(job.stops) !== null);
}

/** Refs whose answers the state of this chain depends on. */
export function refsOf(job: JobOnFile): readonly Ref[] {
  const refs = job.state.open.map(refOf);
  const settledRef = job.state.settled?.record.evidence.ref ?? null;
  return [...refs, settledRef].filter((ref): ref is Ref => ref !== null);
}

export interface StatusInput {
  readonly seen: ReadonlyMap<Ref, Seen>;
  /** The checkpoint as it is now; null: take the newest settlement's. */
  readonly progress: Progress | null;
  /** Progress before the first attempt, for the rate. */
  readonly firstProgress: number | null;
  /** `started` of the newest settled attempt: its body may be about to claim the next. */
  readonly settledStarted: Started | null;
  /** Pid of a process here that attends the chain; null: none. */
  readonly attendedBy: number | null;
  readonly nowMs: number;
  readonly nowMonotonicMs: number;
}

/** The state of a chain from its records and the answers of this round. */
export function statusOf(job: JobOnFile, input: StatusInput): ChainStatus {
  const { settled, open } = job.state;
  const current = stateOf(job, input);
  const record = settled?.record ?? null;
  const carry = record?.carry ?? EMPTY_CARRY;
  const running = open.find((a) => a.go?.what === "start") ?? null;
  const runningMs =
    running === null ? 0 : (running.exited?.ranMs ?? Math.max(0, input.nowMs - (running.go?.atMs ?? 0)));
  const ranMs = carry.ranMs + runningMs;
  const lastRan = job.lastRan?.record ?? null;
  const progress = input.progress ?? progressOf(job.spec, lastRan, carry.highWater);
  const ended = current.state === "over" || current.state === "held";
  const endedAtMs = ended ? (lastRan?.evidence.endedAtMs ?? lastRan?.atMs ?? null) : null;
  const live = current.state === "running" ? running : null;
  return {
    job: job.place.id,
    folder: job.place.folder,
    ...current,
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
    windowEndAtMs: live?.started?.windowEndAtMs ?? null,
    ranMs,
    waitedMs: Math.max(0, (endedAtMs ?? input.nowMs) - job.submittedAtMs - ranMs),
    etaMs: ended ? null : etaOf(progress, job.spec.total, input.firstProgress, ranMs),
    cpuMs: carry.cpuUserMs + carry.cpuSystemMs,
  };
}

interface Now {
  readonly state: ChainState;
  readonly reason: string | null;
  readonly advice: string | null;
  readonly attempt: number | null;
}

function stateOf(job: JobOnFile, input: StatusInput): Now {
  const { settled, open } = job.state;
  const name = job.place.id;
  if (isAtRest(job)) return restOf(job);
  let waiting: Now | null = null;
  for (const attempt of open) {
    if (isNothing(attempt)) continue;
    const now = attempt.go?.what === "start" ? startedState(attempt, job, input) : queuedState(attempt, input);
    // A running attempt is the news, whatever waits around it; else what waits lowest is what the chain waits for.
    if (now !== null && now.state !== "waiting") return now;
    waiting ??= now;
  }
  if (waiting !== null) return waiting;
  const last = settled?.number ?? null;
  if (input.settledStarted !== null && isHandingOver(input.settledStarted, input.seen))
    return { state: "waiting", reason: `attempt ${last} is handing over`, advice: null, attempt: last };
  if (input.attendedBy !== null)
    return { state: "waiting", reason: `attended by process ${input.attendedBy}`, advice: null, attempt: last };
  return {
    state: "stranded",
    reason:
      last === null && open.length === 0 ? "no attempt was ever claimed" : "it is not over, and nobody will move it",
    advice: `stint resume ${name}`,
    attempt: open.at(-1)?.number ?? last,
  };
}

function restOf(job: JobOnFile): Now {
  const { settled } = job.state;
  const decision = standingDecision(settled?.record ?? null, job.stops);
  const attempt = job.lastRan?.number ?? null;
  const stop = stopInForce(job.stops);
  const note = job.stops.lists[0]?.ruling?.note ?? null;
  const noted = (why: string): string => (stop === null || note === null ? why : `${why}: ${note}`);
  const advice = (text: string): string => text.replaceAll("JOB", job.place.id);
  if (decision?.kind === "hold")
    return { state: "held", reason: decision.why, advice: advice(decision.advice), attempt };
  if (decision?.kind === "finish") return { state: "over", reason: "finished", advice: null, attempt };
  if (decision?.kind === "stop") {
    const next = decision.advice === null ? null : advice(decision.advice);
    return { state: "over", reason: noted(decision.why), advice: next, attempt };
  }
  const why = stop === "cancel" ? "cancelled" : "drained";
  return { state: "over", reason: noted(why), advice: advice("stint resume JOB"), attempt };
}

/** An attempt whose application was let through the gate. */
function startedState(attempt: AttemptRecords, job: JobOnFile, input: StatusInput): Now | null {
  const { number, started, exited } = attempt;
  const ref = refOf(attempt);
  const seen = ref === null ? null : (input.seen.get(ref) ?? null);
  const body = started === null ? "elsewhere" : aliveHere(started.body);
  const guardian = started?.guardian == null ? "gone" : aliveHere(started.guardian);
  const lives = body === "alive" || guardian === "alive" || seen?.kind === "active";
  const stop = stopInForce(job.stops);
  if (exited === null && (body === "alive" || seen?.kind === "active"))
    return { state: "running", reason: stop === null ? null : `${stop} asked for`, advice: null, attempt: number };
  if (lives) return { state: "waiting", reason: `attempt ${number} is ending`, advice: null, attempt: number };
  if (seen?.kind === "unreachable")
    return { state: "waiting", reason: `the scheduler can't be asked: ${seen.error}`, advice: null, attempt: number };
  const answer = prove({
    attempt,
    seen,
    watch: null,
    word: job.stops.words.get(number) ?? null,
    timing: job.spec.timing,
    nowMonotonicMs: input.nowMonotonicMs,
  });
  if (answer.kind !== "unprovable") return null;
  return {
    state: "held",
    reason: `attempt ${number} unproved: ${answer.why}`,
    advice: `make sure that nothing of it runs any more, then: stint resume ${job.place.id} --over ${number}`,
    attempt: number,
  };
}

/** An attempt that is claimed or queued. Null: nobody stands behind it. */
function queuedState(attempt: AttemptRecords, input: StatusInput): Now | null {
  const { number, started, claim } = attempt;
  const waiting = (reason: string): Now => ({ state: "waiting", reason, advice: null, attempt: number });
  if (started !== null && aliveHere(started.body) === "alive") return waiting(`attempt ${number} waits for its turn`);
  const ref = refOf(attempt);
  if (ref === null) {
    const claimer = claim === null ? "gone" : aliveHere(claim.by);
    if (claimer === "alive") return waiting(`attempt ${number} is being submitted`);
    return claimer === "elsewhere" ? waiting(`attempt ${number} was claimed on ${claim?.by.host}`) : null;
  }
  const seen = input.seen.get(ref);
  if (seen?.kind === "unreachable") return waiting(`the scheduler can't be asked: ${seen.error}`);
  if (seen?.kind !== "active") return null;
  const begin = claim?.notBeforeMs ?? null;
  if (seen.phase === "pending" && begin !== null && begin > input.nowMs)
    return waiting(`attempt ${number} begins in ${Math.ceil((begin - input.nowMs) / 1000)} s (back-off)`);
  const reason = seen.reason === null ? "" : ` (${seen.reason})`;
  if (seen.phase !== "pending") return waiting(`attempt ${number} is starting`);
  return waiting(`attempt ${number} is queued${reason}`);
}

function isHandingOver(started: Started, seen: ReadonlyMap<Ref, Seen>): boolean {
  const guardian = started.guardian === null ? "gone" : aliveHere(started.guardian);
  return aliveHere(started.body) === "alive" || guardian === "alive" || seen.get(started.ref)?.kind === "active";
}

/** Withdrawn, or a folder without a claim: nothing that could move or run. */
function isNothing(attempt: AttemptRecords): boolean {
  return attempt.go?.what === "withdrawn" || (attempt.claim === null && attempt.started === null);
}

function isEnding(decision: Decision): boolean {
  return decision.kind === "finish" || decision.kind === "stop" || decision.kind === "hold";
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
  return { ...EMPTY_STATUS, job: place.id, folder: place.folder, state: "unreadable", reason };
}

/** A job whose submit died before its specification was on file. */
export function unfinishedStatus(place: JobPlace): ChainStatus {
  return {
    ...EMPTY_STATUS,
    job: place.id,
    folder: place.folder,
    state: "unfinished-submit",
    reason: "its submit did not come to its end, nothing was started",
    advice: `submit it again, or: stint rm ${place.id}`,
  };
}

const EMPTY_STATUS: Omit<ChainStatus, "job" | "folder"> = {
  state: "unreadable",
  reason: null,
  advice: null,
  attempt: null,
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
  ranMs: 0,
  waitedMs: null,
  etaMs: null,
  cpuMs: 0,
};

/** `started` of the newest settled attempt. */
export async function readSettledStarted(folder: Folder, job: JobOnFile): Promise<Started | null> {
  const number = job.state.settled?.number;
  if (number === undefined) return null;
  return readRecord<Started>(folder, join(attemptPlace(taskPlace(job.place, 0), number).folder, "started.json"));
}
