/**
 * Whether what Slurm says of a number is about our own job: a controller that lost its state begins its numbers anew, numbers go
 * round, and accounting keeps the jobs of years.
 */
import type { JobIdentity } from "../scheduler.ts";

/** A number that was given away again: submitted after ours, and with another script. A requeue keeps the script. */
export function isLaterJob(
  row: { readonly command: string; readonly submitAtMs: number | null },
  identity: JobIdentity | undefined,
): boolean {
  if (identity === undefined || row.command === identity.script) return false;
  return row.submitAtMs !== null && row.submitAtMs > identity.submittedUntilMs;
}

/** One that bore the number before: ours cannot have been submitted before it was claimed. */
export function isEarlierJob(submitAtMs: number | null, identity: JobIdentity | undefined): boolean {
  const fromMs = identity?.submittedFromMs ?? null;
  return fromMs !== null && submitAtMs !== null && submitAtMs < fromMs - CLOCKS_MS;
}

/** More than the clocks of two machines of a cluster differ. */
const CLOCKS_MS = 3_600_000;
