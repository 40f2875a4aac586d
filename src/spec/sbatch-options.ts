/** sbatch's own options beyond our settings: those that are handed on, and those that a chain cannot have. */
import type { FlagOption } from "./flag-option.ts";

/** Options that are handed on to sbatch as they are. Anything else goes through `--sbatch-arg`. */
export const handedOn: readonly FlagOption[] = [
  ["--ntasks", "-n"],
  ["--ntasks-per-node"],
  ["--constraint", "-C"],
  ["--gpus", "-G"],
  ["--gpus-per-node"],
  ["--gpus-per-task"],
  ["--gres"],
  ["--mem-per-cpu"],
  ["--mem-per-gpu"],
  ["--nodelist", "-w"],
  ["--licenses", "-L"],
  ["--reservation"],
  ["--mail-type"],
  ["--mail-user"],
  ["--threads-per-core"],
  ["--distribution", "-m"],
  ["--tmp"],
  ["--comment"],
].map((flags) => ({
  key: "slurm.sbatch",
  flags,
  takes: "list",
  placeholder: "VALUE",
  help: "",
  group: "handed on to sbatch",
  handOnAs: flags[0] ?? "",
}));

/** Options of sbatch with which an attempt would not be what the chain takes it for: the reason, and what to do instead. */
export const refusedFlags: ReadonlyMap<string, string> = new Map([
  ["--dependency", "a chain orders its own attempts; wait for the other job with: stint wait JOB"],
  ["-d", "(--dependency) a chain orders its own attempts; wait for the other job with: stint wait JOB"],
  ["--requeue", "each attempt is a job of its own, so that no elapsed time is overwritten; leave it out"],
  ["--signal", "the runner itself sends TERM before the end; say how early with --margin"],
  ["--clusters", "only the cluster of this host can be asked how a job stands; submit on a host of the other one"],
  ["-M", "(--clusters) only the cluster of this host can be asked how a job stands; submit on a host of the other one"],
  ["--wrap", "write the command behind --"],
  ["--wait", "follow the job with: stint run, or stint wait JOB"],
  ["-W", "(--wait) follow the job with: stint run, or stint wait JOB"],
  ["--test-only", "see what would be submitted with --dry-run"],
  ["--parsable", "use --json"],
  ["--export", "give variables with --env NAME=VALUE"],
  ["--open-mode", "output is always appended"],
]);

/** Options with a setting of their own, which sbatch would see twice. */
const OWN_SETTING: ReadonlyMap<string, string> = new Map([
  ["--time", "limit"],
  ["-t", "limit"],
  ["--job-name", "name"],
  ["-J", "name"],
  ["--output", "output"],
  ["-o", "output"],
  ["--error", "error"],
  ["-e", "error"],
  ["--chdir", "cwd"],
  ["-D", "cwd"],
  ["--array", "array"],
  ["-a", "array"],
  ["--begin", "none: a chain decides when an attempt may begin"],
  ["-b", "none: a chain decides when an attempt may begin"],
]);

/**
 * Null when the argument may be handed on to sbatch; else one line that says why not. sbatch takes every beginning of a long
 * option for the whole (`--arr`), so the beginnings are refused too.
 */
export function refusedSbatchArgument(argument: string): string | null {
  const given = /^(--[^=\s]+|-[A-Za-z])/.exec(argument)?.[1];
  if (given === undefined) return null;
  const option = wholeOption(given);
  const reason = refusedFlags.get(option);
  if (reason !== undefined) return `${option} cannot be handed on to sbatch: ${reason}`;
  const setting = OWN_SETTING.get(option);
  return setting === undefined ? null : `${option} cannot be handed on to sbatch; the setting for it is ${setting}`;
}

/** The refused option that this is, or is the beginning of; else as given. No whole option of sbatch is such a beginning. */
function wholeOption(given: string): string {
  if (!given.startsWith("--") || refusedFlags.has(given) || OWN_SETTING.has(given)) return given;
  return [...refusedFlags.keys(), ...OWN_SETTING.keys()].find((option) => option.startsWith(given)) ?? given;
}
