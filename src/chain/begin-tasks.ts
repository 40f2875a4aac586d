/**
 * The tasks of one job among each other: which of them may begin, and beginning them. Whoever ends a task, or is asked to move the
 * job, calls it; what it does is advancing, so that any number of processes may do it at once.
 */
import {
  hasTaskPlan,
  isLeft,
  type JobSpec,
  mayBegin,
  type OthersLeft,
  type Outcome,
  stopInForce,
  stopNumber,
  type TaskPhase,
  taskIndices,
  taskPhase,
} from "../core/index.ts";
import {
  type AllStops,
  attemptPlace,
  type JobPlace,
  readAllStops,
  readSpec,
  readTask,
  stopsFor,
  type TaskPlace,
  type TaskState,
  taskPlace,
} from "../journal/index.ts";
import { claimerOf } from "./hand-in.ts";
import type { World } from "./world.ts";

export interface BeginOptions {
  /** The caller has so long, in ms: no more are begun when too little of it is left for a submit. Default: all that may begin. */
  readonly withinMs?: number;
  readonly signal?: AbortSignal;
  /** After each: how many have been moved, of how many that were due. */
  readonly onMoved?: (moved: number, due: number) => void;
  /** For who stays: a refused claim is kept, and the next call tries the same one again; see `takeBackKept`. Default: it is taken back. */
  readonly keeps?: boolean;
}

export interface BeginResult {
  /** Tasks that were moved now. */
  readonly moved: number;
  /** The scheduler's "not now", after which no more were begun: whoever moves the job next goes on. Null: none. */
  readonly refused: Refused | null;
  /** May begin, and was not tried any more. */
  readonly left: number;
  /** After so long one that was left, and whose claimer cannot be seen from here, may be gone on with. Null: there is none. */
  readonly lookAgainMs: number | null;
  /** Submits of ours without a clear answer whose job is still looked for. */
  readonly sought: number;
}

interface Refused {
  readonly task: TaskPlace;
  readonly attempt: number;
  readonly error: string;
  readonly lookAgainMs: number;
}

/** What may begin and was not begun, for whoever can stay and try again; null: nothing. */
export function othersLeft({ refused, left, lookAgainMs, sought }: BeginResult): OthersLeft | null {
  if (refused !== null) return { count: left, why: refused.error, lookAgainMs: refused.lookAgainMs };
  if (left > 0) return { count: left, why: "there was no time to begin them", lookAgainMs: Number.POSITIVE_INFINITY };
  return sought === 0 ? null : { count: sought, why: UNCLEAR, lookAgainMs: lookAgainMs ?? 0 };
}

const UNCLEAR = "the scheduler gave no clear answer";

/** A submit has its answer within this time, but for a controller in trouble. */
const SUBMIT_MS = 10_000;

/** Begins, by `begin`, every task that may begin and that nobody moves. For a job of one task there is nothing to do. */
export async function beginTasks(
  world: World,
  job: JobPlace,
  begin: (task: TaskPlace, slot: Slot | null) => Promise<Outcome>,
  options: BeginOptions = {},
): Promise<BeginResult> {
  const { withinMs = Number.POSITIVE_INFINITY } = options;
  // The caller may end then, and a submit that is cut off leaves nobody who knows whether there is a job.
  const endMs = world.clock.monotonicMs() + withinMs - Math.min(SUBMIT_MS, withinMs / 4);
  const isOver = (): boolean => options.signal?.aborted === true || world.clock.monotonicMs() >= endMs;
  let moved = 0;
  let lookAgainMs: number | null = null;
  let sought = 0;
  const ended = new Set<number>();
  const result = (left: number, refused: Refused | null = null): BeginResult => ({
    ...{ moved, refused, left, lookAgainMs, sought },
  });
  for (;;) {
    const spec = (await readSpec(world.folder, job))?.revision.spec ?? null;
    if (spec === null || !hasTaskPlan(spec)) return result(0);
    // Then nothing may begin, and what has begun is the affair of its own movers and of whoever stops: no task need be read.
    const stops = await readAllStops(world.folder, job);
    if (isStoppedAsAWhole(stops, spec)) return result(0);
    const { tasks, slot } = await readPhases(world, job, spec, stops);
    const due = dueTasks(world, tasks, spec);
    const before = new Set(world.memory.unclear);
    sought = 0;
    let again = false;
    for (const [at, { task, mayBegin: may }] of due.entries()) {
      if (isOver()) return result(due.length - at);
      // A resume since then has put others in the way.
      if (!(await stands(world, job, slot))) {
        again = true;
        break;
      }
      const outcome = await begin(task, may ? slot : null);
      if (outcome.kind === "waiting" && outcome.forSlot !== true) {
        const error = refusalOf(world, task, outcome.attempt, before);
        const { attempt, lookAgainMs: againMs } = outcome;
        if (error !== null) return result(due.length - at, { task, attempt, error, lookAgainMs: againMs });
        lookAgainMs = Math.min(lookAgainMs ?? Number.POSITIVE_INFINITY, againMs);
        if (before.has(attemptPlace(task, attempt).folder)) sought += 1;
      } else moved += 1;
      options.onMoved?.(at + 1, due.length);
      if (outcome.kind !== "over" && outcome.kind !== "held") continue;
      // Its slot is free again. What is due although it was over before is a matter for whoever looks next.
      if (!ended.has(task.index)) again = true;
      ended.add(task.index);
    }
    if (!again) return result(0);
  }
}

