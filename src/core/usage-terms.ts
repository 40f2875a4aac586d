/** What lies between ledger A (tasks) and ledger B (samples): each cause by its own rule, from its own records (law 7). */
import { compareText } from "./compare-text.ts";
import type { TimelineCause } from "./task-timeline.ts";

/** Causes that concern a task as a whole: its sampled time counts in B, and nothing of it in A. */
export type TaskCause =
  | "in-flight"
  | "without-end"
  | "without-start"
  | "filtered-state"
  | "not-positive"
  | "without-task"
  /** B is rounded to whole milliseconds. */
  | "fractions";

export type CauseId = TimelineCause | TaskCause;

/** In the order in which they are shown; the last three are missing records and no explanation. */
export const CAUSES: readonly CauseId[] = [
  "before-first",
  "between",
  "after-last",
  "lead-in",
  "tail",
  "one-sample",
  "no-samples",
  "overlap",
  "outside",
  "clock",
  "in-flight",
  "without-end",
  "without-start",
  "filtered-state",
  "not-positive",
  "without-task",
  "fractions",
  "missing-end",
  "missing-start",
  "missing-attempt",
];

const MISSING: ReadonlySet<CauseId> = new Set(["missing-end", "missing-start", "missing-attempt"]);

/** One record that a term is made of. */
export interface TermRecord {
  readonly taskId: string;
  readonly attempt: number | null;
  /** What it adds to A − B. */
  readonly ms: number;
}

export interface Term {
  readonly id: CauseId;
  /** What it adds to A − B. */
  readonly ms: bigint;
  /** In order of task and attempt. */
  readonly from: readonly TermRecord[];
}

export interface Explanation {
  readonly tasksMs: bigint;
  readonly samplesMs: bigint;
  /** A − B. */
  readonly differenceMs: bigint;
  /** All of `CAUSES` but the missing ones, those of 0 ms too. */
  readonly causes: readonly Term[];
  /** A − B − Σ causes. */
  readonly residualMs: bigint;
  /** Where records are missing, and how much of the residual each kind is. */
  readonly missing: readonly Term[];
  /** Residual − Σ missing: not 0 would be an error of ours. */
  readonly unexplainedMs: bigint;
}

export type CauseRecord = TermRecord & { readonly cause: CauseId };

export function explanationOf(tasksMs: bigint, samplesMs: bigint, records: readonly CauseRecord[]): Explanation {
  const byCause = new Map<CauseId, TermRecord[]>(CAUSES.map((id) => [id, []]));
  for (const { cause, taskId, attempt, ms } of records) byCause.get(cause)?.push({ taskId, attempt, ms });
  const terms = CAUSES.map((id): Term => {
    const from = (byCause.get(id) ?? []).sort(inOrder);
    return { id, ms: from.reduce((sum, { ms }) => sum + BigInt(ms), 0n), from };
  });
  const causes = terms.filter(({ id }) => !MISSING.has(id));
  const missing = terms.filter(({ id }) => MISSING.has(id));
  const differenceMs = tasksMs - samplesMs;
  const residualMs = differenceMs - sumOf(causes);
  return { tasksMs, samplesMs, differenceMs, causes, residualMs, missing, unexplainedMs: residualMs - sumOf(missing) };
}

function sumOf(terms: readonly Term[]): bigint {
  return terms.reduce((sum, { ms }) => sum + ms, 0n);
}

function inOrder(a: TermRecord, b: TermRecord): number {
  return compareText(a.taskId, b.taskId) || (a.attempt ?? -1) - (b.attempt ?? -1) || a.ms - b.ms;
}
