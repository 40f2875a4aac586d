/** sbatch's own options, one row each: what becomes of it in a chain. docs/sbatch-options.md is the same for people. */
import type { FlagOption } from "./flag-option.ts";

export interface SbatchOption {
  /** `--time` */
  readonly long: string;
  /** `-t`; null: none. */
  readonly short: string | null;
  /** As getopt has it; `optional`: only behind `=`, or joined to the short one. */
  readonly takes: "value" | "optional" | "nothing";
  readonly becomes: /** A setting of ours, by key. */
    | { readonly what: "setting"; readonly key: string }
    /** Handed on to the sbatch of every attempt as it is. */
    | { readonly what: "passed" }
    /** Not handed on, and why that does no harm; null: that goes without saying. */
    | { readonly what: "dropped"; readonly why: string | null }
    /** The chain would not be what it is taken for: the reason, and what to do instead. */
    | { readonly what: "refused"; readonly why: string };
  /** Input environment names of sbatch, where no setting has them. */
  readonly environment: readonly string[];
}

type Row = readonly [spelling: string, takes: SbatchOption["takes"], environment?: string];

const PASSED: readonly Row[] = [
  ["--acctg-freq", "value", "SBATCH_ACCTG_FREQ"],
  ["--batch", "value", "SBATCH_BATCH"],
  ["--bb", "value"],
  ["--bbf", "value"],
  ["--cluster-constraint", "value"],
  ["--comment", "value"],
  ["--consolidate-segments", "nothing"],
  ["--constraint -C", "value", "SBATCH_CONSTRAINT"],
  ["--contiguous", "nothing"],
  ["--core-spec -S", "value", "SBATCH_CORE_SPEC"],
  ["--cores-per-socket", "value"],
  ["--cpu-freq", "value"],
  ["--cpus-per-gpu", "value", "SBATCH_CPUS_PER_GPU"],
  ["--delay-boot", "value", "SBATCH_DELAY_BOOT"],
  ["--distribution -m", "value", "SBATCH_DISTRIBUTION"],
  ["--exclusive", "optional", "SBATCH_EXCLUSIVE"],
  ["--export", "value", "SBATCH_EXPORT"],
  ["--extra", "value"],
  ["--extra-node-info -B", "value"],
  ["--get-user-env", "optional", "SBATCH_GET_USER_ENV"],
  ["--gpu-bind", "value", "SBATCH_GPU_BIND"],
  ["--gpu-freq", "value", "SBATCH_GPU_FREQ"],
  ["--gpus -G", "value", "SBATCH_GPUS"],
  ["--gpus-per-node", "value", "SBATCH_GPUS_PER_NODE"],
  ["--gpus-per-socket", "value"],
  ["--gpus-per-task", "value", "SBATCH_GPUS_PER_TASK"],
  ["--gres", "value", "SBATCH_GRES"],
  ["--gres-flags", "value", "SBATCH_GRES_FLAGS"],
  ["--hint", "value", "SBATCH_HINT SLURM_HINT"],
  ["--kill-on-invalid-dep", "value"],
  ["--licenses -L", "value"],
  ["--mail-type", "value"],
  ["--mail-user", "value"],
  ["--mcs-label", "value"],
  ["--mem-bind", "value", "SBATCH_MEM_BIND"],
  ["--mem-per-cpu", "value", "SBATCH_MEM_PER_CPU"],
  ["--mem-per-gpu", "value", "SBATCH_MEM_PER_GPU"],
  ["--mincpus", "value"],
  ["--network", "value", "SBATCH_NETWORK"],
  ["--nice", "optional"],
  ["--nodefile -F", "value"],
  ["--nodelist -w", "value"],
  ["--ntasks -n", "value"],
  ["--ntasks-per-core", "value"],
  ["--ntasks-per-gpu", "value"],
  ["--ntasks-per-node", "value"],
  ["--ntasks-per-socket", "value"],
  ["--overcommit -O", "nothing", "SBATCH_OVERCOMMIT"],
  ["--oversubscribe -s", "nothing"],
  ["--power", "value", "SBATCH_POWER"],
  ["--prefer", "value"],
  ["--priority", "value"],
  ["--profile", "value", "SBATCH_PROFILE"],
  ["--propagate", "optional"],
  ["--reboot", "nothing"],
  ["--reservation", "value", "SBATCH_RESERVATION"],
  ["--resv-ports", "optional"],
  ["--segment", "value"],
  ["--sockets-per-node", "value"],
  ["--spread-job", "nothing", "SBATCH_SPREAD_JOB"],
  ["--switches", "value", "SBATCH_REQ_SWITCH"],
  ["--thread-spec", "value", "SBATCH_THREAD_SPEC"],
  ["--threads-per-core", "value", "SBATCH_THREADS_PER_CORE"],
  ["--time-min", "value"],
  ["--tmp", "value"],
  ["--tres-bind", "value"],
  ["--tres-per-task", "value"],
  ["--use-min-nodes", "nothing", "SBATCH_USE_MIN_NODES"],
  ["--wait-all-nodes", "value", "SBATCH_WAIT_ALL_NODES"],
  ["--wckey", "value", "SBATCH_WCKEY"],
];

