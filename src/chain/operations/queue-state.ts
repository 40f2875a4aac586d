/** How an attempt stands in the scheduler's queue, in words. */
import type { Active, AttemptRecords, Ref, Seen } from "../../core/index.ts";
import { isNothing, NEVER_MET, refOf } from "../../core/index.ts";
import { type Chance, pendingReason } from "../../slurm/index.ts";

export interface QueueState {
  readonly attempt: number;
  /** The scheduler's id of the job. */
  readonly id: string;
  readonly partition: string;
  /** The scheduler's own word for why it waits; null: it has given none. */
  readonly code: string | null;
  readonly chance: Chance;
  /** The same in plain words. */
  readonly meaning: string;
  /** What a person can do; null: nothing but wait. */
  readonly todo: string | null;
  /** When the scheduler expects to start it (epoch ms); null: it has not said, or that time has passed. */
  readonly expectedStartAtMs: number | null;
  /** Since when it is in the queue (epoch ms). */
  readonly sinceMs: number | null;
  /** How long it has waited so far, in ms. */
  readonly waitedMs: number | null;
}

/** The lowest attempt that waits in a queue; null: none is seen there. */
export function queueStateOf(
  open: readonly AttemptRecords[],
  seen: ReadonlyMap<Ref, Seen>,
  nowMs: number,
): QueueState | null {
  for (const attempt of open) {
    const ref = isNothing(attempt) ? null : refOf(attempt);
    const answer = ref === null ? undefined : seen.get(ref);
    if (answer?.kind !== "active" || answer.queue === undefined || answer.phase !== "pending") continue;
    return inQueue(attempt.number, answer, nowMs);
  }
  return null;
}

/** The words of one attempt's place in the queue; null: the scheduler shows no such place. */
export function inQueue(number: number, { reason, queue }: Active, nowMs: number): QueueState | null {
  if (queue === undefined) return null;
  const { id, partition, expectedStartAtMs, sinceMs } = queue;
  const { code, chance, meaning, todo } = pendingReason(reason, queue);
  return {
    attempt: number,
    id,
    partition,
    code: code === "" ? null : code,
    chance,
    meaning,
    todo,
    // The controller makes a new guess now and then only: one that has passed says nothing.
    expectedStartAtMs: expectedStartAtMs !== null && expectedStartAtMs > nowMs ? expectedStartAtMs : null,
    sinceMs,
    waitedMs: sinceMs === null ? null : Math.max(0, nowMs - sinceMs),
  };
}

/** `attempt 2 is queued and will never start (PartitionTimeLimit): its limit …`. */
export function queueReason({ attempt, code, chance, meaning }: QueueState): string {
  if (chance === "unknown") return `attempt ${attempt} is queued (${meaning})`;
  return `attempt ${attempt} is queued${CHANCE[chance]}${code === null ? "" : ` (${code})`}: ${meaning}`;
}

/** What to do, with how a setting of the chain is changed; null: nothing but wait. */
export function queueAdvice({ todo, chance, code }: QueueState, name: string): string | null {
  if (todo === null || chance === "will-start") return null;
  // A wish about the beginning is the one setting that a resume does not change.
  if (code === NEVER_MET) return `stint cancel ${name}, then stint submit --again with another --dependency`;
  return /(^|[ :(])--\w/.test(todo) ? `${todo}; a setting is changed by: stint resume ${name} OPTIONS` : todo;
}

const CHANCE: Readonly<Record<Exclude<Chance, "unknown">, string>> = {
  "will-start": "",
  "may-never-start": " and may never start",
  "will-never-start": " and will never start",
};
