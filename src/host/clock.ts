/** Time as a parameter, so that tests can set it. */
export interface Clock {
  /** Epoch milliseconds UTC. May jump either way. */
  nowMs(): number;
  /** Whole milliseconds of this boot's monotonic clock (CLOCK_MONOTONIC): comparable between processes of one boot. */
  monotonicMs(): number;
  /** Ends after `ms` (0 or more) or as soon as the signal is aborted, whichever is first; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const realClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => Number(process.hrtime.bigint() / 1_000_000n),
  async sleep(ms, signal) {
    const endAtMs = realClock.monotonicMs() + ms;
    for (let left = ms; left > 0 && signal?.aborted !== true; left = endAtMs - realClock.monotonicMs()) {
      await oneTimer(Math.min(left, LONGEST_TIMER_MS), signal);
    }
  },
};

/** setTimeout fires at once when asked for more. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function oneTimer(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}
