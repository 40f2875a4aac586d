/** What a job tree used: both ledgers, and what lies between them. */
import {
  asOf,
  type CpuFigures,
  countedJobs,
  cpuFigures,
  type JobTree,
  jobOfTask,
  type LedgerOptions,
  type Ledgers,
  ledgersOf,
  type UsageGroup,
  type UsageRows,
  usageGroups,
} from "../core/index.ts";
import type { SourceKind, UsageSource } from "./source.ts";

export interface UsageRequest {
  readonly source: UsageSource;
  /** `/user/name[/child…]`: this job and all below it. */
  readonly job: string;
  /** Ledger A: tasks of every state, not only those that succeeded. */
  readonly includeFailed?: boolean;
  /** Tasks of jobs with children, too. */
  readonly innerJobs?: boolean;
  /** Epoch ms; default: now by the source's own clock. One instant for all. */
  readonly asOfMs?: number;
  /** Integrate over the single samples, too. */
  readonly integral?: boolean;
  readonly by?: "leaf" | "user";
}

export interface UsageReport {
  readonly source: { readonly kind: SourceKind; readonly name: string };
  readonly job: string;
  readonly asOfMs: number;
  readonly includeFailed: boolean;
  readonly innerJobs: boolean;
  readonly by: "leaf" | "user";
  readonly tree: JobTree;
  readonly ledgers: Ledgers;
  readonly groups: readonly UsageGroup[];
  /** CPU of the counted jobs by each way of integrating, with bounds; null: not asked for, or no attempt tells. */
  readonly cpu: CpuFigures | null;
  /** What they were made from. */
  readonly rows: UsageRows;
}

/** Throws UsageError. The source stays open. */
export async function usage(request: UsageRequest): Promise<UsageReport> {
  const { source, job, includeFailed = false, innerJobs = false, integral = false, by = "leaf" } = request;
  const asOfMs = request.asOfMs ?? (await source.nowMs());
  const tree = await source.tree(job, { asOfMs });
  const tasks = (await source.tasks(tree, { asOfMs })).map((task) => asOf(task, asOfMs));
  const attempts = (await source.attempts(tree, { asOfMs })).map((attempt) => asOf(attempt, asOfMs));
  const spans = await source.spans(tree, { asOfMs, integral });
  const rows = { tree, tasks, attempts, spans };
  const options = { includeFailed, innerJobs, firstAttempt: source.firstAttempt };
  return {
    source: { kind: source.kind, name: source.name },
    job,
    asOfMs,
    includeFailed,
    innerJobs,
    by,
    tree,
    ledgers: ledgersOf(rows, options),
    groups: usageGroups(rows, options, by),
    cpu: integral ? cpuOf(rows, options) : null,
    rows,
  };
}

function cpuOf({ tree, spans }: UsageRows, options: LedgerOptions): CpuFigures | null {
  const counted = countedJobs(tree, options);
  const asked = new Map(tree.jobs.map(({ jobId, requestedCpuMillicores }) => [jobId, requestedCpuMillicores]));
  return cpuFigures(
    spans.filter(({ taskId }) => counted.has(jobOfTask(taskId))),
    ({ taskId }) => {
      const millicores = asked.get(jobOfTask(taskId)) ?? null;
      return millicores === null || millicores === 0 ? null : millicores / 1000;
    },
  );
}
