/** Usage in the layout of the seed: two blocks, the table of leaves, then what it left open. */
import type { UsageGroup } from "../core/index.ts";
import type { UsageReport } from "../usage/index.ts";
import { table } from "./terminal.ts";
import { cpuLines } from "./usage-cpu-view.ts";
import { explanationLines, hoursText, thousands } from "./usage-words.ts";

export function seedLines(report: UsageReport): readonly string[] {
  const { tasks, samples } = report.ledgers;
  return [
    "=== A) controller `tasks` table (PR 5637 logic) ===",
    `  leaf tasks       : ${tasks.tasks}`,
    `  cpu_wall_ms      : ${thousands(tasks.wallMs).padStart(15)}  (${hoursText(tasks.wallMs)})`,
    "",
    "=== B) iris.task stats (sample-interval approximation) ===",
    `  leaf tasks       : ${samples.tasks}`,
    `  approx wall_ms   : ${thousands(samples.wallMs).padStart(15)}  (${hoursText(samples.wallMs)})`,
    `  integrated cpu_s : ${samples.cpuSec.toFixed(1)}  (true CPU consumed)`,
    ...(report.cpu === null ? [] : cpuLines(report.cpu).map((line) => `  ${line}`)),
    "",
    ...groupLines(report),
    "",
    "=== A - B, explained to the millisecond ===",
    ...explanationLines(report.ledgers),
  ];
}

/** The seed's own table, with the mean cores and the state. */
export function groupLines({ groups, by, job }: UsageReport): readonly string[] {
  return table(
    [by === "leaf" ? "leaf job" : "user", "attempts", "wall s", "cpu s", "mean cores", "state"],
    groups.map((group) => [
      by === "leaf" ? belowRoot(group.key, job) : group.key,
      ...numbers(group),
      group.state ?? "",
    ]),
  );
}

/** `/ann/sim/a/b` → `…/a/b`; the root itself stays whole. */
function belowRoot(id: string, root: string): string {
  return id.startsWith(`${root}/`) ? `…${id.slice(root.length)}` : id;
}

function numbers({ attempts, samplesWallMs, cpuSec, meanCores }: UsageGroup): string[] {
  return [
    thousands(attempts).padStart("attempts".length),
    thousands(roundedSec(samplesWallMs)).padStart(9),
    thousands(Math.round(cpuSec)).padStart(9),
    (meanCores === null ? "-" : meanCores.toFixed(2)).padStart("mean cores".length),
  ];
}

function roundedSec(ms: bigint): bigint {
  return (ms + 500n) / 1000n;
}
