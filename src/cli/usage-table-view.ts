/** Usage in stint's own layout. */
import type { UsageReport } from "../usage/index.ts";
import { cpuLines, secondsText } from "./usage-cpu-view.ts";
import { groupLines } from "./usage-seed-view.ts";
import { count, explanationLines, field, hoursText, thousands } from "./usage-words.ts";
import { momentInZone } from "./words.ts";

export function ledgerLines(report: UsageReport, attempts: boolean): readonly string[] {
  const { ledgers, tree } = report;
  const { tasks, samples, leftOut } = ledgers;
  const ms = (value: bigint): string => `${hoursText(value)}  (${thousands(value)} ms)`;
  return [
    field("job", `${report.job}, ${count(tree.leaves.length, "leaf job")}`),
    field("as of", momentInZone(report.asOfMs)),
    field("tasks (A)", `${ms(tasks.wallMs)} of ${count(tasks.tasks, "task")}, from start to end`),
    ...(attempts
      ? [field("  attempts", `${ms(tasks.attemptsWallMs)} of their ${count(tasks.attempts, "attempt")}, without gaps`)]
      : []),
    field("samples (B)", `${ms(samples.wallMs)} of ${count(samples.attempts, "attempt")}, from first to last sample`),
    ...(report.cpu === null
      ? [field("  CPU", `${secondsText(samples.cpuSec)} by mean x span${withoutCpu(samples.attemptsWithoutCpu)}`)]
      : cpuLines(report.cpu).map((line, at) => field(at === 0 ? "  CPU" : "", line))),
    ...Object.entries(leftOut).flatMap(([kind, left]) =>
      left.tasks === 0
        ? []
        : [
            field(
              "left out",
              `${count(left.tasks, "task")} of ${LEFT_OUT[kind] ?? kind}: tasks ${ms(left.tasksMs)}, samples ${ms(left.samplesMs)}`,
            ),
          ],
    ),
    ...(tree.cutOff.length === 0
      ? []
      : [
          field(
            "note",
            `${count(tree.cutOff.length, "leaf job")} below a job whose record is gone: a walk along parent links would lose them`,
          ),
        ]),
    "",
    ...groupLines(report),
    "",
    "why A and B disagree, in ms",
    ...explanationLines(ledgers),
  ];
}

const LEFT_OUT: Readonly<Record<string, string>> = {
  innerJobs: "jobs that have children (--all counts them)",
  holders: "jobs that only hold machines",
  unknownJobs: "jobs that are on no record",
};

function withoutCpu(attempts: number): string {
  return attempts === 0 ? "" : `, without ${count(attempts, "attempt")} whose samples tell none`;
}
