/**
 * Why a job waits in Slurm's queue, in words. The codes are those of Slurm 22.05 to 24.11 (job_state_reason_string), where
 * the many limits of associations and QOS follow one grammar. A code that is not known here is shown as it is: nothing is
 * claimed about it.
 */
import { limitReason } from "./limit-reasons.ts";

/**
 * - `will-start`: only time or other jobs stand before it. - `may-never-start`: what it waits for may not come.
 * - `will-never-start`: not as it stands; somebody has to change something. - `unknown`: a code that is not in this table.
 */
export type Chance = "will-start" | "may-never-start" | "will-never-start" | "unknown";

export interface PendingReason {
  /** As Slurm says it, without what it adds behind a comma; empty: Slurm has given no reason yet. */
  readonly code: string;
  readonly chance: Chance;
  /** What it means, as half a sentence that stands for itself. */
  readonly meaning: string;
  /** What a person can do; null: nothing but wait. */
  readonly todo: string | null;
}

/** What is known of the job beside the reason; each may be missing. */
export interface PendingJob {
  readonly id: string;
  readonly partition: string;
  /** As Slurm prints it (`10:00`, `1-00:00:00`). */
  readonly timeLimit: string;
  readonly account: string;
  readonly qos: string;
}

/** The words for a reason as squeue prints it (`ReqNodeNotAvail, UnavailableNodes:n1`). null and `None`: none given yet. */
export function pendingReason(text: string | null, job: Partial<PendingJob> = {}): PendingReason {
  const [first = "", ...more] = (text ?? "").replaceAll("_", " ").split(/,\s*/);
  const code = first.trim();
  const detail = more.join(", ").trim();
  const found = REASONS[code] ?? sentence(code) ?? limitReason(code);
  if (found === null) return { code, chance: "unknown", meaning: fullText(code, detail), todo: null };
  const { chance, meaning, todo } = code === "ReqNodeNotAvail" ? nodeNotAvailable(detail) : found;
  const filled = (line: string): string => fill(line, job);
  return { code, chance, meaning: filled(meaning), todo: todo === null ? null : filled(todo) };
}

interface Entry {
  readonly chance: Exclude<Chance, "unknown">;
  readonly meaning: string;
  readonly todo: string | null;
}

function will(meaning: string, todo: string | null = null): Entry {
  return { chance: "will-start", meaning, todo };
}

function may(meaning: string, todo: string): Entry {
  return { chance: "may-never-start", meaning, todo };
}

function never(meaning: string, todo: string): Entry {
  return { chance: "will-never-start", meaning, todo };
}

const RELEASE = "scontrol release {id}";

