/** A queued local attempt: its shepherd waits until the earlier ones are over and its time has come. */
import { join } from "node:path";
import { localAttempts } from "../chain/index.ts";
import type { Go, Ref, Settled } from "../core/index.ts";
import {
  aliveHere,
  type Folder,
  type FolderHints,
  findMembers,
  folderHints,
  realClock,
  sameMachine,
  thisMachine,
} from "../host/index.ts";
import { type AttemptPlace, checkHome, readRecord } from "../journal/index.ts";
import {
  LOCAL_AFTER,
  LOCAL_BEGIN,
  type LocalAttempt,
  memberRunning,
  parseLocalRef,
  queryOf,
  readLocalRecord,
} from "../schedulers/index.ts";
import type { Asked } from "./asked.ts";
import { isHopeless } from "./own-job.ts";
import type { Home, Pen } from "./shepherd-pen.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A process that is gone is seen after this; files are read less often. */
const LOOK_MS = 200;
const READ_MS = 2_000;

/** What this attempt must wait for; null: it may start at once. */
export interface Turn {
  readonly after: readonly Ref[];
  readonly beginAtMs: number | null;
}

export function turnOf(environment: Environment): Turn | null {
  const after = (environment[LOCAL_AFTER] ?? "").split(" ").filter((ref) => ref !== "");
  const begin = environment[LOCAL_BEGIN];
  const beginAtMs = begin === undefined ? null : Number(begin);
  return after.length === 0 && (beginAtMs === null || beginAtMs <= realClock.nowMs()) ? null : { after, beginAtMs };
}

/**
 * Waits. "left": it was taken back, or asked to end, before its turn came; "twin": another shepherd has the attempt.
 * `onNext` is called when no more than one earlier attempt is left to wait for, perhaps several times.
 */
export async function waitForTurn(
  pen: Pen,
  { place }: Home,
  turn: Turn,
  asked: Asked,
  onNext: () => void,
): Promise<"turn" | "left" | "twin"> {
  const { folder } = pen;
  // The wait is counted from now: a clock that is set meanwhile neither shortens nor prolongs it.
  let beginMs = realClock.monotonicMs() + Math.max(0, (turn.beginAtMs ?? 0) - realClock.nowMs());
  let waiting: readonly Earlier[] | null = null;
  let readMs = Number.NEGATIVE_INFINITY;
  let hints: FolderHints | null = null;
  try {
    for (;;) {
      if (asked.count() > 0) return "left";
      // Asked for before the look: what changes after it is heard.
      const hint = hints?.signal();
      const now = realClock.monotonicMs();
      const reads = now - readMs >= READ_MS;
      if (reads) {
        readMs = now;
        try {
          const go = await readRecord<Go>(folder, join(place.folder, "go.json"));
          if (await pen.isTwin()) return "twin";
          if (go?.what === "withdrawn") return "left";
          waiting ??= await earlierOnes(folder, place, turn.after);
          hints ??= folderHints([place.folder, ...waiting.map(({ attempt }) => attempt.folder)]);
        } catch (error) {
          // The job was removed.
          if (isHopeless(error)) return "left";
          // The folder may answer again; until then nothing can be started anyway.
          console.error(`stint shepherd: ${error instanceof Error ? error.message : String(error)}`);
        }
      }
      if (waiting !== null) {
        const look = await lookAtEarlier(folder, waiting, reads);
        waiting = look.still;
        // Queued before it was decided to try again later: that time is not taken from its limit.
        if (look.notBeforeMs !== null)
          beginMs = Math.max(beginMs, realClock.monotonicMs() + look.notBeforeMs - realClock.nowMs());
        if (look.readAtOnce) readMs = Number.NEGATIVE_INFINITY;
        if (waiting.length <= 1) onNext();
        if (waiting.length === 0 && realClock.monotonicMs() >= beginMs) return "turn";
      }
      const restMs = waiting?.length === 0 ? beginMs - realClock.monotonicMs() : LOOK_MS;
      const wake = hint === undefined ? asked.signal : AbortSignal.any([asked.signal, hint]);
      if (readMs !== Number.NEGATIVE_INFINITY) await realClock.sleep(Math.max(1, Math.min(restMs, READ_MS)), wake);
      if (hint?.aborted === true) readMs = Number.NEGATIVE_INFINITY;
    }
  } finally {
    hints?.close();
  }
}

interface Look {
  /** Those that must still be waited for. */
  readonly still: readonly Earlier[];
  /** The end of a back-off that was decided about one of the others, in epoch ms; null: none was. */
  readonly notBeforeMs: number | null;
  /** One is gone, and what was decided about it has not been read. */
  readonly readAtOnce: boolean;
}

async function lookAtEarlier(folder: Folder, waiting: readonly Earlier[], reads: boolean): Promise<Look> {
  const still: Earlier[] = [];
  let notBeforeMs: number | null = null;
  let readAtOnce = false;
  for (const one of waiting) {
    const decision = reads ? await goingOn(folder, one) : null;
    if (decision?.kind === "retry") notBeforeMs = Math.max(notBeforeMs ?? 0, decision.notBeforeMs);
    if (decision !== null) continue;
    if (await isLiving(folder, one, reads)) still.push(one);
    else if (!reads) {
      // Gone; what was decided about it is read before anything starts.
      still.push(one);
      readAtOnce = true;
    }
  }
  return { still, notBeforeMs, readAtOnce };
}

interface Earlier {
  readonly ref: Ref;
  readonly attempt: LocalAttempt;
  readonly pid: number;
  readonly startTicks: number;
}

/** Those that can be seen from here. A dependency saves work and proves nothing: the rest is the body's to prove. */
async function earlierOnes(folder: Folder, place: AttemptPlace, refs: readonly Ref[]): Promise<readonly Earlier[]> {
  const { uuid } = await checkHome(folder, place.task.job);
  const attempts = localAttempts(folder, place.task.job, uuid, 0, place.task.index);
  const found: Earlier[] = [];
  for (const ref of refs) {
    const local = parseLocalRef(ref);
    const attempt = await attempts.attemptOf(ref);
    if (local === null || attempt === null || local.bootId !== thisMachine().bootId) continue;
    if (attempt.machine !== null && sameMachine(attempt.machine, thisMachine())) found.push({ ref, attempt, ...local });
  }
  return found;
}

/**
 * The decision of one that is settled, where the chain goes on: nothing of its application is left, and its runner and shepherd may
 * take their time to leave. Null: not settled, or the chain ends there, and this attempt is taken back.
 */
async function goingOn(folder: Folder, { attempt }: Earlier): Promise<Settled["decision"] | null> {
  // A folder that does not answer is asked again.
  const settled = await readRecord<Settled>(folder, join(attempt.folder, "settled.json")).catch(() => null);
  const decision = settled?.decision ?? null;
  return decision?.kind === "continue" || decision?.kind === "retry" ? decision : null;
}

async function isLiving(folder: Folder, one: Earlier, reads: boolean): Promise<boolean> {
  const { ref, attempt, pid, startTicks } = one;
  if (aliveHere({ ...thisMachine(), pid, startTicks }) === "alive") {
    // Its last word counts: it may stay to move the chain on.
    const record = reads ? await readLocalRecord(folder, attempt.folder).catch(() => null) : null;
    return record?.ref !== ref || record.phase !== "over";
  }
  // Without its shepherd an attempt goes on as long as its runner does.
  return memberRunning(findMembers(queryOf(attempt)), "body", attempt.mark) !== null;
}
