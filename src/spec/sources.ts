/** Where a value comes from: flags, then what the command implies, then the environment, then the file. */
import { quoteShell } from "../core/index.ts";
import type { FlagValues } from "./flag-option.ts";
import type { Raw } from "./kind.ts";
import { nearest } from "./nearest.ts";
import { knownStintNames, RUNNER_SCRIPT } from "./option-table.ts";
import { type ForeignName, type Setting, stintName } from "./setting.ts";
import type { SiteFile } from "./site-file.ts";
import type { SpecFile } from "./spec-file.ts";

export interface Sources {
  readonly flags: FlagValues;
  /** What the command itself stands for, by key: above the environment, under the flags. */
  readonly implied: ReadonlyMap<string, { readonly text: string; readonly origin: string }>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The spec file, or the `#SBATCH` lines of a batch script. */
  readonly file: SpecFile | null;
  /** The job is a batch script, which reads some names of the environment itself: who named it. Null: it is none. */
  readonly batchFrom: string | null;
  /** Below everything that is the user's own. */
  readonly site: SiteFile | null;
}

export interface Sourced {
  readonly raw: Raw;
  /** `flag --limit`, `environment RUNNER_TIME_LIMIT`, `stint.yaml:4:8`. */
  readonly origin: string;
  /** What stands before an error: `--limit 5x`, `RUNNER_TIME_LIMIT=5x`, `stint.yaml:4:8: limit`. */
  readonly label: string;
  /** For a value of the environment, the line that says that it was used. */
  readonly notice: string | null;
  /** What the setting is called there, where that is another name: `--time`. */
  readonly as?: string;
}

/** The winning source of a setting among the user's own; null: nothing but a default. An empty variable counts as not set, as in the seed. */
export function sourceOf(setting: Setting<unknown>, sources: Sources): Sourced | null {
  return fromFlags(setting, sources) ?? fromEnvironment(setting, sources) ?? fileValue(setting, sources);
}

/** From the spec file alone. */
export function fileValue(setting: Setting<unknown>, sources: Sources): Sourced | null {
  const found = sources.file?.values.get(setting.key);
  if (found === undefined) return null;
  const { raw, at, as } = found;
  return { raw, origin: at, label: `${at}: ${as ?? setting.key}`, notice: null, ...(as === undefined ? {} : { as }) };
}

/** The site's default for a setting. */
export function siteValue(setting: Setting<unknown>, sources: Sources): Sourced | null {
  const found = sources.site?.defaults.get(setting.key);
  if (found === undefined) return null;
  return { raw: found.raw, origin: found.at, label: `${found.at}: ${setting.key}`, notice: null };
}

/** From the flags alone, or from what the command implies. */
export function fromFlags(setting: Setting<unknown>, sources: Sources): Sourced | null {
  const given = sources.flags.get(setting.key);
  if (given !== undefined) {
    const last = setting.isSwitch === true ? (given.on ? "yes" : "no") : (given.values.at(-1) ?? "");
    const raw: Raw = setting.repeats === true ? { form: "list", items: given.values } : { form: "text", text: last };
    return { raw, origin: `flag ${given.flag}`, label: `${given.flag} ${visible(last)}`, notice: null };
  }
  const implied = sources.implied.get(setting.key);
  if (implied === undefined) return null;
  return { raw: { form: "text", text: implied.text }, origin: implied.origin, label: implied.origin, notice: null };
}

/** Names in the environment that look like settings and set nothing: one line each. */
export function idleNames(sources: Sources): readonly string[] {
  const notices: string[] = [];
  for (const name of Object.keys(sources.environment).sort()) {
    if (!name.startsWith("STINT_") || knownStintNames.includes(name)) continue;
    const near = nearest(
      name.slice("STINT_".length),
      knownStintNames.map((known) => known.slice("STINT_".length)),
    );
    if (near !== null) notices.push(`${name} in the environment is no setting; did you mean STINT_${near}?`);
  }
  if (
    isSet(sources, RUNNER_SCRIPT) &&
    !insideAttempt(sources) &&
    sources.batchFrom !== `environment ${RUNNER_SCRIPT}`
  ) {
    notices.push(`${RUNNER_SCRIPT} in the environment is not used: there is other input`);
  }
  return notices;
}

/** A runner started this process: what it exported are facts of its own attempt. */
export function insideAttempt(sources: Pick<Sources, "environment">): boolean {
  return (sources.environment.STINT_TASK_ID ?? "") !== "";
}

export function isSet(sources: Pick<Sources, "environment">, name: string): boolean {
  return (sources.environment[name] ?? "") !== "";
}

/** From the environment alone: ours, then the seed's names, then those of sbatch. */
export function fromEnvironment(setting: Setting<unknown>, sources: Sources): Sourced | null {
  const own = stintName(setting);
  const foreign = [...(setting.environment ?? [])].sort((a, b) => FAMILY_ORDER[a.family] - FAMILY_ORDER[b.family]);
  const names: readonly Pick<ForeignName, "name" | "unit" | "outsideOnly" | "ofScripts">[] =
    own === null ? foreign : [{ name: own }, ...foreign];
  for (const { name, unit, outsideOnly, ofScripts } of names) {
    const text = sources.environment[name] ?? "";
    if (ofScripts === true && sources.batchFrom !== null) continue;
    if (text === "" || (outsideOnly === true && insideAttempt(sources))) continue;
    const withUnit = unit === "seconds" && /^\d+(\.\d+)?$/.test(text.trim()) ? `${text.trim()}s` : text;
    return {
      raw: { form: "text", text: withUnit },
      origin: `environment ${name}`,
      label: `${name}=${visible(text)}`,
      notice: `${name}=${visible(text)} in the environment sets ${setting.key}`,
    };
  }
  return null;
}

const FAMILY_ORDER = { seed: 0, sbatch: 1 } as const;

/** For one line on a terminal. */
export function visible(text: string): string {
  const clean = text.replaceAll(/[\p{Cc}\p{Cf}]/gu, "?");
  return quoteShell(clean.length > 80 ? `${clean.slice(0, 79)}…` : clean);
}
