/** Settings that end a chain which gets nowhere, and the times between processes. */
import { duration, wholeNumber } from "./kinds.ts";
import { type Setting, setting } from "./setting.ts";

export const chainSettings = {
  failures: budget("failures", "3", "failed attempts, until there is new progress"),
  stalled: budget("stalled", "2", "attempts that ended at our TERM without progress, until there is new progress"),
  preemptions: budget("preemptions", "100", "preempted attempts"),
  infrastructure: budget("infrastructure", "10", "attempts lost with their node"),
  neverRan: budget("never-ran", "5", "attempts that never ran for a cause that is not ours, in a row"),
  inARow: budget("in-a-row", "20", "attempts in a row without new progress, for any causes together"),
  attempts: budget("attempts", "1000", "attempts of the whole chain"),
  wall: setting({
    key: "budgets.wall",
    kind: duration({ zero: "refused" }),
    flags: ["--budget-wall"],
    help: "hold after this much run time of all attempts together",
    default: "30d",
    group: "budgets and back-off",
  }),
  backoffFirst: setting({
    key: "backoff.first",
    kind: duration({ zero: "allowed" }),
    flags: ["--backoff-first"],
    help: "wait before the first repetition; it doubles each time",
    default: "10s",
    group: "budgets and back-off",
  }),
  backoffMax: setting({
    key: "backoff.max",
    kind: duration({ zero: "allowed" }),
    flags: ["--backoff-max"],
    help: "longest wait before a repetition",
    default: "10m",
    group: "budgets and back-off",
  }),
} as const;

export const timingSettings = {
  proofWait: timing("proof-wait", "10m", "longest wait for the proof that lower attempts are over"),
  doubtfulTwice: timing("doubtful-twice", "60s", "a doubtful answer counts when it comes again this much later"),
  nodesBack: timing("nodes-back", "60s", "nodes that answer again must have done so for this long (2 x KillWait)"),
  heartbeatSilent: timing(
    "heartbeat-silent",
    "300s",
    "a heartbeat silent for this long counts as dead, together with a doubtful answer",
  ),
  fence: timing("fence", "120s", "with neither folder nor scheduler for this long, the application is frozen"),
  unclear: timing("unclear", "80s", "longest search for a job after an unclear submit"),
  poll: timing("poll", { local: "1s", slurm: "30s" }, "a scheduler is asked at most this often"),
} as const;

function budget(name: string, byDefault: string, help: string): Setting<number> {
  return setting({
    key: `budgets.${name}`,
    kind: wholeNumber(1),
    flags: [`--budget-${name}`],
    help: `hold after this many ${help}`,
    default: byDefault,
    group: "budgets and back-off",
  });
}

function timing(name: string, byDefault: Setting<number>["default"], help: string): Setting<number> {
  return setting({
    key: `timing.${name}`,
    kind: duration({ zero: "refused" }),
    flags: [`--timing-${name}`],
    help,
    default: byDefault,
    group: "times between processes",
  });
}
