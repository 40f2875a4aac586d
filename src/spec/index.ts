// The face of spec. The JSON Schema has its own file (json-schema.ts), since its converter is needed by the build only.
export { type Bounded, isBoundOtherwise, withAllocation } from "./allocation.ts";
export { type Directives, readDirectives } from "./directives.ts";
export type { FlagOption, FlagValue, FlagValues } from "./flag-option.ts";
export { optionHelp } from "./help.ts";
export { nearest } from "./nearest.ts";
export { type EnvironmentName, optionTable, RUNNER_SCRIPT, settingFlags } from "./option-table.ts";
export { type FlagRules, flagOn, flagText, type ParsedFlags, parseFlags } from "./parse-flags.ts";
export { type BatchInput, type Resolution, type ResolveInput, resolveSpec } from "./resolve.ts";
export { commandText, type SamePurpose, samePurpose } from "./same-purpose.ts";
export { DROPPED_KEY, refusedFlags, type SbatchOption, sbatchOptions } from "./sbatch-options.ts";
export type { Setting } from "./setting.ts";
export { type ParsedSiteFile, parseSiteFile, type SiteFile, type SiteValue } from "./site-file.ts";
export { type FileValue, type ParsedSpecFile, parseSpecFile, type SpecFile } from "./spec-file.ts";
