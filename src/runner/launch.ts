/** From the specification to what is started: argument vector and environment of the application. */
import { type Command, definedVariables, isOfAnAttempt, type JobSpec, quoteShell } from "../core/index.ts";
import { type JobPlace, scriptCopy } from "../journal/index.ts";
import { MARK, MARK_JOB } from "../schedulers/index.ts";
import { environmentOutsideAllocation } from "../slurm/index.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Text goes to a login bash, as in the seed; a list is started as it stands; of a batch script the copy in the job folder is
 * run by the program of its first line.
 */
export function launchArgv(spec: JobSpec, job: JobPlace): readonly string[] {
  const { slurm } = spec;
  const own = ownArgv(spec.command, job);
  if (spec.scheduler !== "slurm") return own;
  const launched = slurm.launch === "srun" ? ["srun", ...slurm.srunArgs, ...own] : own;
  if (slurm.modules.length === 0) return launched;
  // `module` is a function of the login shell; the rest of the words arrive unchanged.
  const load = `module load ${slurm.modules.map(quoteShell).join(" ")} || exit 1\nexec "$@"`;
  return ["bash", "-lc", load, "bash", ...launched];
}

function ownArgv(command: Command, job: JobPlace): readonly string[] {
  switch (command.kind) {
    case "shell":
      return ["bash", "-lc", command.text];
    case "argv":
      return command.argv;
    case "batch":
      return [...command.interpreter, scriptCopy(job, command), ...command.args];
  }
}

/** What is set later stands: the environment of the job, the user's `env`, the contract, the mark of the attempt. */
export function launchEnvironment(
  base: Environment,
  spec: JobSpec,
  contract: Environment,
  mark: string,
): Readonly<Record<string, string>> {
  const given = whereItIs(base, spec);
  // sbatch hands all of this on to a job of its own: beside the mark stands the job that the mark is good for.
  const marks = { [MARK]: mark, [MARK_JOB]: given.SLURM_JOB_ID ?? "" };
  return definedVariables({ ...without(given), ...spec.env, ...contract, ...marks });
}

/** Saved in one allocation, and the chain goes on in another one or in none: `srun` would ask for a job that is over. */
function whereItIs(base: Environment, { scheduler, allocationId }: JobSpec): Environment {
  const savedIn = base.SLURM_JOB_ID ?? base.SLURM_JOBID ?? "";
  // Undefined in a specification of an older version: not known.
  const isElsewhere = scheduler === "local" && savedIn !== "" && allocationId !== undefined && allocationId !== savedIn;
  return isElsewhere ? environmentOutsideAllocation(base) : base;
}

/** Facts of another attempt: an application that submits a job must not hand on its own. */
function without(base: Environment): Environment {
  return definedVariables(base, (name) => !isOfAnAttempt(name));
}
