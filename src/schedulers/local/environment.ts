/** What the processes of a local attempt tell each other through their environment. */
import { definedVariables, type Ref } from "../../core/index.ts";
import type { MemberQuery } from "../../host/index.ts";
import { environmentOutsideJob } from "../../slurm/index.ts";
import type { Submission } from "../scheduler.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Every process of an attempt carries it: `<job uuid>/<task>/<attempt>`. */
export const MARK = "STINT_MARK";
/** Beside it in the application: the Slurm job that this was started in, empty outside of any. */
export const MARK_JOB = "STINT_MARK_JOB";
/** For the shepherd: names of the attempts that it waits for, with blanks between them. */
export const LOCAL_AFTER = "STINT_LOCAL_AFTER";
/** For the shepherd: not before this, epoch milliseconds. */
export const LOCAL_BEGIN = "STINT_LOCAL_BEGIN_MS";
/** For the shepherd: how long the attempt may take from its start, so that no file is read before that. */
export const LOCAL_LIMIT = "STINT_LOCAL_LIMIT_MS";
/** For the shepherd: when the allocation ends that it runs in, epoch milliseconds; the attempt is over before that. */
export const LOCAL_ALLOCATION_END = "STINT_LOCAL_ALLOCATION_END_MS";
/** For the runner: CPUs of that allocation on this node, for information. */
export const LOCAL_CPUS = "STINT_LOCAL_CPUS";
/** For the shepherd: from TERM to KILL. */
export const LOCAL_KILL_WAIT = "STINT_LOCAL_KILL_WAIT_MS";
/** For the runner: the scheduler's name of its attempt, and its end on this boot's monotonic clock, which nobody can set. */
export const LOCAL_REF = "STINT_LOCAL_REF";
export const LOCAL_LIMIT_END = "STINT_LOCAL_LIMIT_END_MONOTONIC_MS";
/** For a runner that was started before its turn: it waits for its shepherd's word on standard input. */
export const LOCAL_STANDBY = "STINT_LOCAL_STANDBY";

/** The shepherd's environment: the one saved at submit without what would change our own programs. */
export function shepherdEnvironment(submission: Submission, mark: string): Readonly<Record<string, string>> {
  const environment: Record<string, string> = {
    ...withoutLocal(environmentOutsideJob(submission.environment)),
    // Another value than the mark of the attempt that we are started from: nothing of this one belongs to that one.
    [MARK]: mark,
    [LOCAL_KILL_WAIT]: String(submission.spec.killWaitMs),
  };
  if (submission.after.length > 0) environment[LOCAL_AFTER] = submission.after.join(" ");
  if (submission.notBeforeMs !== null) environment[LOCAL_BEGIN] = String(submission.notBeforeMs);
  const { limitMs, allocationEndAtMs, allocationCpus } = submission.spec;
  if (limitMs !== null) environment[LOCAL_LIMIT] = String(limitMs);
  // Absent in a specification of an older version.
  if (allocationEndAtMs != null) environment[LOCAL_ALLOCATION_END] = String(allocationEndAtMs);
  if (allocationCpus != null) environment[LOCAL_CPUS] = String(allocationCpus);
  return environment;
}

/** The runner's environment, from its shepherd's. */
export function runnerEnvironment(
  shepherd: Environment,
  ref: Ref,
  limitEndMonotonicMs: number | null,
): Readonly<Record<string, string>> {
  const environment: Record<string, string> = { ...withoutLocal(shepherd), [LOCAL_REF]: ref };
  const cpus = shepherd[LOCAL_CPUS];
  if (cpus !== undefined) environment[LOCAL_CPUS] = cpus;
  if (limitEndMonotonicMs !== null) environment[LOCAL_LIMIT_END] = String(Math.round(limitEndMonotonicMs));
  return environment;
}

/** NODE_OPTIONS, PERL5OPT … are meant for the user's programs; the application gets them from the environment on file. */
function withoutLocal(environment: Environment): Readonly<Record<string, string>> {
  return definedVariables(environment, (name) => !/^(STINT_LOCAL_|NODE_|PERL5)/.test(name));
}

/** By what a process shows that it belongs to the attempt with this mark, and not to a Slurm job that was submitted from it. */
export function markQuery(value: string): NonNullable<MemberQuery["mark"]> {
  return { name: MARK, value, anchor: { now: "SLURM_JOB_ID", origin: MARK_JOB } };
}
