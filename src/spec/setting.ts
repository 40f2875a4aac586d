/** One setting of a job: the single source for its flags, YAML key, environment names, schema, help and default. */
import { OF_AN_ATTEMPT, type SchedulerName } from "../core/index.ts";
import type { Kind } from "./kind.ts";

export interface Setting<T> {
  /** Path in YAML and in origins, e.g. `slurm.partition`. */
  readonly key: string;
  readonly kind: Kind<T>;
  /** All spellings, the first long one leads. Empty: no flag. */
  readonly flags: readonly string[];
  /** The flag may be repeated. */
  readonly repeats?: boolean;
  /** The flag takes nothing: it stands for `yes`, its `--no-` form for `no`. */
  readonly isSwitch?: boolean;
  /** Names of others that set it (ours follows from the leading flag), in the order in which they count. */
  readonly environment?: readonly ForeignName[];
  /** One line: what it is, its unit. The default is added to it. */
  readonly help: string;
  /** As text of this kind; per scheduler where they differ; null: none. */
  readonly default: string | Readonly<Record<SchedulerName, string>> | null;
  /** In help instead of the default, where the default is a rule. */
  readonly defaultWords?: string;
  readonly group:
    | "job"
    | "attempts"
    | "slurm"
    | "submitter"
    | "budgets and back-off"
    | "times between processes"
    | "site";
}

export interface ForeignName {
  readonly name: string;
  readonly family: "seed" | "sbatch";
  /** The name says so: a bare number is seconds. */
  readonly unit?: "seconds";
  /**
   * What the runner exports, and what would make a job inside a job run the outer one's command: not a setting inside an
   * attempt.
   */
  readonly outsideOnly?: boolean;
  /** A batch script reads the name itself: no setting where the job is one. */
  readonly ofScripts?: boolean;
}

/** Gives the literal its type. */
export function setting<T>(definition: Setting<T>): Setting<T> {
  return definition;
}

/** `STINT_…` of a setting, after its leading flag; null: it has none. */
export function stintName(of: Setting<unknown>): string | null {
  const flag = of.flags[0];
  if (flag === undefined || of.key === "env") return null;
  return `STINT_${flag.slice(2).toUpperCase().replaceAll("-", "_")}`;
}

/** What a runner exports, and what belongs to the installation: never settings of a job. */
export const NEVER_SETTINGS: readonly string[] = [
  ...OF_AN_ATTEMPT,
  "STINT_DIR",
  "STINT_SITE",
  "STINT_DEBUG",
  "STINT_RUNNER",
];
