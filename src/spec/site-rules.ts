/** A site's rules over a resolved spec: what is too much is lowered and said, what is forbidden is refused. */
import { formatDuration, type JobSpec } from "../core/index.ts";
import { settings } from "./option-table.ts";
import type { Picker } from "./picker.ts";
import type { SiteFile } from "./site-file.ts";
import type { SiteValue } from "./site-value.ts";

export interface UnderSite {
  readonly spec: JobSpec;
  /** One line each, beside those that the picker has. */
  readonly notices: readonly string[];
  readonly errors: readonly string[];
}

/** Origins of what was lowered are put into the picker's. */
export function underSite(picker: Picker, spec: JobSpec, site: SiteFile | null): UnderSite {
  if (site === null) return { spec, notices: [], errors: [] };
  const notices: string[] = [];
  const bound = (
    key: string,
    now: number,
    rule: SiteValue<number> | null,
    { text, floor = false }: { readonly text: (value: number) => string; readonly floor?: boolean },
  ): number => {
    if (rule === null || (floor ? now >= rule.value : now <= rule.value)) return now;
    const origin = picker.origins[key] ?? "default";
    // Nobody has asked for a built-in default.
    if (!origin.startsWith("default"))
      notices.push(`${key} ${text(now)} (${origin}) becomes ${text(rule.value)}: the site's rule (${rule.at})`);
    picker.origins[key] = `${rule.at}, the site's rule`;
    return rule.value;
  };
  const onSlurm = spec.scheduler === "slurm";
  const plain = { text: String };
  const inTime = { text: formatDuration };
  const bounded: JobSpec = {
    ...spec,
    ahead: onSlurm ? bound(settings.ahead.key, spec.ahead, site.caps.ahead, plain) : spec.ahead,
    budgets: {
      ...spec.budgets,
      attempts: bound(settings.attempts.key, spec.budgets.attempts, site.caps.attempts, plain),
      wallMs: bound(settings.wall.key, spec.budgets.wallMs, site.caps.wallMs, inTime),
    },
    timing: {
      ...spec.timing,
      pollMs: onSlurm
        ? bound(settings.poll.key, spec.timing.pollMs, site.pollFloorMs, { ...inTime, floor: true })
        : spec.timing.pollMs,
    },
  };
  return { spec: bounded, notices, errors: onSlurm ? forbidden(picker, spec, site) : [] };
}

function forbidden(picker: Picker, { slurm }: JobSpec, site: SiteFile): readonly string[] {
  const rule = site.forbiddenPartitions;
  if (rule === null) return [];
  // Among the options that are handed on to sbatch no partition can stand: that one is a setting.
  const by = picker.origins["slurm.partition"];
  return (slurm.partition ?? "")
    .split(",")
    .filter((name) => rule.value.includes(name))
    .map((name) => `no chain may run in partition ${name} (${by}): the site's rule (${rule.at}); choose another`);
}
