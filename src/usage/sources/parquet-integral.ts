/** The integrals of Parquet samples: by the quick statement where the files turn out to be sorted, else by the slow one. */
import { type SampleSpan, type SpanIntegral, usualHoleMs } from "../../core/index.ts";
import type { Database } from "../../query/index.ts";
import { numberIn, type Row } from "./cells.ts";
import { rangeOf, type TaskRange } from "./iris-sql.ts";
import { integralSql, type SampleTable, sortedIntegralSql } from "./parquet-sql.ts";

/** Sorted files are the usual case and several times as fast; whether they are sorted the same pass shows. */
export async function withIntegrals(
  database: Database,
  samples: SampleTable,
  root: string,
  asOfMs: number,
  spans: readonly SampleSpan[],
): Promise<readonly SampleSpan[]> {
  const holeMs = usualHoleMs(spans);
  const counts = new Map(spans.map((span) => [`${span.taskId}:${span.attempt}`, span.samples]));
  const quick = await database.rows(sortedIntegralSql(samples, rangesOf(root, spans), asOfMs, holeMs));
  const isSorted = quick.every(
    (row) => Number(row[8]) + 1 === counts.get(`${row[0]}:${row[1]}`) && (row[9] === null || Number(row[9]) >= 0),
  );
  const rows = isSorted ? quick : await database.rows(integralSql(samples, rangeOf(root), asOfMs, holeMs));
  const integrals = new Map(rows.map((row) => [`${row[0]}:${row[1]}`, integralOf(row, holeMs)]));
  return spans.map((span) => ({ ...span, integral: integrals.get(`${span.taskId}:${span.attempt}`) ?? null }));
}

/** The tasks in two parts with about as many samples each: one for each thread of the engine. */
function rangesOf(root: string, spans: readonly SampleSpan[]): readonly TaskRange[] {
  const whole = rangeOf(root);
  const all = spans.reduce((sum, { samples }) => sum + samples, 0);
  // A second scan of the files' ends costs more than it saves.
  if (all < 1_000_000) return [whole];
  let before = 0;
  for (const { taskId, samples } of spans.toSorted((a, b) => compareBytes(a.taskId, b.taskId))) {
    if (before >= all / 2)
      return [
        { from: whole.from, before: taskId },
        { from: taskId, before: whole.before },
      ];
    before += samples;
  }
  return [whole];
}

/** The engine's order, which is not that of UTF-16. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Microseconds of millicores are 10^-6 ms of CPU. */
function integralOf(row: Row, holeMs: number): SpanIntegral {
  return {
    weightedCpuMs: (numberIn(row, 2) ?? 0) / 2e6,
    lowCpuMs: (numberIn(row, 3) ?? 0) / 2e6,
    highCpuMs: (numberIn(row, 4) ?? 0) / 2e6,
    counterCpuMs: null,
    holes: numberIn(row, 5) ?? 0,
    holesMs: Math.round((numberIn(row, 6) ?? 0) / 1000),
    longestIntervalMs: Math.round((numberIn(row, 7) ?? 0) / 1000),
    holeMs,
  };
}
