/** The table of attempts. */
import type { AttemptRow } from "../chain/index.ts";
import { formatBytes } from "../core/index.ts";
import { csv, table } from "./terminal.ts";
import { exitText, moment, progressChange, span } from "./words.ts";

const HEADINGS = ["ATTEMPT", "VERDICT", "STARTED", "RAN", "PROGRESS", "EXIT", "CPU", "PEAK MEMORY", "WHY"];

export function attemptLines(rows: readonly AttemptRow[]): readonly string[] {
  if (rows.length === 0) return ["no attempt yet"];
  return table(
    HEADINGS,
    rows.map((row) => [
      String(row.number),
      row.verdict ?? (row.startedAtMs === null ? "queued" : "running"),
      moment(row.startedAtMs),
      span(row.ranMs),
      progressChange(row),
      exitText(row),
      cpu(row),
      row.memoryPeakBytes === null
        ? ""
        : `${row.memoryPeakIsLowerBound ? "≥ " : ""}${formatBytes(row.memoryPeakBytes)}`,
      row.why ?? "",
    ]),
  );
}

/** One line for an attempt that has ended. */
export function attemptLine(row: AttemptRow): string {
  const parts = [
    row.ranMs === null ? null : `ran ${span(row.ranMs)}`,
    progressChange(row) === "" ? null : `progress ${progressChange(row)}`,
    row.why,
  ];
  return `attempt ${row.number}: ${row.verdict ?? "open"}, ${parts.filter((part) => part !== null).join(", ")}`;
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
    ]),
  );
}

function cpu({ cpuUserMs, cpuSystemMs }: AttemptRow): string {
  return cpuUserMs === null && cpuSystemMs === null ? "" : span((cpuUserMs ?? 0) + (cpuSystemMs ?? 0));
}