/** All of its tasks are: one that was resumed alone goes on. */
export function isStoppedAsAWhole(stops: AllStops, { tasks }: JobSpec): boolean {
  return taskIndices(tasks).every((index) => stopInForce(stopsFor(stops, index)) !== null);
}

/** The right to begin a task, good for as long as no stop or resume is on file that was not seen when it was given. */
export interface Slot {
  readonly newestStop: number;
}

/** The slot of this task, which has not begun; null: it must wait. A job without a bound has a slot for each. */
export async function findSlot(world: World, task: TaskPlace, spec: JobSpec): Promise<Slot | null> {
  const { tasks, slot } = await readPhases(world, task.job, spec);
  const own = tasks.findIndex(({ place }) => place.index === task.index);
  return mayBegin(phasesOf(tasks), spec.tasks?.parallel ?? null).includes(own) ? slot : null;
}

/**
 * Whether a slot is still good. To be asked after the claim is linked: whoever resumes another task links the resume before it
 * looks who has begun, so that one of the two sees the other.
 */
export async function stands(world: World, job: JobPlace, slot: Slot): Promise<boolean> {
  return newestNumber(await readAllStops(world.folder, job)) === slot.newestStop;
}

/**
 * How the tasks of a job stand together. `over`: nothing of it has to be moved any more. `due`: one may begin, or was left by its
 * mover. `going`: what is not over has begun, or waits for those.
 */
export async function tasksTogether(world: World, job: JobPlace, spec: JobSpec): Promise<"over" | "due" | "going"> {
  const { tasks } = await readPhases(world, job, spec);
  if (tasks.every(({ phase }) => phase === "over")) return "over";
  return dueTasks(world, tasks, spec).length > 0 ? "due" : "going";
}

/** Tasks of a job that have begun, or have claims that are not settled yet; the others need no word with anybody. */
export async function begunTasks(world: World, job: JobPlace, spec: JobSpec): Promise<readonly TaskPlace[]> {
  const { tasks } = await readPhases(world, job, spec);
  return tasks.flatMap(({ place, state, phase }) =>
    phase === "begun" || (phase === "over" && state.open.length > 0) ? [place] : [],
  );
}

interface TaskNow {
  readonly place: TaskPlace;
  readonly state: TaskState;
  readonly phase: TaskPhase;
}

async function readPhases(
  world: World,
  job: JobPlace,
  spec: JobSpec,
  known: AllStops | null = null,
): Promise<{ readonly tasks: readonly TaskNow[]; readonly slot: Slot }> {
  // Stops first: a resume that comes after it is seen by the next look.
  const stops = known ?? (await readAllStops(world.folder, job));
  const tasks: TaskNow[] = [];
  for (const index of taskIndices(spec.tasks)) {
    const place = taskPlace(job, index);
    const state = await readTask(world.folder, place);
    tasks.push({ place, state, phase: taskPhase(state, stopsFor(stops, index)) });
  }
  return { tasks, slot: { newestStop: newestNumber(stops) } };
}

function phasesOf(tasks: readonly TaskNow[]): readonly TaskPhase[] {
  return tasks.map(({ phase }) => phase);
}

interface DueTask {
  readonly task: TaskPlace;
  /** False: it has begun, and must win a slot anew where it turns out that nothing of it ran. */
  readonly mayBegin: boolean;
}

/** What may begin, and what has begun and was left by whoever moved it. */
function dueTasks(world: World, tasks: readonly TaskNow[], spec: JobSpec): readonly DueTask[] {
  const allowed = new Set(mayBegin(phasesOf(tasks), spec.tasks?.parallel ?? null));
  return tasks.flatMap((task, position) => {
    const may = allowed.has(position);
    return may || isLeftOver(world, task) ? [{ task: task.place, mayBegin: may }] : [];
  });
}

/** Ours that was refused, or got no clear answer, counts as left: this process may not be about to look at it again. */
function isLeftOver(world: World, { place, phase, state }: TaskNow): boolean {
  return isLeft(
    phase,
    state,
    ({ by }, { number }) => claimerOf(world, by, attemptPlace(place, number).folder) === "alive",
  );
}

/** `before`: what got no clear answer earlier. It is looked for, and no reason to leave the others. */
function refusalOf(world: World, task: TaskPlace, attempt: number, before: ReadonlySet<string>): string | null {
  const key = attemptPlace(task, attempt).folder;
  const refusal = world.memory.refusals.get(key);
  if (refusal !== undefined) return refusal.error;
  return world.memory.unclear.has(key) && !before.has(key) ? UNCLEAR : null;
}

/** Grows with each stop and resume, of whichever task. */
function newestNumber({ own, ancestors }: AllStops): number {
  const last = own.at(-1);
  const lists = [{ highest: last?.number ?? 0, ruling: last ?? null }, ...ancestors];
  return stopNumber({ lists, words: new Map() });
}
