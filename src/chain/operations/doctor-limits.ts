/** What a job asks for, against the limits of its partition and of its user. */
import { formatDuration, type JobSpec, taskIndices } from "../../core/index.ts";
import type { Association, Partition, Qos } from "../../slurm/index.ts";
import type { LoadedSite } from "../site.ts";
import type { SiteQuestions } from "./doctor-slurm.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

/** The partition that the job names, or the cluster's default. */
export async function partitionFindings(
  questions: SiteQuestions,
  spec: JobSpec | null,
  site: LoadedSite,
): Promise<readonly Finding[]> {
  const answer = await questions.partitions();
  if (answer.kind === "unreachable") return [warning("partition", answer.error, "ask again later")];
  const all = answer.value;
  const named = (spec?.slurm.partition ?? "").split(",").filter((name) => name !== "");
  const names = named.length > 0 ? named : all.filter(({ isDefault }) => isDefault).map(({ name }) => name);
  if (names.length === 0)
    return [warning("partition", "the cluster has no default partition", "name one with --partition")];
  return names.flatMap((name) => {
    const partition = all.find((one) => one.name === name);
    if (partition === undefined)
      return [
        problem("partition", `there is no partition ${name}`, `choose one of ${all.map((one) => one.name).join(", ")}`),
      ];
    return [...stateOf(partition, site), windowOf(partition, spec), ...accountOf(partition, spec)];
  });
}

function stateOf({ name, state }: Partition, site: LoadedSite): readonly Finding[] {
  const rule = site.kind === "site" ? site.site.forbiddenPartitions : null;
  if (rule?.value.includes(name) === true)
    return [problem("partition", `${name} is forbidden for chains (${rule.at})`, "choose another with --partition")];
  if (state === "UP") return [];
  const what = state === "DRAIN" ? "takes no new jobs" : "starts no jobs";
  return [problem("partition", `${name} is ${state}: it ${what}`, "choose another with --partition, or wait")];
}

/** Limit and margin of the job in it. What is above the partition's limit stays in the queue for ever. */
function windowOf({ name, maxTimeMs, defaultTimeMs }: Partition, spec: JobSpec | null): Finding {
  const most = maxTimeMs === null ? "no limit" : `at most ${formatDuration(maxTimeMs)}`;
  const byDefaultMs = defaultTimeMs ?? maxTimeMs;
  const about = `${name}: ${most}${byDefaultMs === null ? "" : `, ${formatDuration(byDefaultMs)} where a job names none`}`;
  if (spec === null) return ok("partition", about);
  const { limitMs, marginMs } = spec;
  if (limitMs !== null && maxTimeMs !== null && limitMs > maxTimeMs)
    return problem(
      "limit",
      `${formatDuration(limitMs)} is above what ${name} allows (${formatDuration(maxTimeMs)}): it would never start`,
      `a shorter --limit, or another --partition`,
    );
  const windowLimitMs = limitMs ?? byDefaultMs;
  if (windowLimitMs === null)
    return warning(
      "limit",
      `${about}: an attempt would run without end`,
      "give a --limit, so that it is cut and saved",
    );
  if (marginMs !== "auto" && marginMs >= windowLimitMs)
    return problem(
      "margin",
      `${formatDuration(marginMs)} leaves nothing of the limit of ${formatDuration(windowLimitMs)} in ${name}`,
      "a shorter --margin, or a longer --limit",
    );
  const window = marginMs === "auto" ? "" : `, a window of ${formatDuration(windowLimitMs - marginMs)}`;
  return ok("partition", `${about}; an attempt gets ${formatDuration(windowLimitMs)}${window}`);
}

function accountOf({ name, allowAccounts }: Partition, spec: JobSpec | null): readonly Finding[] {
  const account = spec?.slurm.account ?? null;
  if (account === null || allowAccounts === "all" || allowAccounts.includes(account)) return [];
  return [
    problem(
      "account",
      `${account} may not use ${name}`,
      `another --account (${allowAccounts.join(", ")}) or --partition`,
    ),
  ];
}

