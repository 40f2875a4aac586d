/** Puts the scheduler's accounts of ended attempts on file, before the scheduler forgets them. Nothing waits for it. */
import {
  type Accounting,
  type AccountRow,
  type AttemptRecords,
  RECORD_VERSION,
  type Ref,
  refsOf,
} from "../core/index.ts";
import {
  type AttemptPlace,
  attemptNumbers,
  attemptPlace,
  readAccounting,
  readAttempt,
  type TaskPlace,
  writeAccounting,
} from "../journal/index.ts";
import type { AccountAnswer, AccountOptions } from "../schedulers/index.ts";
import { identitiesOf } from "./job-identity.ts";
import type { World } from "./world.ts";

/** What has not come of an account after this will not come any more. */
export const ACCOUNTS_COME_WITHIN_MS = 7 * 86_400_000;

export interface GatherOptions {
  /** Only attempts below this number. Default: all. */
  readonly below?: number;
  /** Only the newest so many of them. Default: all. */
  readonly newest?: number;
  /** Only what was settled at most so long ago, in ms: what has not come by then will not come any more. Default: all. */
  readonly settledWithinMs?: number;
  /** The scheduler is given up after this, in ms. Default: its own patience. */
  readonly withinMs?: number;
}

export interface MissingAccount {
  readonly attempt: number;
  /** `pending`: not final yet; `none`: no accounts are kept of it; `unwritten`: the job folder did not take it. */
  readonly kind: "pending" | "unreachable" | "none" | "unwritten";
  readonly why: string;
}

export interface GatherResult {
  /** Attempts whose account was put on file now. */
  readonly gathered: readonly number[];
  /** Those that are settled, had a job, and have no account on file; asked again the next time. */
  readonly missing: readonly MissingAccount[];
}

/** One question to the scheduler, for all of them together; none where all is on file. Throws where the folder can't be read. */
export async function gatherTask(
  world: Pick<World, "folder" | "scheduler" | "clock">,
  task: TaskPlace,
  options: GatherOptions = {},
): Promise<GatherResult> {
  const wanted = await withoutAccount(world, task, options);
  if (wanted.length === 0) return { gathered: [], missing: [] };
  const answers = await askFor(
    world,
    wanted.flatMap(({ records }) => refsOf(records)),
    {
      withinMs: options.withinMs,
      // Job numbers are given away again after years or a reset, and accounting then shows the old job beside the new one.
      identities: identitiesOf(
        task,
        wanted.map(({ records }) => records),
      ),
    },
  );
  const gathered: number[] = [];
  const missing: MissingAccount[] = [];
  for (const { place, records } of wanted) {
    const answer = together(records, answers);
    const trouble = answer.kind === "final" ? await put(world, place, answer.rows) : troubleOf(answer);
    if (trouble === null) gathered.push(place.number);
    else missing.push({ attempt: place.number, ...trouble });
  }
  return { gathered, missing };
}

interface Wanted {
  readonly place: AttemptPlace;
  readonly records: AttemptRecords;
}

async function withoutAccount(
  { folder, clock }: Pick<World, "folder" | "clock">,
  task: TaskPlace,
  { below = Number.POSITIVE_INFINITY, newest = Number.POSITIVE_INFINITY, settledWithinMs }: GatherOptions,
): Promise<readonly Wanted[]> {
  const numbers = (await attemptNumbers(folder, task)).filter((number) => number < below);
  const wanted: Wanted[] = [];
  for (const number of numbers.slice(-Math.min(newest, numbers.length))) {
    const place = attemptPlace(task, number);
    if ((await readAccounting(folder, place)) !== null) continue;
    const records = await readAttempt(folder, place);
    if (records.settled === null || refsOf(records).length === 0) continue;
    if (settledWithinMs !== undefined && clock.nowMs() - records.settled.atMs > settledWithinMs) continue;
    wanted.push({ place, records });
  }
  return wanted;
}

async function askFor(
  { scheduler }: Pick<World, "scheduler">,
  refs: readonly Ref[],
  options: AccountOptions,
): Promise<ReadonlyMap<Ref, AccountAnswer>> {
  try {
    return await scheduler.account(refs, options);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return new Map(refs.map((ref) => [ref, { kind: "unreachable", error: why }]));
  }
}

/** All jobs that carried the attempt: its account is complete when each has its own, or never will. */
function together(records: AttemptRecords, answers: ReadonlyMap<Ref, AccountAnswer>): AccountAnswer {
  const all = refsOf(records).map((ref): AccountAnswer => answers.get(ref) ?? { kind: "pending", why: "not asked" });
  for (const kind of ["unreachable", "pending"] as const) {
    const open = all.find((answer) => answer.kind === kind);
    if (open !== undefined) return open;
  }
  const rows = all.flatMap((answer) => (answer.kind === "final" ? answer.rows : []));
  if (rows.length > 0) return { kind: "final", rows };
  return all.find((answer) => answer.kind === "none") ?? { kind: "pending", why: "no row of it yet" };
}

async function put(
  { folder, scheduler, clock }: Pick<World, "folder" | "scheduler" | "clock">,
  place: AttemptPlace,
  rows: readonly AccountRow[],
): Promise<Omit<MissingAccount, "attempt"> | null> {
  const accounting: Accounting = {
    version: RECORD_VERSION,
    scheduler: scheduler.name,
    gatheredAtMs: clock.nowMs(),
    final: true,
    rows,
  };
  try {
    await writeAccounting(folder, place, accounting);
    return null;
  } catch (error) {
    // A full disk is met in many places, and everywhere else it matters more: the account can be asked for again.
    return { kind: "unwritten", why: error instanceof Error ? error.message : String(error) };
  }
}

function troubleOf(answer: Exclude<AccountAnswer, { kind: "final" }>): Omit<MissingAccount, "attempt"> {
  return { kind: answer.kind, why: answer.kind === "unreachable" ? answer.error : answer.why };
}
