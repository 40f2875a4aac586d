/**
 * The two rules of a site file that are read wherever they apply, also by the runner on a node, which must start quickly and
 * brings no YAML parser: each stands on a line of its own. `parseSiteFile` refuses a file in which this reads anything else
 * than YAML does.
 */

import { choice, duration } from "./kinds.ts";
import { type Setting, setting } from "./setting.ts";
import type { SiteValue } from "./site-value.ts";

export const nowSettings = {
  pollFloor: setting({
    key: "poll-floor",
    kind: duration({ zero: "refused" }),
    flags: [],
    help: "shortest time between two questions of one process to the controller",
    default: null,
    group: "site",
  }),
  trust: setting({
    key: "trust",
    kind: choice(["scheduler", "cgroup"]),
    flags: [],
    help: "scheduler: the controller's word that a job is over is proof enough, also where it does not track processes by cgroup",
    default: "cgroup",
    group: "site",
  }),
} as const;

export interface SiteNow {
  readonly pollFloorMs: SiteValue<number> | null;
  readonly trust: SiteValue<"scheduler" | "cgroup"> | null;
}

/** What cannot be read is not there: no floor but the frozen one, and no trust. */
export function siteNow(text: string, name: string): SiteNow {
  const lines = text.split(/\r?\n/);
  const read = <T>({ key, kind }: Setting<T>): SiteValue<T> | null => {
    const at = lines.findIndex((line) => line.startsWith(`${key}:`));
    const value = /^:[ \t]+([^\s#"']+)[ \t]*(?:[ \t]#.*)?$/.exec(lines[at]?.slice(key.length) ?? "")?.[1];
    const answer = value === undefined ? null : kind.read({ form: "text", text: value });
    return answer?.ok === true ? { value: answer.value, at: `${name}:${at + 1}` } : null;
  };
  return { pollFloorMs: read(nowSettings.pollFloor), trust: read(nowSettings.trust) };
}
