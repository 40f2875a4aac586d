/** TERM and INT to a shepherd. A closed terminal (HUP) is nothing to it. */
export interface Asked {
  /** Resolves at the first. */
  readonly first: Promise<void>;
  /** Aborted at the first, and at the second: for waits that either cuts short. */
  readonly signal: AbortSignal;
  readonly hurry: AbortSignal;
  count(): number;
}

export function listenForEnd(): Asked {
  const first = new AbortController();
  const second = new AbortController();
  let count = 0;
  const onSignal = () => {
    count++;
    if (count === 1) first.abort();
    else second.abort();
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  process.on("SIGHUP", () => {});
  return {
    first: new Promise((resolve) => {
      first.signal.addEventListener("abort", () => resolve(), { once: true });
    }),
    signal: first.signal,
    hurry: second.signal,
    count: () => count,
  };
}
