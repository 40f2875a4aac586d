/**
 * Limits of associations and QOS as reasons of pending jobs: `AssocGrpCpuLimit`, `QOSMaxMemoryPerUser`,
 * `MaxGRESPerAccount` … One grammar instead of some 150 lines: whose limit, of what kind, of which resource, for whom.
 */
import type { PendingReason } from "./pending-reasons.ts";

type LimitReason = Pick<PendingReason, "meaning" | "todo"> & {
  readonly chance: "will-start" | "may-never-start" | "will-never-start";
};

/** null: the code is no such limit. */
export function limitReason(code: string): LimitReason | null {
  const match = GRAMMAR.exec(code);
  if (match?.groups === undefined) return null;
  const { owner = "", kind = "", what = "", minutes = "", per = "" } = match.groups;
  const whose = owner === "Assoc" ? "your association (account)" : owner === "QOS" ? "QOS {qos}" : "the account";
  const thing = THINGS[what] ?? what;
  if (what === "Jobs" || what === "Job" || what === "SubmitJobs" || what === "SubmitJob")
    return jobs(whose, what, kind);
  if (what === "WallDuration")
    return perJob(`its limit of {timeLimit} is above what ${whose} allows`, "a shorter --limit");
  if (kind === "Min") return perJob(`it asks for less ${thing} than ${whose} wants`, `more ${thing}, or another --qos`);
  if (minutes.startsWith("Run")) {
    const forWhom = per === "PerUser" ? " of one user" : per === "PerAccount" ? " of one account" : "";
    return {
      chance: "may-never-start",
      meaning: `${thing} × time left of the running jobs${forWhom} is at the limit of ${whose}; it starts when they have less left, unless it alone is above`,
      todo: `wait, or a shorter --limit, or less ${thing}`,
    };
  }
  if (kind === "Grp") return group(whose, what, thing, minutes);
  if (per === "PerUser" || per === "PerAccount")
    return {
      chance: "may-never-start",
      meaning: `${thing} of ${per === "PerUser" ? "your running jobs" : "the account's running jobs"} is at the limit of ${whose}; it starts when others end, unless it alone is above`,
      todo: `wait, or ask for less ${thing}`,
    };
  const scope = per === "PerNode" ? " on one node" : "";
  const amount = minutes === "" ? thing : `${thing} × time`;
  return perJob(
    `it asks for more ${amount}${scope} than ${whose} allows one job`,
    minutes === "" ? `ask for less ${thing}` : `a shorter --limit, or less ${thing}`,
  );
}

function jobs(whose: string, what: string, kind: string): LimitReason {
  const submitted = what.startsWith("Submit");
  return {
    chance: "will-start",
    meaning: submitted
      ? `as many jobs of ${whose} are queued or running as may be at once`
      : `as many jobs ${kind === "Grp" ? "of all users " : ""}of ${whose} run as may run at once`,
    todo: submitted ? "fewer jobs, or a smaller --ahead" : null,
  };
}

function group(whose: string, what: string, thing: string, minutes: string): LimitReason {
  if (minutes === "" && what !== "Wall")
    return {
      chance: "may-never-start",
      meaning: `all running jobs together are at the limit of ${whose} for ${thing}; it starts when others end, unless it alone is above`,
      todo: `wait, or ask for less ${thing}`,
    };
  // What is used up comes back only where the site lets it decay or resets it.
  return {
    chance: "may-never-start",
    meaning: `the ${thing} × time granted to ${whose} is used up`,
    todo: "ask for more at the site, or use another --account or --qos",
  };
}

function perJob(meaning: string, todo: string): LimitReason {
  return { chance: "will-never-start", meaning, todo };
}

const THINGS: Readonly<Record<string, string>> = {
  BB: "burst buffer",
  Billing: "billing",
  CPU: "CPU",
  Cpu: "CPU",
  Energy: "energy",
  GRES: "GRES (such as GPUs)",
  License: "licenses",
  Mem: "memory",
  Memory: "memory",
  Node: "nodes",
  Unknown: "a resource",
  Wall: "wall time",
};

/** Only what Slurm says: an owner, a kind, a resource of the list; `Limit` at the end of the older ones. */
const GRAMMAR = new RegExp(
  `^(?<owner>Assoc|QOS|)(?<kind>Grp|Max|Min)(?<what>${[...Object.keys(THINGS), "WallDuration", "SubmitJobs?", "Jobs?"]
    .sort((a, b) => b.length - a.length)
    .join("|")})(?<minutes>(?:Run)?(?:Minutes|Mins)|)(?<per>Per(?:Job|Node|User|Account)|)(?:Limit|NotSatisfied)?$`,
);
