/** What a site may set for everybody, in a table of the same kind as the settings of a job. */
import { words } from "./compound-kinds.ts";
import { TEXT_OR_NUMBER } from "./kind.ts";
import { choice, duration, wholeNumber } from "./kinds.ts";
import { optionTable } from "./option-table.ts";
import { type Setting, setting } from "./setting.ts";

export const siteSettings = {
  pollFloor: setting({
    key: "poll-floor",
    kind: duration({ zero: "refused" }),
    flags: [],
    help: "shortest time between two questions of one process to the controller",
    default: null,
    group: "site",
  }),
  forbiddenPartitions: setting({
    key: "forbidden-partitions",
    kind: {
      ...words,
      expected: "a list of partitions, such as [debug, interactive]",
      shape: { is: "list", of: TEXT_OR_NUMBER },
    },
    flags: [],
    help: "partitions in which no chain may run",
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
  capAttempts: setting({
    key: "caps.attempts",
    kind: wholeNumber(1),
    flags: [],
    help: "most attempts of one chain",
    default: null,
    group: "site",
  }),
  capWall: setting({
    key: "caps.wall",
    kind: duration({ zero: "refused" }),
    flags: [],
    help: "most run time of all attempts of one chain together",
    default: null,
    group: "site",
  }),
  capAhead: setting({
    key: "caps.ahead",
    kind: wholeNumber(0, 100),
    flags: [],
    help: "most attempts that a chain keeps queued while one runs",
    default: null,
    group: "site",
  }),
} as const;

/** In the site file the defaults of a job's settings stand below this key. */
export const DEFAULTS = "defaults";

/** How a chain is moved is its user's choice; the rest are wishes about one chain's beginning. */
const NO_DEFAULTS: ReadonlySet<string> = new Set(["mode", "begin", "slurm.dependency", "slurm.hold"]);

/** Everything that a site file may hold. What makes a job this job (its command, its files) is no affair of a site. */
export const siteTable: readonly Setting<unknown>[] = [
  ...Object.values(siteSettings),
  ...optionTable.filter(isForSites).map((one): Setting<unknown> => ({ ...one, key: `${DEFAULTS}.${one.key}` })),
];

function isForSites({ group, key }: Setting<unknown>): boolean {
  if (NO_DEFAULTS.has(key)) return false;
  return (
    group === "attempts" || group === "slurm" || group === "budgets and back-off" || group === "times between processes"
  );
}
