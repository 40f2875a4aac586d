/** The picked values put together: the spec of a job, and of a submitter job. */
import { isAbsolute, join, normalize } from "node:path";
import type { Command, JobSpec } from "../core/index.ts";
import {
  countedTasks,
  formatIndices,
  nameFromCommand,
  RECORD_VERSION,
  type SchedulerName,
  suggestName,
  type TaskPlan,
} from "../core/index.ts";
import { settings } from "./option-table.ts";
import type { Picker } from "./picker.ts";
import type { ResolveInput } from "./resolve.ts";

/** Settings of the submitter job; they count only in mode submitter. */
export interface SubmitterSpec {
  readonly limitMs: number | null;
  readonly marginMs: number;
  readonly memory: string;
}

/** What is decided before the rest: defaults and paths follow from it. */
export interface Chosen {
  readonly scheduler: SchedulerName;
  readonly command: Command;
  readonly cwd: string;
  readonly env: { readonly variables: Readonly<Record<string, string>>; readonly checkpointEvery: string | null };
}

export function specOf(
  picker: Picker,
  input: Pick<ResolveInput, "file" | "node" | "runtime" | "script">,
  { scheduler, command, cwd, env }: Chosen,
): JobSpec {
  const limit = picker.optional(settings.limit);
  const path = picker.optional(settings.checkpointPath);
  const output = picker.optional(settings.output);
  const error = picker.optional(settings.error);
  return {
    version: RECORD_VERSION,
    name: picker.optional(settings.name) ?? defaultName(input, command),
    command,
    tasks: tasksOf(picker),
    cwd,
    checkpoint: path === null ? null : { path, progress: picker.required(settings.progress) },
    total: picker.optional(settings.total),
    limitMs: finite(limit),
    marginMs: picker.required(settings.margin),
    scheduler,
    // Where it is typed is looked at afterwards (withAllocation).
    allocationEndAtMs: null,
    allocationCpus: null,
    mode: picker.required(settings.mode),
    ahead: picker.required(settings.ahead),
    budgets: {
      failures: picker.required(settings.failures),
      stalled: picker.required(settings.stalled),
      preemptions: picker.required(settings.preemptions),
      infrastructure: picker.required(settings.infrastructure),
      neverRan: picker.required(settings.neverRan),
      inARow: picker.required(settings.inARow),
      attempts: picker.required(settings.attempts),
      wallMs: picker.required(settings.wall),
    },
    backoffFirstMs: picker.required(settings.backoffFirst),
    backoffMaxMs: picker.required(settings.backoffMax),
    sampleIntervalMs: picker.optional(settings.sampleInterval),
    killWaitMs: picker.required(settings.killWait),
    termTo: picker.required(settings.termTo),
    savedExitCodes: picker.required(settings.savedExits),
    env: env.variables,
    checkpointEvery: env.checkpointEvery,
    output: {
      stdout: output === null ? null : absolute(cwd, output),
      stderr: error === null ? null : absolute(cwd, error),
    },
    node: input.node,
    runtime: input.runtime,
    slurm: {
      partition: picker.optional(settings.partition),
      account: picker.optional(settings.account),
      qos: picker.optional(settings.qos),
      cpusPerTask: picker.optional(settings.cpusPerTask),
      memory: picker.optional(settings.mem),
      nodes: picker.optional(settings.nodes),
      exclude: picker.optional(settings.exclude),
      // Without a limit of ours sbatch would take the partition's default; UNLIMITED has to be said.
      sbatch: [
        ...picker.joined(settings.sbatch),
        ...(scheduler === "slurm" && limit === "unlimited" ? ["--time=UNLIMITED"] : []),
      ],
      launch: picker.required(settings.launch),
      srunArgs: picker.optional(settings.srunArgs) ?? [],
      modules: picker.optional(settings.modules) ?? [],
    },
    timing: {
      proofWaitMs: picker.required(settings.proofWait),
      doubtfulTwiceMs: picker.required(settings.doubtfulTwice),
      nodesBackMs: picker.required(settings.nodesBack),
      heartbeatSilentMs: picker.required(settings.heartbeatSilent),
      fenceMs: picker.required(settings.fence),
      unclearMs: picker.required(settings.unclear),
      pollMs: picker.required(settings.poll),
    },
  };
}

/** A `--parallel` outweighs the `%K` of an array, which may stand in a script. */
function tasksOf(picker: Picker): TaskPlan | null {
  const count = picker.optional(settings.tasks);
  const array = picker.optional(settings.array);
  const parallel = picker.optional(settings.parallel);
  if (array !== null)
    return { kind: "array", indices: formatIndices(array.indices), parallel: parallel ?? array.parallel };
  return count === null ? null : countedTasks(count, parallel);
}

export function submitterOf(picker: Picker): SubmitterSpec {
  return {
    limitMs: finite(picker.required(settings.submitterLimit)),
    marginMs: picker.required(settings.submitterMargin),
    memory: picker.required(settings.submitterMem),
  };
}

/** A file called stint.yaml says nothing about the job; any other name does. */
function defaultName({ file, script }: Pick<ResolveInput, "file" | "script">, command: Command): string {
  if (script !== undefined) return nameFromCommand({ kind: "argv", argv: [script] });
  const stem = (file?.name.split("/").at(-1) ?? "").replace(/\.(ya?ml|json)$/i, "");
  return stem === "" || stem === "stint" ? nameFromCommand(command) : suggestName(stem);
}

/** `path` as seen from `cwd`, without a slash at its end. */
export function absolute(cwd: string, path: string): string {
  const joined = normalize(isAbsolute(path) ? path : join(cwd, path));
  return joined.length > 1 ? joined.replace(/\/$/, "") : joined;
}

function finite(limit: number | "unlimited" | null): number | null {
  return limit === "unlimited" ? null : limit;
}
