/** Following a chain to its end, and moving it on where its own movers are gone: the attached driver. */
import { realClock } from "../../host/index.ts";
import { type JobPlace, taskPlace } from "../../journal/index.ts";
import { advance } from "../advance.ts";
import { type ChainStatus, readJob } from "./chain-status.ts";
import { StintError } from "./errors.ts";
import { worldOf } from "./job-world.ts";
import { ownerUid, type Project } from "./project.ts";
import { chainStatus } from "./status.ts";

export interface WatchOptions {
  /** Ends the watch; the chain goes on. */
  readonly signal?: AbortSignal;
  /** Look at least this often, in ms. Default: 250 (local), 2,000 (slurm); Slurm itself is asked by `timing.poll` only. */
  readonly everyMs?: number;
  /** Also advance the chain where nobody else does. Default: where the job belongs to this user. */
  readonly drive?: boolean;
}

const LOCAL_MS = 250;
const SLURM_MS = 2_000;

/** Whether a chain in this state changes by itself. */
export function isAtEnd(status: ChainStatus): boolean {
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
  const job = await readJob(project.folder, place);
  const mine = ownerUid(place.folder) === (process.geteuid?.() ?? 0);
  const drive = options.drive ?? mine;
  const everyMs = options.everyMs ?? (job?.spec.scheduler === "slurm" ? SLURM_MS : LOCAL_MS);
  const driver = newDriver();
  for (;;) {
    let status = await chainStatus(project, place);
    if (drive && status.state !== "over" && status.state !== "running" && driver.isDue()) {
      await driveOnce(project, place, driver);
      status = await chainStatus(project, place);
    }
    yield status;
    if (isAtEnd(status) || isAborted(options)) return;
    await realClock.sleep(everyMs, options.signal);
    if (isAborted(options)) return;
  }
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
      throw new StintError("not-finished", `${place.id} is not finished: ${status.reason ?? status.state}`);
  }
  return last ?? chainStatus(project, place);
}

function isAborted({ signal }: WatchOptions): boolean {
  return signal?.aborted === true;
}

interface Driver {
  isDue(): boolean;
  again(afterMs: number): void;
}

function newDriver(): Driver {
  let dueMs = 0;
  return {
    isDue: () => realClock.monotonicMs() >= dueMs,
    again: (afterMs) => {
      dueMs = realClock.monotonicMs() + afterMs;
    },
  };
}

async function driveOnce(project: Project, place: JobPlace, driver: Driver): Promise<void> {
  const job = await readJob(project.folder, place);
  if (job === null) return;
  const world = await worldOf(project, place, job.spec);
  const outcome = await advance(world, taskPlace(place, 0));
  driver.again(outcome.kind === "waiting" ? outcome.lookAgainMs : Math.min(1_000, job.spec.timing.pollMs));
}
