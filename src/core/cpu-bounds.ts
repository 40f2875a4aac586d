/**
 * How far a sampled CPU time can be from the true one, between the first and the last samples. Each bound holds on what it
 * assumes, and says that.
 */
import type { SampleSpan } from "./usage-rows.ts";

export interface CpuFigure {
  readonly by: "mean-span" | "weighted" | "counter";
  readonly cpuMs: number;
  readonly lowCpuMs: number;
  /** Null: nothing bounds it, since no one knows how many cores the attempt could use in the holes. */
  readonly highCpuMs: number | null;
  readonly assumes: string;
}

export interface CpuFigures {
  /** Every figure that the source allows for all attempts. */
  readonly figures: readonly CpuFigure[];
  readonly holes: number;
  readonly holesMs: number;
  readonly longestIntervalMs: number;
  readonly holeMs: number;
  /** Attempts with at least two samples that tell their CPU; the others are in no figure. */
  readonly attempts: number;
  /** Attempts of several hosts of which not all were sampled: their figures are of those hosts alone. */
  readonly partlySampled: number;
}

const BETWEEN = "between two samples the use lies between their readings; in a hole anywhere from 0 to all cores";

/** Null: no attempt was integrated. `coresOf`: how many an attempt can use; null: not known. */
export function cpuFigures(
  spans: readonly SampleSpan[],
  coresOf: (span: SampleSpan) => number | null,
): CpuFigures | null {
  const told = spans.flatMap((span) =>
    span.integral === null || span.meanCpuMillicores === null || span.samples < 2
      ? []
      : [
          {
            span,
            integral: span.integral,
            meanCpuMs: (span.lastAtMs - span.firstAtMs) * (span.meanCpuMillicores / 1000),
          },
        ],
  );
  const first = told[0];
  if (first === undefined) return null;
  const sum = (of: (one: (typeof told)[number]) => number): number => told.reduce((total, one) => total + of(one), 0);
  const weightedCpuMs = sum(({ integral }) => integral.weightedCpuMs);
  const meanCpuMs = sum(({ meanCpuMs }) => meanCpuMs);
  const lowCpuMs = sum(({ integral }) => integral.lowCpuMs);
  const inHoles = told.map(({ span, integral }) => {
    const cores = integral.holesMs === 0 ? 0 : coresOf(span);
    return cores === null ? null : cores * integral.holesMs;
  });
  const highCpuMs = inHoles.includes(null)
    ? null
    : sum(({ integral }) => integral.highCpuMs) + inHoles.reduce<number>((total, ms) => total + (ms ?? 0), 0);
  const counters = told.map(({ integral }) => integral.counterCpuMs);
  const counterCpuMs = counters.reduce<number>((total, ms) => total + (ms ?? 0), 0);
  // The counter's own digits at both ends of each attempt.
  const digitMs = told.length;
  return {
    figures: [
      // What it estimates is the same, so that the same bound holds: the estimate itself may lie outside of it.
      { by: "mean-span", cpuMs: meanCpuMs, lowCpuMs, highCpuMs, assumes: BETWEEN },
      { by: "weighted", cpuMs: weightedCpuMs, lowCpuMs, highCpuMs, assumes: BETWEEN },
      ...(counters.includes(null)
        ? []
        : [
            {
              by: "counter" as const,
              cpuMs: counterCpuMs,
              lowCpuMs: Math.max(0, counterCpuMs - digitMs),
              highCpuMs: counterCpuMs + digitMs,
              assumes: "the counter counts all processes; it is exact to its last digit",
            },
          ]),
    ],
    holes: sum(({ integral }) => integral.holes),
    holesMs: sum(({ integral }) => integral.holesMs),
    longestIntervalMs: told.reduce((most, { integral }) => Math.max(most, integral.longestIntervalMs), 0),
    holeMs: first.integral.holeMs,
    attempts: told.length,
    partlySampled: told.filter(({ span: { hosts } }) => hosts !== null && hosts.sampled < hosts.of).length,
  };
}