const SETTINGS: readonly (readonly [spelling: string, takes: SbatchOption["takes"], key: string])[] = [
  ["--account -A", "value", "slurm.account"],
  ["--array -a", "value", "array"],
  ["--begin -b", "value", "begin"],
  ["--chdir -D", "value", "cwd"],
  ["--cpus-per-task -c", "value", "slurm.cpus-per-task"],
  ["--dependency -d", "value", "slurm.dependency"],
  ["--error -e", "value", "error"],
  ["--exclude -x", "value", "slurm.exclude"],
  ["--hold -H", "nothing", "slurm.hold"],
  ["--input -i", "value", "input"],
  ["--job-name -J", "value", "name"],
  ["--mem", "value", "slurm.mem"],
  ["--nodes -N", "value", "slurm.nodes"],
  ["--output -o", "value", "output"],
  ["--partition -p", "value", "slurm.partition"],
  ["--qos -q", "value", "slurm.qos"],
  ["--time -t", "value", "limit"],
];

const ENDS_EARLY = "whatever ends an attempt early is followed by the next one, a job of its own";
type Reasoned<W> = readonly [spelling: string, takes: SbatchOption["takes"], environment: string, why: W];
const DROPPED: readonly Reasoned<string | null>[] = [
  ["--ignore-pbs", "nothing", "SBATCH_IGNORE_PBS", null],
  ["--no-requeue", "nothing", "SBATCH_NO_REQUEUE", null],
  ["--open-mode", "value", "SBATCH_OPEN_MODE", "output is always appended, so that no attempt takes away another's"],
  ["--quiet -Q", "nothing", "", null],
  ["--requeue", "nothing", "SBATCH_REQUEUE", ENDS_EARLY],
  [
    "--signal",
    "value",
    "SBATCH_SIGNAL",
    "TERM comes to every process of the attempt instead, the margin before its limit: trap TERM, not the signal named here",
  ],
  ["--verbose -v", "nothing", "SBATCH_DEBUG", null],
];

const ONE_CLUSTER = "only the cluster of this host can be asked how a job stands; submit on a host of the other one";
const REFUSED: readonly Reasoned<string>[] = [
  ["--clusters -M", "value", "SBATCH_CLUSTERS SLURM_CLUSTERS", ONE_CLUSTER],
  ["--cluster", "value", "", ONE_CLUSTER],
  [
    "--container",
    "value",
    "SBATCH_CONTAINER",
    "the runner would be looked for in it; start the program in it yourself",
  ],
  ["--container-id", "value", "SBATCH_CONTAINER_ID", "as --container: start the program in it yourself"],
  ["--deadline", "value", "", "it is over for every later attempt, too; bound the chain by --budget-wall"],
  ["--export-file", "value", "", "give variables with --env NAME=VALUE"],
  ["--gid", "value", "", "submit as the user whose job it is"],
  [
    "--no-kill -k",
    "optional",
    "SBATCH_NO_KILL",
    "an attempt that has lost a node must end, so that the next one can go on from the checkpoint",
  ],
  ["--parsable", "nothing", "", "use --json"],
  ["--test-only", "nothing", "", "see what would be submitted with --dry-run"],
  ["--uid", "value", "", "submit as the user whose job it is"],
  ["--wait -W", "nothing", "SBATCH_WAIT", "follow the job with: stint run, or stint wait JOB"],
  ["--wrap", "value", "", "write the command behind --"],
];

