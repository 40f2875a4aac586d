/** The table of a job's tasks. */
import type { ChainStatus } from "../chain/index.ts";
import { whyCell } from "./status-view.ts";
import { csv, type Terminal, table } from "./terminal.ts";
import { progressCell, ranText, stateText, waitedText } from "./words.ts";

/** One line a task, in their order. */
export function taskLines(tasks: readonly ChainStatus[], terminal: Pick<Terminal, "colour">): readonly string[] {
  return table(
    ["TASK", "STATE", "ATTEMPT", "PROGRESS", "RAN", "WAITED", "WHY"],
    tasks.map((task) => [
      String(task.task),
      stateText(task, terminal),
      task.attempt === null ? "" : String(task.attempt),
      progressCell(task),
      task.attempts === 0 ? "" : ranText(task),
      waitedText(task),
      whyCell(task),
    ]),
  );
}

export function taskCsv(tasks: readonly ChainStatus[]): string {
  const keys = [
    "task",
    "state",
    "attempt",
    "attempts",
    "total",
    "verdict",
    "decision",
    "startedAtMs",
    "endedAtMs",
  ] as const;
  const more = ["windowEndAtMs", "ranMs", "waitedMs", "cpuMs", "ref", "reason"] as const;
  return csv(
    [...keys, ...more, "progress", "ranIsLowerBound"],
    tasks.map((task) => [
      ...keys.map((key) => task[key]),
      ...more.map((key) => task[key]),
      "value" in task.progress ? task.progress.value : null,
      task.ranIsLowerBound,
    ]),
  );
}