const REASONS: Readonly<Record<string, Entry>> = {
  "": will("the scheduler has not looked at it yet"),
  None: will("the scheduler has not looked at it yet"),
  WaitingForScheduling: will("the scheduler has not looked at it yet"),
  SchedDefer: will("the scheduler puts off starting jobs at submit"),
  Priority: will("jobs of higher priority are before it in partition {partition}"),
  Resources: will("it is next, when enough nodes, CPUs or memory are free"),
  Dependency: will("a job before it has not ended"),
  BeginTime: will("its earliest start has not come"),
  Prolog: will("the site's prolog prepares its nodes"),
  Cleaning: will("its last run is still being cleaned up"),
  Reservation: will("its reservation has not begun, or has no room now"),
  Licenses: will("the licenses that it asks for are in use"),
  JobArrayTaskLimit: will("as many tasks of its array run as may run at once"),
  BurstBufferResources: will("the burst buffer has no room now"),
  BurstBufferStageIn: will("its data is being copied into the burst buffer"),
  FedJobLock: will("the clusters of the federation settle which of them runs it"),
  PowerNotAvail: will("the power that it needs is in use"),
  PowerReserved: will("the power that it needs is reserved for others"),
  PartitionTimeLimit: never(
    "its limit of {timeLimit} is above what partition {partition} allows",
    "a shorter --limit, or another --partition (scontrol show partition {partition})",
  ),
  PartitionNodeLimit: may(
    "it asks for more or fewer nodes than partition {partition} allows, or the nodes that it needs are down",
    "another --nodes or --partition (scontrol show partition {partition}); else ask the site",
  ),
  PartitionConfig: never(
    "partition {partition} has nothing like what it asks for",
    "other --nodes, --cpus-per-task or --mem, or another --partition",
  ),
  PartitionDown: may("partition {partition} is down: it takes jobs and starts none", "another --partition, or wait"),
  PartitionInactive: may("partition {partition} is inactive", "another --partition, or wait"),
  BadConstraints: never("no node has what it asks for", "ask for less: --nodes, --mem, --cpus-per-task, --constraint"),
  Constraints: may(
    "no node that is up now has what it asks for",
    "wait for the nodes, or ask for less: --nodes, --mem, --constraint",
  ),
  MaxMemPerLimit: never("it asks for more memory than one CPU or node may have", "a smaller --mem"),
  NodeDown: may("a node that it needs is down", "wait for the node, or ask for others"),
  FrontEndDown: may("no front-end node is up", "wait, or ask the site"),
  ReqNodeNotAvail: may("nodes that it asks for are not available", "wait for them, or ask for others"),
  DependencyNeverSatisfied: never("a job before it ended otherwise than its dependency demands", "scancel {id}"),
  JobHeldUser: never("it is held by its owner", RELEASE),
  JobHeldAdmin: never("it is held by an administrator, and only one can release it", "ask the site why"),
  JobHoldMaxRequeue: never("it was requeued too often and is held", "ask the site why, then: scontrol release {id}"),
  JobLaunchFailure: may("it could not be launched", "ask the site; if it is held: scontrol release {id}"),
  SystemFailure: may(
    "Slurm, a file system or the network failed",
    "ask the site; if it is held: scontrol release {id}",
  ),
  BurstBufferOperation: may("an operation of the burst buffer failed", "look at: scontrol show job {id}"),
  ReservationDeleted: never("its reservation is gone", "leave --reservation out, or name another one"),
  ReservationInvalid: never("its reservation cannot be used", "leave --reservation out, or name another one"),
  InvalidAccount: never("account {account} is not valid for it", "another --account (sacctmgr show assoc user=$USER)"),
  AccountNotAllowed: never("account {account} may not use partition {partition}", "another --account or --partition"),
  InvalidQOS: never("QOS {qos} is not valid for it", "another --qos (sacctmgr show assoc user=$USER)"),
  QOSNotAllowed: never("QOS {qos} may not be used with partition {partition}", "another --qos or --partition"),
  QOSUsageThreshold: may(
    "the account has used more than QOS {qos} lets through",
    "wait until the use has decayed, or another --qos",
  ),
  AccountingPolicy: may("a limit of the account, the association or QOS {qos} is reached", "see: sacctmgr show assoc"),
  // Names of old versions, which some plugins still use.
  AssociationJobLimit: will("as many jobs of the account run as may run at once"),
  AssociationResourceLimit: may("a limit of the account is reached", "ask for less, or wait"),
  AssociationTimeLimit: never("its limit of {timeLimit} is above the account's", "a shorter --limit"),
  QOSJobLimit: will("as many jobs of QOS {qos} run as may run at once"),
  QOSResourceLimit: may("a limit of QOS {qos} is reached", "ask for less, wait, or another --qos"),
  QOSTimeLimit: never("its limit of {timeLimit} is above what QOS {qos} allows", "a shorter --limit, or another --qos"),
  // Of jobs that have ended; a job that is queued again may still show one.
  DeadLine: never("its deadline has passed", "submit it again with a later one"),
  TimeLimit: may("its last run reached its limit", "look at: scontrol show job {id}"),
  InactiveLimit: may("its last run was ended for idling", "look at: scontrol show job {id}"),
  NonZeroExitCode: may("its last run failed", "look at: scontrol show job {id}"),
  RaisedSignal: may("its last run was ended by a signal", "look at: scontrol show job {id}"),
  OutOfMemory: may("its last run had too little memory", "look at: scontrol show job {id}"),
};

/** Sentences that stand in the place of a code. */
function sentence(text: string): Entry | null {
  if (/^Nodes required for job are DOWN/i.test(text))
    return may(
      "the nodes that it needs are down, drained or reserved for partitions of higher priority",
      "wait for them, or ask for others",
    );
  if (/requeued? (in )?held/i.test(text) || /requeued held/i.test(text))
    return never(`it is held (${text})`, `look why, then: ${RELEASE}`);
  return null;
}

function nodeNotAvailable(detail: string): Entry {
  const nodes = /UnavailableNodes:\s*(\S+)/.exec(detail)?.[1] ?? "";
  if (/reserved for maintenance/i.test(detail))
    return will(
      "its nodes are reserved for maintenance before it could end; it starts afterwards",
      "a limit that ends before the maintenance starts sooner (scontrol show reservation)",
    );
  if (/may be reserved/i.test(detail)) return will("its nodes may be reserved for other jobs");
  return may(
    `nodes that it asks for are down, drained or reserved${nodes === "" ? "" : ` (${nodes})`}`,
    "wait for them, or ask for others",
  );
}

function fullText(code: string, detail: string): string {
  return detail === "" ? code : `${code}, ${detail}`;
}

/** Puts in what is known of the job, and leaves the place out where nothing is. */
function fill(line: string, job: Partial<PendingJob>): string {
  const known = (value: string | undefined): string => (value === "(null)" ? "" : (value ?? ""));
  return line
    .replaceAll(/ of \{timeLimit\}/g, known(job.timeLimit) === "" ? "" : ` of ${job.timeLimit}`)
    .replaceAll(/\{(id|partition|account|qos)\}/g, (_, name: keyof PendingJob) => {
      const value = known(job[name]);
      return value === "" ? PLACES[name] : value;
    })
    .trim();
}

const PLACES: Readonly<Record<keyof PendingJob, string>> = {
  id: "JOBID",
  partition: "PARTITION",
  timeLimit: "",
  account: "ACCOUNT",
  qos: "QOS",
};
