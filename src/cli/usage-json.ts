/** Usage for programs: one value with the seed's keys in it, or a list as comma-separated values. */
import type { Term } from "../core/index.ts";
import type { OwnUsage, UsageReport } from "../usage/index.ts";
import { exactNumber } from "./json.ts";
import { csv } from "./terminal.ts";
import { termsOf } from "./usage-words.ts";

export function usageJson(report: UsageReport, own: OwnUsage | null): Readonly<Record<string, unknown>> {
  const { tree, ledgers, groups } = report;
  const { explanation } = ledgers;
  return {
    source: report.source,
    job: report.job,
    asOfMs: report.asOfMs,
    includeFailed: report.includeFailed,
    innerJobs: report.innerJobs,
    ...(own === null ? {} : { own }),
    jobs: { all: tree.jobs.length, leaves: tree.leaves.length, holders: tree.holders.length, cutOff: tree.cutOff },
    tasks: {
      leaf_tasks: ledgers.tasks.tasks,
      cpu_wall_ms: exactNumber(ledgers.tasks.wallMs),
      attempts: ledgers.tasks.attempts,
      attemptsWallMs: exactNumber(ledgers.tasks.attemptsWallMs),
    },
    samples: {
      leaf_tasks: ledgers.samples.tasks,
      approx_cpu_wall_ms: exactNumber(ledgers.samples.wallMs),
      integrated_cpu_seconds: Math.round(ledgers.samples.cpuSec * 10) / 10,
      cpuSec: ledgers.samples.cpuSec,
      attempts: ledgers.samples.attempts,
      samples: ledgers.samples.samples,
      attemptsWithoutCpu: ledgers.samples.attemptsWithoutCpu,
      attemptsWithOneSample: ledgers.samples.oneSample,
      attemptsWithoutSamples: ledgers.samples.noSamples,
    },
    explanation: {
      differenceMs: exactNumber(explanation.differenceMs),
      causes: explanation.causes.map(termJson),
      residualMs: exactNumber(explanation.residualMs),
      missing: explanation.missing.map(termJson),
      unexplainedMs: exactNumber(explanation.unexplainedMs),
    },
    cpu: report.cpu,
    slack: { ...ledgers.slack, trueMs: exactNumber(ledgers.slack.trueMs) },
    clockOffsets: ledgers.clockOffsets,
    leftOut: Object.fromEntries(
      Object.entries(ledgers.leftOut).map(([kind, { tasksMs, samplesMs, ...counts }]) => [
        kind,
        { ...counts, tasksMs: exactNumber(tasksMs), samplesMs: exactNumber(samplesMs) },
      ]),
    ),
    by: report.by,
    groups: groups.map((group) => ({
      ...group,
      samplesWallMs: exactNumber(group.samplesWallMs),
      tasksWallMs: exactNumber(group.tasksWallMs),
    })),
  };
}

export function usageCsv({ groups, by }: UsageReport): string {
  return csv(
    [by, "state", "tasks", "attempts", "samplesWallMs", "cpuSec", "meanCores", "tasksWallMs", "memoryPeakBytes"],
    groups.map((group) => [
      group.key,
      group.state,
      group.tasks,
      group.attempts,
      String(group.samplesWallMs),
      group.cpuSec,
      group.meanCores,
      String(group.tasksWallMs),
      group.memoryPeakBytes,
    ]),
  );
}

/** One line for each record that a term is made of. */
export function traceCsv({ ledgers }: UsageReport): string {
  return csv(
    ["cause", "task", "attempt", "ms"],
    termsOf(ledgers.explanation).flatMap(({ id, from }) =>
      from.map(({ taskId, attempt, ms }) => [id, taskId, attempt, ms]),
    ),
  );
}

function termJson({ id, ms, from }: Term) {
  return { id, ms: exactNumber(ms), records: from.length, from };
}
