/** The table of attempts. */
import type { AttemptRow } from "../chain/index.ts";
import { formatBytes } from "../core/index.ts";
import { csv, table } from "./terminal.ts";
import { cpuSpan, exitText, invalidWhy, moment, momentInZone, progressChange, ranText, zone } from "./words.ts";

export function attemptLines(rows: readonly AttemptRow[]): readonly string[] {
  if (rows.length === 0) return ["no attempt yet"];
  const zones = [...new Set(rows.flatMap((row) => (row.startedAtMs === null ? [] : [zone(row.startedAtMs)])))];
  // A change of the clocks on the way: each moment then says its own.
  const [started, time] = zones.length === 1 ? [`STARTED (${zones[0]})`, moment] : ["STARTED", momentInZone];
  return table(
    ["ATTEMPT", "VERDICT", started, "RAN", "PROGRESS", "EXIT", "CPU", "PEAK MEMORY", "WHY"],
    rows.map((row) => [
      String(row.number),
      row.verdict ?? stateOfOpen(row),
      time(row.startedAtMs),
      ranText(row),
      progressChange(row),
      exitText(row),
      cpu(row),
      row.memoryPeakBytes === null
        ? ""
        : `${row.memoryPeakIsLowerBound ? "≥ " : ""}${formatBytes(row.memoryPeakBytes)}`,
      whyText(row) ?? "",
    ]),
  );
}

/** One line for an attempt that has ended. */
export function attemptLine(row: AttemptRow): string {
  const parts = [
    row.ranMs === null ? null : `ran ${ranText(row)}`,
    progressChange(row) === "" ? null : `progress ${progressChange(row)}`,
    whyText(row),
  ];
  return `attempt ${row.number}: ${row.verdict ?? "open"}, ${parts.filter((part) => part !== null).join(", ")}`;
}

function whyText(row: AttemptRow): string | null {
  const parts = [row.why, invalidWhy(row.progressAfter, row.why)].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join("; ");
}

export function attemptCsv(rows: readonly AttemptRow[]): string {
  return csv(
    [
      "attempt",
      "verdict",
      "decision",
      "startedAtMs",
      "endedAtMs",
      "ranMs",
      "progressBefore",
      "progressAfter",
      "exitCode",
      "signal",
      "cpuUserMs",
      "cpuSystemMs",
      "memoryPeakBytes",
      "ref",
      "why",
      "ranIsLowerBound",
    ],
    rows.map((row) => [
      row.number,
      row.verdict,
      row.decision,
      row.startedAtMs,
      row.endedAtMs,
      row.ranMs,
      row.progressBefore,
      row.progressAfter !== null && "value" in row.progressAfter ? row.progressAfter.value : null,
      row.exitCode,
      row.signal,
      row.cpuUserMs,
      row.cpuSystemMs,
      row.memoryPeakBytes,
      row.ref,
      row.why,
      row.ranIsLowerBound,
    ]),
  );
}

function stateOfOpen({ withdrawn, startedAtMs }: AttemptRow): string {
  if (withdrawn !== null) return "withdrawn";
  return startedAtMs === null ? "queued" : "running";
}

function cpu({ cpuUserMs, cpuSystemMs }: AttemptRow): string {
  return cpuUserMs === null && cpuSystemMs === null ? "" : cpuSpan((cpuUserMs ?? 0) + (cpuSystemMs ?? 0));
}
