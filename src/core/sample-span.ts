/** From the single samples of an attempt to its one row: plain figures, and integrals over the intervals between them. */
import type { SampleSpan, SpanIntegral } from "./usage-rows.ts";

/** One sample. Null: it does not tell. */
export interface Sample {
  readonly atMs: number;
  /** Since the attempt's start, on a clock that nobody sets. */
  readonly elapsedMs: number;
  /** Used so far; never goes down. */
  readonly counterCpuMs: number | null;
  /** Mean since the sample before, in whole millicores. */
  readonly cpuMillicores: number | null;
  readonly memoryPeakBytes: number | null;
}

type Figures = Pick<
  SampleSpan,
  "samples" | "firstAtMs" | "lastAtMs" | "remainderUs" | "meanCpuMillicores" | "memoryPeakBytes"
>;

/** Samples in any order. */
export class SpanBuilder {
  #samples = 0;
  #firstAtMs = Number.POSITIVE_INFINITY;
  #lastAtMs = Number.NEGATIVE_INFINITY;
  #cpuSamples = 0;
  #cpuMillicores = 0;
  #memoryPeakBytes: number | null = null;

  add({ atMs, cpuMillicores, memoryPeakBytes }: Sample): void {
    this.#samples += 1;
    this.#firstAtMs = Math.min(this.#firstAtMs, atMs);
    this.#lastAtMs = Math.max(this.#lastAtMs, atMs);
    if (cpuMillicores !== null) {
      this.#cpuSamples += 1;
      this.#cpuMillicores += cpuMillicores;
    }
    if (memoryPeakBytes !== null) this.#memoryPeakBytes = Math.max(this.#memoryPeakBytes ?? 0, memoryPeakBytes);
  }

  /** Null: there was none. */
  figures(): Figures | null {
    if (this.#samples === 0) return null;
    return {
      samples: this.#samples,
      firstAtMs: this.#firstAtMs,
      lastAtMs: this.#lastAtMs,
      remainderUs: 0,
      meanCpuMillicores: this.#cpuSamples === 0 ? null : this.#cpuMillicores / this.#cpuSamples,
      memoryPeakBytes: this.#memoryPeakBytes,
    };
  }
}

/** Samples in order of time. `holeMs`: a longer interval is a hole. */
export class IntegralBuilder {
  readonly #holeMs: number;
  #before: Sample | null = null;
  #firstCounterMs: number | null = null;
  #counterCpuMs: number | null = null;
  #sums = { weightedCpuMs: 0, lowCpuMs: 0, highCpuMs: 0, holes: 0, holesMs: 0, longestIntervalMs: 0 };

  constructor(holeMs: number) {
    this.#holeMs = holeMs;
  }

  add(sample: Sample): void {
    const before = this.#before;
    this.#before = sample;
    if (sample.counterCpuMs !== null) {
      this.#firstCounterMs ??= sample.counterCpuMs;
      this.#counterCpuMs = sample.counterCpuMs - this.#firstCounterMs;
    }
    if (before === null) return;
    const ms = Math.max(0, sample.elapsedMs - before.elapsedMs);
    const isHole = ms > this.#holeMs;
    const sums = this.#sums;
    sums.longestIntervalMs = Math.max(sums.longestIntervalMs, ms);
    sums.holes += isHole ? 1 : 0;
    sums.holesMs += isHole ? ms : 0;
    // The first sample of all may tell nothing: then the one after it speaks for both.
    const [from, to] = [before.cpuMillicores ?? sample.cpuMillicores, sample.cpuMillicores];
    if (from === null || to === null) return;
    sums.weightedCpuMs += (ms * (from + to)) / 2 / 1000;
    if (isHole) return;
    sums.lowCpuMs += (ms * Math.min(from, to)) / 1000;
    sums.highCpuMs += (ms * Math.max(from, to)) / 1000;
  }

  integral(): SpanIntegral {
    return { ...this.#sums, counterCpuMs: this.#counterCpuMs, holeMs: this.#holeMs };
  }
}

type Extent = Pick<SampleSpan, "samples" | "firstAtMs" | "lastAtMs">;

/** From the first to the last sample, in whole ms. */
export function spanMs({ firstAtMs, lastAtMs }: Pick<Extent, "firstAtMs" | "lastAtMs">): number {
  return lastAtMs - firstAtMs;
}

/** Mean interval between two samples, over all attempts, in ms; null: no attempt has two. */
export function usualIntervalMs(spans: readonly Extent[]): number | null {
  const intervals = spans.reduce((sum, { samples }) => sum + samples - 1, 0);
  return intervals === 0 ? null : spans.reduce((sum, span) => sum + spanMs(span), 0) / intervals;
}

/** An interval longer than this is a hole: three usual ones. 0: no attempt has two samples. */
export function usualHoleMs(spans: readonly Extent[]): number {
  return 3 * (usualIntervalMs(spans) ?? 0);
}
