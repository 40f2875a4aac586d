/** Options of sbatch that are no settings of ours: which are handed on, which are named, and which are refused. */
import type { SchedulerName } from "../core/index.ts";
import type { Directives, GivenOption } from "./directives.ts";
import { DROPPED_KEY, type SbatchOption, sbatchOptions } from "./sbatch-options.ts";
import type { Sources } from "./sources.ts";

export interface SbatchWishes {
  readonly errors: readonly string[];
  /** What was asked for and comes otherwise: one line each. */
  readonly warnings: readonly string[];
}

/** From the environment: sbatch's input names that no setting has. */
export function passedByEnvironment({ environment }: Pick<Sources, "environment">): readonly GivenOption[] {
  return sbatchOptions.flatMap((option) =>
    option.environment.flatMap((name): GivenOption[] => {
      const text = environment[name] ?? "";
      if (text === "") return [];
      const value = option.takes === "nothing" ? null : text;
      return [
        { option, value, text: value === null ? option.long : `${option.long}=${value}`, at: `environment ${name}` },
      ];
    }),
  );
}

/** What becomes of the options that are not handed on. */
export function sbatchWishes(
  sources: Pick<Sources, "environment" | "flags">,
  directives: Directives | null,
  scheduler: SchedulerName,
): SbatchWishes {
  const fromFile = directives?.given ?? [];
  // SBATCH_… are for sbatch: where none is called they wish for nothing.
  const fromEnvironment = scheduler === "slurm" ? passedByEnvironment(sources) : [];
  const all = [...fromFile, ...fromEnvironment];
  const errors = all.flatMap(({ option, text, at }) =>
    option?.becomes.what === "refused" && !(scheduler === "local" && MEANT_FOR_SLURM.has(option.long))
      ? [`${place(at)}${text} cannot be used: ${option.becomes.why}`]
      : [],
  );
  const warnings = [...all, ...droppedFlags(sources)].flatMap(({ option, text, at }) =>
    option?.becomes.what !== "dropped" || option.becomes.why === null || isIdle(text)
      ? []
      : [`${place(at)}${text} is not handed on to sbatch: ${option.becomes.why}`],
  );
  return { errors: [...(directives?.errors ?? []), ...errors], warnings };
}

/** Options of a batch script that mean nothing without Slurm, with their lines. */
export function idleOnLocal(directives: Directives): readonly string[] {
  return directives.given.flatMap(({ option, text, at }) => {
    if (option === null || option.becomes.what === "passed") return [`${text} (${at})`];
    if (option.becomes.what === "refused") return MEANT_FOR_SLURM.has(option.long) ? [`${text} (${at})`] : [];
    return option.becomes.what === "setting" && option.becomes.key.startsWith("slurm.") ? [`${text} (${at})`] : [];
  });
}

/**
 * The time that `--signal=[R][B:]SIGNAL@SECONDS` asks for before the limit is a margin, where none is given. Null: there is no
 * such wish. The strongest source counts.
 */
export function marginBySignal(
  sources: Pick<Sources, "environment" | "flags">,
  directives: Directives | null,
): { readonly text: string; readonly origin: string } | null {
  const wishes = [...(directives?.given ?? []), ...passedByEnvironment(sources), ...droppedFlags(sources)];
  const last = wishes.findLast(({ option }) => option?.long === "--signal");
  const seconds = /@(\d+)$/.exec(last?.value ?? "")?.[1];
  return last === undefined || seconds === undefined ? null : { text: `${seconds}s`, origin: `--signal, ${last.at}` };
}

/** On `local` they change nothing about how the application runs. */
const MEANT_FOR_SLURM: ReadonlySet<string> = new Set(["--clusters", "--cluster", "--deadline", "--no-kill"]);

function droppedFlags({ flags }: Pick<Sources, "flags">): readonly GivenOption[] {
  return (flags.get(DROPPED_KEY)?.values ?? []).map((text) => {
    const equals = text.indexOf("=");
    const long = equals < 0 ? text : text.slice(0, equals);
    const option: SbatchOption | null = sbatchOptions.find((one) => one.long === long) ?? null;
    return { option, text, value: equals < 0 ? null : text.slice(equals + 1), at: "flag" };
  });
}

/** What is asked for is what happens anyway. */
function isIdle(text: string): boolean {
  return /^--open-mode=a(ppend)?$/.test(text);
}

function place(at: string): string {
  return at === "flag" ? "" : `${at}: `;
}