/** How many jobs the user may have queued and running, against what a chain keeps there. */
export async function limitFindings(
  questions: SiteQuestions,
  spec: JobSpec | null,
  user: string,
): Promise<readonly Finding[]> {
  const [associations, qos] = [await questions.associations(user), await questions.qos()];
  if (associations.kind === "unreachable")
    return [warning("limits", associations.error, "ask the site how many jobs you may have queued")];
  if (associations.value.length === 0) return [ok("limits", `accounting knows no limits of ${user}`)];
  const all = qos.kind === "answered" ? qos.value : [];
  const account = spec?.slurm.account ?? null;
  const ours = associations.value.filter((one) => account === null || one.account === account);
  if (ours.length === 0)
    return [
      problem(
        "account",
        `${user} is not in account ${account}`,
        `another --account: ${[...new Set(associations.value.map((one) => one.account))].join(", ")}`,
      ),
    ];
  return ours.map((one) => limitFinding(one, qosOf(one, all, spec), spec));
}

function qosOf({ defaultQos }: Association, all: readonly Qos[], spec: JobSpec | null): Qos | null {
  const name = spec?.slurm.qos ?? (defaultQos === "" ? "normal" : defaultQos);
  return all.find((one) => one.name === name) ?? null;
}

const DEFAULT_AHEAD = 2;

function limitFinding(association: Association, qos: Qos | null, spec: JobSpec | null): Finding {
  const { account, partition } = association;
  const chains = chainsOf(spec);
  const wants = chains * (1 + (spec?.scheduler === "slurm" ? spec.ahead : DEFAULT_AHEAD));
  const keeps = chains === 1 ? `a chain keeps ${wants} there` : `${chains} tasks at a time keep ${wants} there`;
  const maxSubmit = least(association.maxSubmit, qos?.maxSubmitPerUser ?? null);
  const maxWallMs = least(association.maxWallMs, qos?.maxWallMs ?? null);
  const where = `account ${account}${partition === "" ? "" : `, partition ${partition}`}${qos === null ? "" : `, QOS ${qos.name}`}`;
  const limitMs = spec?.limitMs ?? null;
  if (maxWallMs !== null && limitMs !== null && limitMs > maxWallMs)
    return problem(
      "limit",
      `${formatDuration(limitMs)} is above what ${where} allows (${formatDuration(maxWallMs)}): it would never start`,
      "a shorter --limit, or another --account or --qos",
    );
  if (maxSubmit === 0) return problem("limits", `${where}: no job may be submitted`, "another --account or --qos");
  if (maxSubmit !== null && maxSubmit < wants)
    return warning(
      "limits",
      `${where}: ${maxSubmit} jobs may be queued and running, ${keeps}`,
      `${fewerWords(maxSubmit, chains)}; else successors are refused for now, and tried again until they are taken`,
    );
  const said = [
    maxSubmit === null ? "any number of jobs may be queued" : `${maxSubmit} jobs may be queued and running`,
    maxWallMs === null ? null : `at most ${formatDuration(maxWallMs)} each`,
  ].filter((part) => part !== null);
  return ok("limits", `${where}: ${said.join(", ")}; ${keeps}`);
}

/** Chains that are in the queue at one time. */
function chainsOf(spec: JobSpec | null): number {
  const tasks = spec?.tasks ?? null;
  if (tasks === null) return 1;
  const all = taskIndices(tasks).length;
  return Math.min(tasks.parallel ?? all, all);
}

/** What leaves each chain at least its running job. */
function fewerWords(maxSubmit: number, chains: number): string {
  const ahead = Math.floor(maxSubmit / chains) - 1;
  return ahead >= 0 ? `--ahead ${ahead}` : `--parallel ${maxSubmit} --ahead 0`;
}

function least(a: number | null, b: number | null): number | null {
  const all = [a, b].filter((one) => one !== null);
  return all.length === 0 ? null : Math.min(...all);
}
