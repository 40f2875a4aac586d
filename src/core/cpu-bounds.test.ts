import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuFigures } from "./cpu-bounds.ts";
import { IntegralBuilder, type Sample, SpanBuilder, usualHoleMs } from "./sample-span.ts";
import type { SampleSpan } from "./usage-rows.ts";

function sample(elapsedMs: number, cpuMillicores: number | null, counterCpuMs: number | null = null): Sample {
  return { atMs: 1_000_000 + elapsedMs, elapsedMs, cpuMillicores, counterCpuMs, memoryPeakBytes: null };
}

function spanOf(samples: readonly Sample[], holeMs: number): SampleSpan {
  const plain = new SpanBuilder();
  const integral = new IntegralBuilder(holeMs);
  for (const each of samples) {
    plain.add(each);
    integral.add(each);
  }
  const figures = plain.figures();
  if (figures === null) throw new Error("no sample");
  return { ...figures, taskId: "/u/j/0", attempt: 1, integral: integral.integral(), hosts: null };
}

describe("integrals over samples", () => {
  // 1 core for 10 s, then 3 cores, with a hole of 40 s in which nobody looked.
  const samples = [
    sample(0, 1000, 0),
    sample(10_000, 1000, 10_000),
    sample(20_000, 3000, 30_000),
    sample(60_000, 1000, 95_000),
  ];

  it("weigh each interval, find the holes, and take the counter's difference", () => {
    expect(spanOf(samples, 30_000)).toMatchObject({
      samples: 4,
      meanCpuMillicores: 1500,
      integral: {
        weightedCpuMs: 10_000 + 20_000 + 80_000,
        lowCpuMs: 20_000,
        highCpuMs: 40_000,
        counterCpuMs: 95_000,
        holes: 1,
        holesMs: 40_000,
        longestIntervalMs: 40_000,
      },
    });
  });

  it("are bounded by what could have been used in the holes", () => {
    const figures = cpuFigures([spanOf(samples, 30_000)], () => 4)?.figures ?? [];
    expect(figures).toMatchObject([
      { by: "mean-span", cpuMs: 90_000, lowCpuMs: 20_000, highCpuMs: 40_000 + 160_000 },
      { by: "weighted", cpuMs: 110_000, lowCpuMs: 20_000, highCpuMs: 200_000 },
      { by: "counter", cpuMs: 95_000, lowCpuMs: 94_999, highCpuMs: 95_001 },
    ]);
    expect(cpuFigures([spanOf(samples, 30_000)], () => null)?.figures[1]?.highCpuMs).toBeNull();
  });

  it("take the second reading for the first one where that tells nothing", () => {
    expect(spanOf([sample(0, null), sample(10_000, 500)], 30_000).integral).toMatchObject({ weightedCpuMs: 5_000 });
  });

  it("call an interval a hole from three usual ones on", () => {
    expect(usualHoleMs([{ samples: 11, firstAtMs: 0, lastAtMs: 70_000 }])).toBe(21_000);
    expect(usualHoleMs([{ samples: 1, firstAtMs: 5, lastAtMs: 5 }])).toBe(0);
  });

  it("say nothing of attempts that have no two samples", () => {
    expect(cpuFigures([spanOf([sample(0, 100)], 1)], () => 1)).toBeNull();
  });
});

describe("any load that keeps to what is assumed", () => {
  it("lies within the bounds: straight lines between the samples, anything in the holes", () => {
    const step = fc.record({
      ms: fc.integer({ min: 1, max: 60_000 }),
      millicores: fc.integer({ min: 0, max: 8000 }),
      inHole: fc.integer({ min: 0, max: 8000 }),
    });
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 2, maxLength: 30 }),
        fc.integer({ min: 1, max: 40_000 }),
        (steps, holeMs) => {
          let elapsedMs = 0;
          let trueCpuMs = 0;
          let before: number | null = null;
          const samples = steps.map(({ ms, millicores, inHole }) => {
            if (before !== null) {
              elapsedMs += ms;
              trueCpuMs += ms > holeMs ? (ms * inHole) / 1000 : (ms * (before + millicores)) / 2000;
            }
            before = millicores;
            return sample(elapsedMs, millicores, Math.round(trueCpuMs));
          });
          for (const { lowCpuMs, highCpuMs } of cpuFigures([spanOf(samples, holeMs)], () => 8)?.figures ?? []) {
            expect(trueCpuMs).toBeGreaterThanOrEqual(lowCpuMs - 1e-6);
            expect(trueCpuMs).toBeLessThanOrEqual((highCpuMs ?? 0) + 1e-6);
          }
        },
      ),
    );
  });

  it("a sample dropped in the middle changes neither span nor counter", () => {
    const values = fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 3, maxLength: 20 });
    fc.assert(
      fc.property(values, fc.nat(), (steps, which) => {
        let elapsedMs = 0;
        const samples = steps.map((ms) => {
          elapsedMs += ms;
          return sample(elapsedMs, 1000, elapsedMs);
        });
        const at = 1 + (which % (samples.length - 2));
        const [all, fewer] = [spanOf(samples, 1e9), spanOf(samples.toSpliced(at, 1), 1e9)];
        expect([fewer.firstAtMs, fewer.lastAtMs]).toEqual([all.firstAtMs, all.lastAtMs]);
        expect(fewer.integral?.counterCpuMs).toBe(all.integral?.counterCpuMs);
      }),
    );
  });
});
