/** What Slurm is like here, as far as a chain depends on it. */
import { formatDuration, type JobSpec } from "../../core/index.ts";
import { findProgram, userNameOrId } from "../../host/index.ts";
import { loadSlurm } from "../../schedulers/index.ts";
import type { ControllerConfig } from "../../slurm/index.ts";
import type { LoadedSite } from "../site.ts";
import { limitFindings, partitionFindings } from "./doctor-limits.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";
import type { Where } from "./project.ts";

export type SiteQuestions = ReturnType<Awaited<ReturnType<typeof loadSlurm>>["siteQuestions"]>;

export interface SchedulerLook {
  readonly findings: readonly Finding[];
  /** For more questions; null: there is no Slurm that answers. */
  readonly questions: SiteQuestions | null;
}

/** `spec`: what the job asks Slurm for; null: nothing is known of a job. */
export async function schedulerFindings(
  { environment }: Where,
  spec: JobSpec | null,
  site: LoadedSite,
): Promise<SchedulerLook> {
  const job = environment.SLURM_JOB_ID ?? "";
  const path = environment.PATH ?? "";
  const sbatch = findProgram("sbatch", path);
  if (sbatch === null) {
    const why = job === "" ? "no sbatch on PATH" : `this is inside Slurm job ${job}`;
    return { findings: [ok("scheduler", `local by default: ${why}`)], questions: null };
  }
  const missing = ["squeue", "scancel", "scontrol"].filter((name) => findProgram(name, path) === null);
  if (missing.length > 0)
    return {
      findings: [
        problem("scheduler", `sbatch is there, but not ${missing.join(", ")}`, "put all of Slurm's commands on PATH"),
      ],
      questions: null,
    };
  const { runCommand, siteQuestions } = await loadSlurm();
  const questions = siteQuestions(runCommand, environment);
  const config = await questions.config();
  const byDefault = job === "" ? `slurm by default (${sbatch})` : `local by default: this is inside Slurm job ${job}`;
  // sbatch on PATH says nothing about whether there is a Slurm behind it.
  if (config.kind === "unreachable" && spec?.scheduler === "local")
    return { findings: [ok("scheduler", `local, as asked; of ${sbatch} no controller answers`)], questions: null };
  if (config.kind === "unreachable")
    return {
      findings: [
        problem(
          "scheduler",
          `${byDefault}, but Slurm's controller does not answer: ${config.error}`,
          "wait for Slurm, or run on this machine with --scheduler local",
        ),
      ],
      questions: null,
    };
  const trusted = site.kind === "site" && site.site.trust?.value === "scheduler" ? site.site.trust.at : null;
  const partitions = await partitionFindings(questions, spec, site);
  return {
    findings: [
      ok("scheduler", `${byDefault}, its controller answers`),
      version(config.value),
      tracking(config.value, trusted),
      accounting(config.value, findProgram("sacct", path) !== null),
      times(config.value),
      requeue(config.value),
      ...partitions,
      ...(config.value.accounting ? await limitFindings(questions, spec, userNameOrId()) : []),
    ],
    questions,
  };
}

const OLDEST_SLURM = [22, 5] as const;

function version({ clusterName, version: text }: ControllerConfig): Finding {
  const [major = 0, minor = 0] = (text ?? "").split(".").map(Number);
  const found = `${text ?? "of a version it does not tell"}, cluster ${clusterName}`;
  const known = major > OLDEST_SLURM[0] || (major === OLDEST_SLURM[0] && minor >= OLDEST_SLURM[1]);
  return known
    ? ok("slurm", found)
    : warning("slurm", found, "this is tried with 22.05 and newer: try a small job first");
}

function tracking({ tracking: by, trackingType }: ControllerConfig, trusted: string | null): Finding {
  if (by === "cgroup")
    return ok("tracking", `${trackingType}: when Slurm says that a job is over, nothing of it runs any more`);
  if (trusted !== null)
    return ok("tracking", `${trackingType}; the site says that the controller's word is enough (${trusted})`);
  return warning(
    "tracking",
    `${trackingType}: when a job died without a word, Slurm cannot prove that nothing of it runs any more`,
    "such a chain is held until you have looked: stint resume JOB --over N. The site can mend it by proctrack/cgroup, or by trust: scheduler in its site file",
  );
}

function accounting({ accounting: kept }: ControllerConfig, hasSacct: boolean): Finding {
  if (!kept)
    return warning(
      "accounting",
      "none is kept: once the controller forgets a job, nobody knows how it ended or who cancelled it",
      "a chain that was cancelled by hand may go on: use stint cancel",
    );
  if (hasSacct) return ok("accounting", "kept (slurmdbd)");
  return warning("accounting", "kept, but sacct is not on PATH", "put it there: ends are looked up with it");
}

function times({ killWaitMs, minJobAgeMs, accounting: kept }: ControllerConfig): Finding {
  const found = `KillWait ${formatDuration(killWaitMs)} (from Slurm's TERM to KILL), MinJobAge ${formatDuration(minJobAgeMs)} (ended jobs are remembered)`;
  if (minJobAgeMs >= 60_000 || kept) return ok("times", found);
  return warning(
    "times",
    found,
    "ends are forgotten soon and no accounts are kept: some will stay unknown and be waited for",
  );
}

function requeue({ requeues }: ControllerConfig): Finding {
  return ok(
    "requeue",
    requeues
      ? "on for others (JobRequeue=1); every attempt is submitted with --no-requeue"
      : "off at this site (JobRequeue=0); a chain goes on all the same",
  );
}
