/** From the specification to what is started: argument vector and environment of the application. */
import { type JobSpec, quoteShell } from "../core/index.ts";
import { MARK } from "../schedulers/index.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Text goes to a login bash, as in the seed; a list is started as it stands. */
export function launchArgv(spec: JobSpec): readonly string[] {
  const { command, slurm } = spec;
  const own = command.kind === "shell" ? ["bash", "-lc", command.text] : command.argv;
  if (spec.scheduler !== "slurm") return own;
  const launched = slurm.launch === "srun" ? ["srun", ...slurm.srunArgs, ...own] : own;
  if (slurm.modules.length === 0) return launched;
  // `module` is a function of the login shell; the rest of the words arrive unchanged.
  const load = `module load ${slurm.modules.map(quoteShell).join(" ")} || exit 1\nexec "$@"`;
  return ["bash", "-lc", load, "bash", ...launched];
}

/** What is set later stands: the environment of the job, the user's `env`, the contract, the mark of the attempt. */
export function launchEnvironment(
  base: Environment,
  spec: JobSpec,
  contract: Environment,
  mark: string,
): Readonly<Record<string, string>> {
  const all = { ...without(base), ...spec.env, ...contract, [MARK]: mark };
  // Never name by name into an object: a variable may be called __proto__.
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Facts of another attempt: an application that submits a job must not hand on its own. */
function without(base: Environment): Environment {
  return Object.fromEntries(Object.entries(base).filter(([name]) => !OF_AN_ATTEMPT.test(name)));
}

const OF_AN_ATTEMPT = /^STINT_(LOCAL_.*|MARK|JOB_ID|TASK_ID|TASK_INDEX|TASK_COUNT|ATTEMPT|DEADLINE|RESUME)$/;
