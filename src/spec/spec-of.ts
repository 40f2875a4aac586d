/** The picked values put together: the spec of a job, and of a submitter job. */
import { isAbsolute, join, normalize } from "node:path";
import type { Command, JobSpec, SchedulerName, SubmitterOptions, TaskPlan, UntilFirstRun } from "../core/index.ts";
import {
  countedTasks,
  formatIndices,
  nameFromCommand,
  parseJobName,
  RECORD_VERSION,
  suggestName,
} from "../core/index.ts";
import { parseBeginTime } from "./begin-time.ts";
import { settings } from "./option-table.ts";
import type { Picker } from "./picker.ts";
import type { ResolveInput } from "./resolve.ts";
import { sourceOf, visible } from "./sources.ts";

/** What is decided before the rest: defaults and paths follow from it. */
export interface Chosen {
  readonly scheduler: SchedulerName;
  readonly command: Command;
  readonly cwd: string;
  readonly env: { readonly variables: Readonly<Record<string, string>>; readonly checkpointEvery: string | null };
}

export function specOf(
  picker: Picker,
  input: Pick<ResolveInput, "file" | "node" | "runtime" | "nowMs">,
  { scheduler, command, cwd, env }: Chosen,
): JobSpec {
  const limit = picker.optional(settings.limit);
  const path = picker.optional(settings.checkpointPath);
  const output = picker.optional(settings.output);
  const error = errorFile(picker, command, output);
  const standardInput = picker.optional(settings.input);
  const { name, jobName } = namesOf(picker, input, command);
  const first = untilFirstRun(picker, input.nowMs ?? 0);
  return {
    version: RECORD_VERSION,
    name,
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
    allocationId: null,
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
      stdout: output === null ? null : absolutePattern(cwd, output),
      stderr: error === null ? null : absolutePattern(cwd, error),
    },
    ...(standardInput === null ? {} : { input: absolute(cwd, standardInput) }),
    ...(first === null ? {} : { untilFirstRun: first }),
    node: input.node,
    runtime: input.runtime,
    slurm: {
      partition: picker.optional(settings.partition),
      account: picker.optional(settings.account),
      qos: picker.optional(settings.qos),
      cpusPerTask: picker.optional(settings.cpusPerTask),
      memory: memoryOfNode(picker),
      nodes: picker.optional(settings.nodes),
      exclude: picker.optional(settings.exclude),
      ...(jobName === null ? {} : { jobName }),
      // Without a limit of ours sbatch would take the partition's default; UNLIMITED has to be said.
      sbatch: [
        ...picker.joined(settings.sbatch).filter((text) => !isWeakerMemory(picker, text)),
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

/** Settings of the submitter job; they count only in mode submitter. Where it says nothing it goes where the attempts go. */
export function submitterOf(picker: Picker, { slurm }: Pick<JobSpec, "slurm">): SubmitterOptions {
  return {
    limitMs: finite(picker.required(settings.submitterLimit)),
    marginMs: picker.required(settings.submitterMargin),
    memory: picker.required(settings.submitterMem),
    partition: picker.optional(settings.submitterPartition) ?? slurm.partition,
    account: picker.optional(settings.submitterAccount) ?? slurm.account,
    qos: picker.optional(settings.submitterQos) ?? slurm.qos,
    sbatch: picker.joined(settings.submitterSbatch),
  };
}

/** Our name, and what Slurm calls the job where sbatch was told a name that cannot be one of ours; null: the same. */
function namesOf(
  picker: Picker,
  input: Pick<ResolveInput, "file">,
  command: Command,
): { readonly name: string; readonly jobName: string | null } {
  const sourced = sourceOf(settings.name, picker.sources);
  const isOfSbatch =
    sourced !== null &&
    (sourced.as === "--job-name" || /^(flag (--job-name|-J)|environment SBATCH_JOB_NAME)$/.test(sourced.origin));
  const text = sourced?.raw.form === "text" ? sourced.raw.text : "";
  if (!isOfSbatch || text === "" || text.includes("\0") || parseJobName(text).kind === "name")
    return { name: picker.optional(settings.name) ?? defaultName(input, command), jobName: null };
  const name = suggestName(text);
  picker.origins[settings.name.key] = sourced.origin;
  picker.origins["slurm.job-name"] = sourced.origin;
  picker.notices.push(`the job is called ${name} here: ${visible(text)} (${sourced.origin}) cannot be a name of ours`);
  return { name, jobName: text };
}

/** As for sbatch: what a batch script writes goes into one file, unless two are named. */
function errorFile(picker: Picker, command: Command, output: string | null): string | null {
  const error = picker.optional(settings.error);
  if (error !== null || output === null || command.kind !== "batch") return error;
  picker.origins[settings.error.key] = `as output (${picker.origins.output})`;
  return output;
}

function untilFirstRun(picker: Picker, nowMs: number): UntilFirstRun | null {
  const begin = picker.optional(settings.begin);
  const dependency = picker.optional(settings.dependency);
  const hold = picker.required(settings.hold) === "yes";
  if (begin === null && dependency === null && !hold) return null;
  return { beginAtMs: begin === null ? null : parseBeginTime(begin, nowMs), dependency, hold };
}

/** sbatch refuses two of --mem, --mem-per-cpu and --mem-per-gpu: those of the strongest source count. */
function memoryOfNode(picker: Picker): string | null {
  const strongest = strongestMemory(picker);
  const own = sourceOf(settings.mem, picker.sources);
  if (own === null || strengthOf(own.origin) >= strongest) return picker.optional(settings.mem);
  picker.origins[settings.mem.key] = "default";
  return null;
}

function isWeakerMemory(picker: Picker, text: string): boolean {
  if (!MEMORY_OTHERWISE.test(text)) return false;
  const strongest = strongestMemory(picker);
  return !picker
    .listed(settings.sbatch)
    .some(({ origin, raw }) => raw.form === "list" && raw.items.includes(text) && strengthOf(origin) >= strongest);
}

function strongestMemory(picker: Picker): number {
  const own = sourceOf(settings.mem, picker.sources);
  const others = picker
    .listed(settings.sbatch)
    .filter(({ raw }) => raw.form === "list" && raw.items.some((text) => MEMORY_OTHERWISE.test(text)));
  return Math.max(-1, ...[...(own === null ? [] : [own]), ...others].map(({ origin }) => strengthOf(origin)));
}

const MEMORY_OTHERWISE = /^--mem-per-[cg]pu=/;

function strengthOf(origin: string): number {
  return origin.startsWith("flag ") ? 2 : origin.startsWith("environment ") ? 1 : 0;
}

/** A file called stint.yaml says nothing about the job; any other name does. */
function defaultName({ file }: Pick<ResolveInput, "file">, command: Command): string {
  if (command.kind === "batch") return nameFromCommand(command);
  const stem = (file?.name.split("/").at(-1) ?? "").replace(/\.(ya?ml|json)$/i, "");
  return stem === "" || stem === "stint" ? nameFromCommand(command) : suggestName(stem);
}

/** `path` as seen from `cwd`, without a slash at its end. */
export function absolute(cwd: string, path: string): string {
  const joined = normalize(isAbsolute(path) ? path : join(cwd, path));
  return joined.length > 1 ? joined.replace(/\/$/, "") : joined;
}

/** The same for a path in which `%j` and the like are filled in: a percent sign in the folder's own name is none of these. */
function absolutePattern(cwd: string, path: string): string {
  return absolute(cwd.replaceAll("%", "%%"), path);
}

function finite(limit: number | "unlimited" | null): number | null {
  return limit === "unlimited" ? null : limit;
}
