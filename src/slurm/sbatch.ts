/** The arguments of sbatch and its answer. */
import type { SlurmOptions } from "../core/index.ts";

export interface BatchJob {
  /** Absolute path of the script. */
  readonly script: string;
  /** Absolute; working folder of the script, and where the scheduler's own log goes. */
  readonly attemptFolder: string;
  readonly jobName: string;
  /** An array of this one element; null or absent: no array. */
  readonly arrayIndex?: number | null;
  readonly slurm: SlurmOptions;
  readonly limitMs: number | null;
  /** Start this much later at the earliest; null or ≤ 0: at once. */
  readonly delayMs: number | null;
  /** Ids of jobs that must have ended before, however they end. */
  readonly after: readonly string[];
  /** The user's own, which must hold as well; null: none. */
  readonly dependency?: string | null;
  readonly hold?: boolean;
}

/** What Slurm's script says about a job, in the attempt's folder. */
export const SCHEDULER_LOG = "scheduler.log";

/**
 * The arguments for sbatch. Only what was set is passed: a site's defaults stay in force. The user's own options come
 * first, so that ours, which the chain depends on, win.
 */
export function sbatchArguments(job: BatchJob): readonly string[] {
  const { slurm } = job;
  return [
    ...slurm.sbatch,
    ...option("partition", slurm.partition),
    ...option("account", slurm.account),
    ...option("qos", slurm.qos),
    ...option("cpus-per-task", slurm.cpusPerTask),
    ...option("mem", slurm.memory),
    ...option("nodes", slurm.nodes),
    ...option("exclude", slurm.exclude),
    ...option("time", job.limitMs === null ? null : limitMinutes(job.limitMs)),
    "--parsable",
    "--no-requeue",
    "--open-mode=append",
    `--job-name=${slurm.jobName ?? job.jobName}`,
    ...option("array", job.arrayIndex ?? null),
    `--chdir=${job.attemptFolder}`,
    `--output=${filePattern(`${job.attemptFolder}/${SCHEDULER_LOG}`)}`,
    ...option("dependency", dependencyOf(job)),
    ...(job.delayMs !== null && job.delayMs > 0 ? [`--begin=now+${Math.ceil(job.delayMs / 1000)}`] : []),
    ...(job.hold === true ? ["--hold"] : []),
    job.script,
  ];
}

/** sbatch knows `,` (all) and `?` (any), and never both: behind jobs of the chain the user's alternatives are met already. */
function dependencyOf({ after, dependency = null }: BatchJob): string | null {
  const own = after.length === 0 ? null : `afterany:${after.join(":")}`;
  if (own === null || dependency === null) return own ?? dependency;
  return dependency.includes("?") ? own : `${dependency},${own}`;
}

/** Slurm counts limits in whole minutes and rounds up; 0 would mean "no limit". */
export function limitMinutes(limitMs: number): number {
  return Math.max(1, Math.ceil(limitMs / 60_000));
}

/**
 * A path for sbatch's --output, so that it is taken as it stands. `%` is doubled; but a backslash anywhere switches the
 * patterns off and is itself taken away once, so then the backslashes are doubled instead.
 */
export function filePattern(path: string): string {
  return path.includes("\\") ? path.replaceAll("\\", "\\\\") : path.replaceAll("%", "%%");
}

/** `N` or `N;cluster`, the last line of what `sbatch --parsable` prints; null when it is neither. */
export function parseSbatch(stdout: string): { readonly id: string; readonly cluster: string | null } | null {
  const match = /^(\d+)(?:;(\S+))?$/.exec(stdout.trim().split("\n").at(-1) ?? "");
  return match?.[1] === undefined ? null : { id: match[1], cluster: match[2] ?? null };
}

function option(name: string, value: string | number | null): readonly string[] {
  return value === null ? [] : [`--${name}=${value}`];
}
