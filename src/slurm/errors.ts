/** What the error texts of Slurm's commands mean. */

export type CommandError =
  /** No answer from the controller: nothing is known, and a request may still have been carried out. */
  | "unreachable"
  /** It answers and knows no such job. */
  | "no-such-job"
  /** A clear no that can become a yes: submit limits, a closed partition. */
  | "transient"
  /** A clear no that stays one. */
  | "permanent";

/** Sorts the stderr of sbatch, squeue, scancel or scontrol. */
export function classifyError(stderr: string): CommandError {
  if (UNREACHABLE.test(stderr)) return "unreachable";
  if (/Invalid job id specified/i.test(stderr)) return "no-such-job";
  if (TRANSIENT.test(stderr)) return "transient";
  return "permanent";
}

/** The lines of stderr as one line for a person, without the program's prefix said twice. */
export function errorLine(stderr: string): string {
  const lines = stderr
    .split("\n")
    .map((line) => line.trim().replace(/^(sbatch|squeue|sacct|scancel|scontrol): (error: )?/, ""))
    .filter((line) => line !== "");
  return [...new Set(lines)].join("; ");
}

const UNREACHABLE = new RegExp(
  [
    "Unable to contact slurm controller",
    "Socket timed out",
    "Zero Bytes were transmitted or received",
    "Unexpected message received",
    "Connection (refused|reset|timed out)",
    "connect failure",
    "Transport endpoint is not connected",
    "Communication shutdown",
    "Insane message length",
    "No route to host",
    "controller not responding",
    "controller in standby",
    "Unable to establish (controller machine|configuration source)",
  ].join("|"),
  "i",
);

const TRANSIENT = new RegExp(
  [
    // The detail that sbatch prints before "Job violates accounting/QOS policy", which alone is also said of limits for good.
    "Max(Submit|Jobs)\\w*",
    "Grp(Submit|Jobs)\\w*",
    "MaxSubmitJobs?Per\\w*",
    "temporarily unable to accept job",
    "Resource temporarily unavailable",
    "Cannot allocate memory",
    "partition not available",
    "Munge (encode|decode) failed",
    "Authentication (credential|Failure)",
    "Invalid authentication credential",
    "Protocol authentication error",
    "reconfigur",
    "Unable to (read|write|update) .*state",
    "Job ID.*(exhausted|maximum)",
  ].join("|"),
  "i",
);
