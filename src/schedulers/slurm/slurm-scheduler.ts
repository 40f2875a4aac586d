/** Slurm behind the Scheduler interface, through its commands. */
import type { AllocationHere, Ref, Seen } from "../../core/index.ts";
import { slurmTracking } from "../../host/index.ts";
import { activePhase } from "../../slurm/index.ts";
import type { Scheduler } from "../scheduler.ts";
import { accountJobs } from "./account.ts";
import { allocationAround, type OwnTracking, ownAllocation } from "./allocation.ts";
import { SlurmError, slurmCommands } from "./commands.ts";
import { observeJobs } from "./observe.ts";
import { formatRef, parseRef } from "./ref.ts";
import { type RunCommand, runCommand } from "./run-command.ts";
import { submitJob } from "./submit.ts";

export interface SlurmSchedulerOptions {
  /** This process's own; SLURM_CONF and PATH count, what belongs to the surrounding job does not. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: { nowMs(): number; monotonicMs(): number };
  /** Whose jobs are looked at: the owner of the job folder. Default: this process's user. */
  readonly ownerUid?: number;
  /** The controller is asked again for the same jobs only after this; default 30 s. */
  readonly pollMs?: number;
  /** Where the site says that the controller's word is enough without cgroup tracking; null: nowhere. */
  readonly trustedBy?: string | null;
  /** For one sbatch, default 60 s, and for any other command, default 45 s: squeue gives up by itself after 18 s. */
  readonly submitTimeoutMs?: number;
  readonly queryTimeoutMs?: number;
  /** For faults that no cluster gives on demand. */
  readonly run?: RunCommand;
  readonly ownTracking?: OwnTracking;
}

export interface SlurmScheduler extends Scheduler {
  readonly name: "slurm";
  /** Moves the earliest start of a queued job. @throws SlurmError when Slurm does not (it runs by now, it is gone). */
  delay(ref: Ref, notBeforeMs: number): Promise<void>;
}

/**
 * `withdraw`, `kill`, `warn` and `delay` reject with a SlurmError (one clear line) when Slurm can't be asked. Answers of
 * `observe` are kept for `pollMs`, and for ever once an end is proved; an action on a job forgets its answer.
 */
export function slurmScheduler(options: SlurmSchedulerOptions): SlurmScheduler {
  const { environment, clock, pollMs = 30_000, submitTimeoutMs = 60_000, queryTimeoutMs = 45_000 } = options;
  const run = options.run ?? runCommand;
  const ownerUid = options.ownerUid ?? process.getuid?.() ?? 0;
  const commands = slurmCommands({ run, environment, ownerUid, timeoutMs: queryTimeoutMs });
  const known = new Map<Ref, Known>();

  /** The name that the controller itself gives. In a job Slurm has told it already. */
  const ownCluster = async (): Promise<{ readonly name: string } | { readonly error: string }> => {
    if (environment.SLURM_JOB_ID !== undefined && environment.SLURM_CLUSTER_NAME !== undefined)
      return { name: environment.SLURM_CLUSTER_NAME };
    const config = await commands.config();
    return config.kind === "answered" ? { name: config.value.clusterName } : { error: config.error };
  };

  const cancel = async (refs: readonly Ref[]): Promise<void> => {
    const ids = await idsHere(refs, ownCluster);
    for (const ref of refs) known.delete(ref);
    // One request for all; ids that are gone are no error to scancel.
    if (ids.length > 0) await commands.request("scancel", ids);
  };

  return {
    name: "slurm",

    async submit(submission) {
      const cluster = await ownCluster();
      // Nothing was sent yet, so this is a clear no.
      if ("error" in cluster) return { kind: "refused", error: cluster.error, transient: true };
      const nowMs = clock.nowMs();
      return submitJob(submission, { run, cluster: cluster.name, nowMs, timeoutMs: submitTimeoutMs });
    },

    async find(script) {
      const queue = await commands.queue(null);
      if (queue.kind === "unreachable") return "unreachable";
      // An ended job is found until the controller forgets it; if it did anything, it has told so in its folder. Of two
      // (a submit that was given up and came through after all) the living one counts: the other one leaves by itself.
      const found = queue.value.filter((job) => job.command === script);
      const best = found.find((job) => activePhase(job.state) !== null) ?? found[0];
      return best === undefined ? "none" : { ref: formatRef(best), cluster: best.cluster, id: best.id };
    },

    async observe(refs, identities = new Map()) {
      const nowMs = clock.monotonicMs();
      const scriptOf = (ref: Ref): string | null => identities.get(ref)?.script ?? null;
      // An answer about whoever bore the number before says nothing of the job that has it now.
      for (const ref of refs) {
        const [before, now] = [known.get(ref)?.script ?? null, scriptOf(ref)];
        if (before !== null && now !== null && before !== now) known.delete(ref);
      }
      const fresh = (ref: Ref): Seen | null => {
        const last = known.get(ref);
        return last !== undefined && (isSettled(last.seen) || nowMs - last.atMs < pollMs) ? last.seen : null;
      };
      const settled = refs.filter((ref) => isSettled(known.get(ref)?.seen));
      const rest = refs.filter((ref) => !settled.includes(ref));
      if (!rest.every((ref) => fresh(ref) !== null)) {
        const cluster = await ownCluster();
        const answers =
          "error" in cluster
            ? allUnreachable(rest, cluster.error)
            : await observeJobs(commands, cluster.name, rest, identities);
        // Stamped afterwards: the answers may have taken as long as they are kept.
        const atMs = clock.monotonicMs();
        for (const [ref, answer] of answers) {
          const seen = trusted(answer, options.trustedBy ?? null);
          known.set(ref, { seen, atMs, script: scriptOf(ref) });
        }
      }
      return new Map(refs.map((ref) => [ref, known.get(ref)?.seen ?? { kind: "absent" }]));
    },

    account: (refs, asked) => accountJobs(commands, refs, asked),

    withdraw: cancel,
    kill: (ref) => cancel([ref]),

    async warn(ref, signal) {
      const [id] = await idsHere([ref], ownCluster);
      if (id === undefined) return "no-step";
      const steps = await commands.steps(id);
      if (steps.kind === "unreachable") throw new SlurmError(steps.error);
      if (steps.value.length === 0) return "no-step";
      await commands.request("scancel", [`--signal=${signal.replace(/^SIG/, "")}`, ...steps.value]);
      return "sent";
    },

    here: (own) => ownAllocation(own, commands, options.ownTracking ?? slurmTracking),

    async delay(ref, notBeforeMs) {
      const [id] = await idsHere([ref], ownCluster);
      known.delete(ref);
      const seconds = Math.max(0, Math.ceil((notBeforeMs - clock.nowMs()) / 1000));
      if (id !== undefined) await commands.request("scontrol", ["update", `JobId=${id}`, `StartTime=now+${seconds}`]);
    },
  };
}

