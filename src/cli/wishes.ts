/** What a person asks of an attached command by signals. */

/** The first Ctrl-C (or TERM) drains, the second cancels; a lost terminal detaches, and the chain goes on. */
export type Wish = "drain" | "cancel" | "detach";

export interface Wishes {
  /** The strongest so far. */
  wish(): Wish | null;
  /** Aborted by the first of them. */
  readonly signal: AbortSignal;
  /** Called for each from here on, and at once for one that has come already. */
  act(on: (wish: Wish) => void): void;
  /** From here on a signal ends this process as usual. */
  close(): void;
}

/** Listens from now on: to be called before anything is begun that a signal must not cut in two. */
export function listenForWishes(): Wishes {
  const first = new AbortController();
  let wish: Wish | null = null;
  let act: (wish: Wish) => void = () => {};
  const make = (next: Wish): void => {
    wish = next;
    first.abort();
    act(next);
  };
  const asked = (): void => {
    if (wish === null) make("drain");
    else if (wish === "drain") make("cancel");
  };
  const lost = (): void => {
    if (wish === null) make("detach");
  };
  process.on("SIGINT", asked);
  process.on("SIGTERM", asked);
  process.on("SIGHUP", lost);
  return {
    wish: () => wish,
    signal: first.signal,
    act(on) {
      act = on;
      if (wish !== null) on(wish);
    },
    close() {
      process.off("SIGINT", asked);
      process.off("SIGTERM", asked);
      process.off("SIGHUP", lost);
    },
  };
}
