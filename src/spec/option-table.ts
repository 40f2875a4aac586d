/** All settings of a job in one table. Flags, environment names, schema, JSON Schema and help are made from it. */
import { chainSettings, timingSettings } from "./chain-settings.ts";
import type { FlagOption } from "./flag-option.ts";
import { jobSettings } from "./job-settings.ts";
import { handedOn } from "./sbatch-options.ts";
import { NEVER_SETTINGS, type Setting, stintName } from "./setting.ts";
import { slurmSettings, submitterSettings } from "./slurm-settings.ts";

export const settings = {
  ...jobSettings,
  ...slurmSettings,
  ...submitterSettings,
  ...chainSettings,
  ...timingSettings,
} as const;

export const optionTable: readonly Setting<unknown>[] = Object.values(settings);

/** The options of `run` and `submit`: every setting that has a flag, and sbatch's options that are handed on. */
export const settingFlags: readonly FlagOption[] = [
  ...optionTable
    .filter((setting) => setting.flags.length > 0)
    .map(
      (setting): FlagOption => ({
        key: setting.key,
        flags: setting.flags,
        takes: setting.isSwitch === true ? "nothing" : setting.repeats === true ? "list" : "value",
        placeholder: setting.kind.placeholder,
        help: `${setting.help}${defaultOf(setting)}`,
        group: setting.group,
      }),
    ),
  ...handedOn,
];

/** Name of the batch script in the seed's environment: it counts where no other input is given. */
export const RUNNER_SCRIPT = "RUNNER_SCRIPT";

export interface EnvironmentName {
  readonly name: string;
  readonly family: "stint" | "seed" | "sbatch";
  readonly key: string;
}

/** The documented list of environment names that are settings. */
export const environmentNames: readonly EnvironmentName[] = optionTable.flatMap((setting) => {
  const own = stintName(setting);
  const foreign = (setting.environment ?? []).map(({ name, family }) => ({ name, family, key: setting.key }));
  return own === null ? foreign : [{ name: own, family: "stint" as const, key: setting.key }, ...foreign];
});

/** Names that begin with STINT_ and are known: settings, and what is never one. */
export const knownStintNames: readonly string[] = [
  ...environmentNames.filter(({ family }) => family === "stint").map(({ name }) => name),
  ...NEVER_SETTINGS,
];

function defaultOf(setting: Setting<unknown>): string {
  if (setting.defaultWords !== undefined) return ` [${setting.defaultWords}]`;
  if (setting.default === null) return "";
  if (typeof setting.default === "string") return ` [${setting.default}]`;
  return ` [${setting.default.slurm} (slurm), ${setting.default.local} (local)]`;
}