/** An answer of the controller, and the script of the job that it is about. */
interface Known {
  readonly seen: Seen;
  readonly atMs: number;
  readonly script: string | null;
}

/** A person waits for it, and without an answer the submit goes on. */
const AROUND_TIMEOUT_MS = 20_000;

/** The allocation that a command with this environment is typed in; null: none. */
export async function surroundingAllocation(
  environment: Readonly<Record<string, string | undefined>>,
  run: RunCommand = runCommand,
): Promise<AllocationHere | null> {
  const ownerUid = process.getuid?.() ?? 0;
  return allocationAround(environment, slurmCommands({ run, environment, ownerUid, timeoutMs: AROUND_TIMEOUT_MS }));
}

/** The highest index of an array that the cluster here knows; null: it does not say. */
export async function largestArrayIndex(
  environment: Readonly<Record<string, string | undefined>>,
  run: RunCommand = runCommand,
): Promise<number | null> {
  const ownerUid = process.getuid?.() ?? 0;
  const config = await slurmCommands({ run, environment, ownerUid, timeoutMs: AROUND_TIMEOUT_MS }).config();
  const size = config.kind === "answered" ? config.value.maxArraySize : null;
  return size === null ? null : size - 1;
}

/** Job ids for a request; a job of another cluster is an error, since its number means another job here. */
async function idsHere(
  refs: readonly Ref[],
  ownCluster: () => Promise<{ readonly name: string } | { readonly error: string }>,
): Promise<readonly string[]> {
  if (refs.length === 0) return [];
  const cluster = await ownCluster();
  if ("error" in cluster) throw new SlurmError(cluster.error);
  return refs.map((ref) => {
    const job = parseRef(ref);
    if (job === null) throw new SlurmError(`${ref} is no Slurm job`);
    if (job.cluster !== cluster.name)
      throw new SlurmError(`${ref} is on cluster ${job.cluster}; go to a host of that cluster`);
    return job.id;
  });
}

/** An end that is proved and complete: it can't change any more. */
function isSettled(seen: Seen | undefined): boolean {
  return seen?.kind === "over" && seen.proof === "C" && seen.final;
}

function trusted(seen: Seen, trustedBy: string | null): Seen {
  return trustedBy !== null && (seen.kind === "over" || seen.kind === "absent") ? { ...seen, trustedBy } : seen;
}

function allUnreachable(refs: readonly Ref[], error: string): ReadonlyMap<Ref, Seen> {
  return new Map(refs.map((ref) => [ref, { kind: "unreachable", error }]));
}
