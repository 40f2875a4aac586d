/** Rows of `samples.csv`, taken on a timer of their own whatever the folder does. */
import { type Clock, realClock, type TreeMeter, type Usage } from "../host/index.ts";

const HEADER = "at_ms,elapsed_ms,cpu_ms,memory_bytes,memory_peak_bytes,read_bytes,written_bytes,processes\n";

/** Rows that wait for a folder that hangs; later ones are lost until it answers. */
const MOST_WAITING = 20_000;

export class Sampler {
  readonly #meter: TreeMeter;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #timer: NodeJS.Timeout;
  #rows: string[] = [HEADER];
  #last: Usage;

  constructor(meter: TreeMeter, startedMonotonicMs: number, everyMs: number, clock: Clock = realClock) {
    this.#meter = meter;
    this.#clock = clock;
    this.#startedMs = startedMonotonicMs;
    this.#last = this.sample();
    this.#timer = setInterval(() => this.sample(), everyMs).unref();
  }

  /** One more row now; `thorough` looks at the whole machine for members that left the tree. */
  sample(thorough = false): Usage {
    const usage = this.#meter.sample(thorough);
    const elapsedMs = Math.max(0, Math.round(this.#clock.monotonicMs() - this.#startedMs));
    const { cpuMs, memoryBytes, memoryPeakBytes, readBytes, writtenBytes, processes } = usage;
    if (this.#rows.length < MOST_WAITING)
      this.#rows.push(
        `${Math.round(this.#clock.nowMs())},${elapsedMs},${cpuMs},${memoryBytes},${memoryPeakBytes},${readBytes},${writtenBytes},${processes}\n`,
      );
    this.#last = usage;
    return usage;
  }

  /** What was used up to the last row. */
  get last(): Usage {
    return this.#last;
  }

  /** The last row; none follows. */
  end(): void {
    clearInterval(this.#timer);
    this.sample();
  }

  /** Rows since the last call. */
  take(): string {
    const text = this.#rows.join("");
    this.#rows = [];
    return text;
  }
}