/** Every option of sbatch 22.05, and those of later versions that are known. */
export const sbatchOptions: readonly SbatchOption[] = [
  ...PASSED.map(([spelling, takes, names]) => option(spelling, takes, names, { what: "passed" })),
  ...SETTINGS.map(([spelling, takes, key]) => option(spelling, takes, "", { what: "setting", key })),
  ...DROPPED.map(([spelling, takes, names, why]) => option(spelling, takes, names, { what: "dropped", why })),
  ...REFUSED.map(([spelling, takes, names, why]) => option(spelling, takes, names, { what: "refused", why })),
];

/** Key under which the flags of options that are not handed on are kept. */
export const DROPPED_KEY = "slurm.dropped";

const OF_COMMAND: ReadonlySet<string> = new Set(["--quiet", "--verbose"]);

/** Flags that set nothing of ours. `--quiet` and `--verbose` mean the command itself. */
export const handedOn: readonly FlagOption[] = sbatchOptions
  .filter(({ becomes, long }) => becomes.what === "passed" || (becomes.what === "dropped" && !OF_COMMAND.has(long)))
  .map(({ long, short, takes, becomes }) => ({
    key: becomes.what === "passed" ? "slurm.sbatch" : DROPPED_KEY,
    flags: short === null ? [long] : [long, short],
    takes: "list",
    ...(takes === "value" ? {} : { bare: takes === "nothing" ? "always" : "allowed" }),
    placeholder: "VALUE",
    help: "",
    group: becomes.what === "passed" ? "handed on to sbatch" : "understood, and not handed on to sbatch",
    handOnAs: long,
  }));

/** Options with which an attempt would not be what the chain takes it for, by spelling: the reason, and what to do instead. */
export const refusedFlags: ReadonlyMap<string, string> = new Map(
  sbatchOptions.flatMap(({ long, short, becomes }): [string, string][] => {
    if (becomes.what !== "refused") return [];
    return [[long, becomes.why], ...(short === null ? [] : [[short, `(${long}) ${becomes.why}`] as [string, string]])];
  }),
);

/**
 * Null when the argument may be handed on to sbatch; else one line that says why not. sbatch takes every beginning of a long
 * option for the whole (`--arr`), so the beginnings are refused too.
 */
export function refusedSbatchArgument(argument: string): string | null {
  const given = /^(--[^=\s]+|-[A-Za-z])/.exec(argument)?.[1];
  if (given === undefined) return null;
  const found = given.startsWith("--") ? longOption(given) : shortOption(given);
  const option = found === "ambiguous" ? (refusedBeginningWith(given) ?? null) : found;
  if (option === null || option.becomes.what === "passed") return null;
  const spelling = given.startsWith("--") ? option.long : given;
  const about = given.startsWith("--") ? "" : `(${option.long}) `;
  const { becomes } = option;
  if (becomes.what === "setting")
    return `${spelling} cannot be handed on to sbatch; the setting for it is ${becomes.key}`;
  return `${spelling} cannot be handed on to sbatch: ${about}${becomes.why ?? "an attempt is submitted with its own"}`;
}

/** By its whole name or an unambiguous beginning, as getopt does it; null: unknown. */
export function longOption(given: string): SbatchOption | "ambiguous" | null {
  const exact = sbatchOptions.find(({ long }) => long === given);
  if (exact !== undefined) return exact;
  const [first, ...more] = sbatchOptions.filter(({ long }) => long.startsWith(given));
  return first === undefined ? null : more.length > 0 ? "ambiguous" : first;
}

export function shortOption(given: string): SbatchOption | null {
  return sbatchOptions.find(({ short }) => short === given) ?? null;
}

/** Another version of sbatch may know fewer options: what is ambiguous here is the refused one there. */
function refusedBeginningWith(given: string): SbatchOption | undefined {
  return sbatchOptions.find(({ long, becomes }) => long.startsWith(given) && becomes.what !== "passed");
}

function option(
  spelling: string,
  takes: SbatchOption["takes"],
  names: string | undefined,
  becomes: SbatchOption["becomes"],
): SbatchOption {
  const [long = "", short] = spelling.split(" ");
  const environment = names === undefined || names === "" ? [] : names.split(" ");
  return { long, short: short ?? null, takes, becomes, environment };
}
