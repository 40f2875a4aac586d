// The face of spec. The JSON Schema has its own file (json-schema.ts), since its converter is needed by the build only.
export { withAllocation } from "./allocation.ts";
export type { FlagOption, FlagValue, FlagValues } from "./flag-option.ts";
export { optionHelp } from "./help.ts";
export { nearest } from "./nearest.ts";
export { type EnvironmentName, optionTable, settingFlags } from "./option-table.ts";
export { type FlagRules, flagOn, flagText, type ParsedFlags, parseFlags } from "./parse-flags.ts";
export { type Resolution, type ResolveInput, resolveSpec } from "./resolve.ts";
export { commandText, type SamePurpose, samePurpose } from "./same-purpose.ts";
export { refusedFlags } from "./sbatch-options.ts";
export type { Setting } from "./setting.ts";
export { type ParsedSiteFile, parseSiteFile, type SiteFile } from "./site-file.ts";
export { type SiteNow, siteNow } from "./site-now.ts";
export type { SiteValue } from "./site-value.ts";
export { type FileValue, MOST_SPEC_BYTES, type ParsedSpecFile, parseSpecFile, type SpecFile } from "./spec-file.ts";
export type { SubmitterSpec } from "./spec-of.ts";
