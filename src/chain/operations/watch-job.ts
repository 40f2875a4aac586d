/** Following a chain to its end, and moving it on where its own movers are gone: the attached driver. */
import { realClock } from "../../host/index.ts";
import { type JobPlace, taskPlace } from "../../journal/index.ts";
import { advance } from "../advance.ts";
import type { ChainStatus } from "./chain-status.ts";
import { type DriverSign, putUpSign } from "./driver-record.ts";
import { StintError } from "./errors.ts";
import { targetName } from "./job-name.ts";
import { isAtRest, readJob, readJobTasks } from "./job-on-file.ts";
import { worldOf } from "./job-world.ts";
import { ownerUid, type Project } from "./project.ts";
import { chainStatus, jobStatus } from "./status.ts";

export interface WatchOptions {
  /** Ends the watch; the chain goes on. */
  readonly signal?: AbortSignal;
  /** Look at least this often, in ms. Default: 250 (local), 2,000 (slurm); Slurm itself is asked by `timing.poll` only. */
  readonly everyMs?: number;
  /** Only this task of the job; default: all of it. */
  readonly task?: number | null;
  /** Also advance the chain where nobody else does. Default: where the job belongs to this user. */
  readonly drive?: boolean;
}

const LOCAL_MS = 250;
const SLURM_MS = 2_000;

/** Whether a chain in this state changes by itself. */
export function isAtEnd(status: Pick<ChainStatus, "state" | "tasks">): boolean {
  // Of several tasks some may need a person while others go on.
  if (status.tasks !== null) return status.tasks.running + status.tasks.waiting === 0;
  return status.state !== "running" && status.state !== "waiting";
}

/**
 * Yields the status at once and after each look, until the chain is over, held or stranded (for good), or the signal is
 * aborted. Throws JournalError for records that cannot be used.
 */
export async function* watchJob(
  project: Project,
  place: JobPlace,
  options: WatchOptions = {},
): AsyncGenerator<ChainStatus> {
  const tasks = (await readJobTasks(project.folder, place)) ?? [];
  const mine = ownerUid(place.folder) === (process.geteuid?.() ?? 0);
  const drives = (options.drive ?? mine) && tasks.some((task) => !isAtRest(task));
  const driver = drives ? await openDriver(project, place) : null;
  // A look takes its time with the number of tasks.
  const everyMs = options.everyMs ?? (tasks[0]?.spec.scheduler === "slurm" ? SLURM_MS : LOCAL_MS) + 2 * tasks.length;
  try {
    for (;;) {
      const status = await attend(project, place, options.task ?? null, driver);
      yield status;
      if (isAtEnd(status) || isAborted(options)) return;
      await realClock.sleep(everyMs, options.signal);
      if (isAborted(options)) return;
    }
  } finally {
    await driver?.sign?.remove();
  }
}

/** The status after this process has done its part, if one was due. */
async function attend(
  project: Project,
  place: JobPlace,
  index: number | null,
  driver: Driver | null,
): Promise<ChainStatus> {
  const { job, tasks } = await jobStatus(project, place);
  const status = tasks.find(({ task }) => task === index) ?? job;
  if (driver === null || status.state === "over") return status;
  const due = (tasks.length === 0 ? [job] : tasks).filter(needsDriver);
  if (due.length === 0) return status;
  if (realClock.monotonicMs() >= driver.dueAtMs) await driveOnce(project, place, due, driver);
  const now = await chainStatus(project, place, index);
  // Where nobody else moves it this process does, also while it must wait, for example to see a doubtful answer twice.
  if (now.state !== "stranded" || driver.waitsFor === null) return now;
  const counts = now.tasks;
  const tasksNow = counts === null ? null : { ...counts, waiting: counts.waiting + counts.stranded, stranded: 0 };
  return { ...now, tasks: tasksNow, state: "waiting", reason: driver.waitsFor, advice: null };
}

/** What waits for a slot has its movers: whoever ends another task. */
function needsDriver({ state, task, mover, attempt }: ChainStatus): boolean {
  if (state === "running" || state === "over") return false;
  // One that is held has given its slot away, and is a person's affair.
  if (task !== null && state === "held") return false;
  return task === null || state !== "waiting" || (!mover && attempt !== null);
}

export interface WaitOptions extends WatchOptions {
  /** Give up after this long, in ms; default: none. */
  readonly timeoutMs?: number;
}

/** Waits until the chain is over, held or stranded. Throws StintError `not-finished` (75) after `timeoutMs`. */
export async function waitForJob(project: Project, place: JobPlace, options: WaitOptions = {}): Promise<ChainStatus> {
  const endAtMs = realClock.monotonicMs() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
  let last: ChainStatus | null = null;
  for await (const status of watchJob(project, place, options)) {
    last = status;
    if (!isAtEnd(status) && realClock.monotonicMs() >= endAtMs)
      throw new StintError(
        "not-finished",
        `${targetName(project, { place, task: options.task ?? null })} is not finished: ${status.reason ?? status.state}`,
      );
  }
  return last ?? chainStatus(project, place, options.task ?? null);
}

function isAborted({ signal }: WatchOptions): boolean {
  return signal?.aborted === true;
}

interface Driver {
  readonly sign: DriverSign | null;
  dueAtMs: number;
  /** Why the last `advance` had to wait; null: it had not. */
  waitsFor: string | null;
}

async function openDriver(project: Project, place: JobPlace): Promise<Driver> {
  return { sign: await signOrNone(project, place), dueAtMs: 0, waitsFor: null };
}

/** The sign tells others that somebody attends; the chain can be attended without it (disk full, read-only). */
async function signOrNone(project: Project, place: JobPlace): Promise<DriverSign | null> {
  try {
    return await putUpSign(project.folder, place);
  } catch {
    return null;
  }
}

async function driveOnce(
  project: Project,
  place: JobPlace,
  due: readonly ChainStatus[],
  driver: Driver,
): Promise<void> {
  const job = await readJob(project.folder, place);
  if (job === null) return;
  const world = await worldOf(project, place, job.spec);
  let pauseMs = Number.POSITIVE_INFINITY;
  driver.waitsFor = null;
  for (const { task } of due) {
    const outcome = await advance(world, taskPlace(place, task ?? 0));
    if (outcome.kind !== "waiting" || outcome.forSlot === true) continue;
    driver.waitsFor ??= outcome.why;
    pauseMs = Math.min(pauseMs, outcome.lookAgainMs);
  }
  driver.dueAtMs =
    realClock.monotonicMs() + (driver.waitsFor === null ? Math.min(1_000, job.spec.timing.pollMs) : pauseMs);
}
