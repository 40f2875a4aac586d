/** Signals to the runner: what was received, and the first that asks it to end. */
import type { SignalNote } from "../core/index.ts";
import { realClock } from "../host/index.ts";
import type { Outside } from "./ports.ts";

export interface RealOutside extends Outside {
  /** Whether `asked` has resolved. */
  isAsked(): boolean;
  /** From here on the notes count; `passOn` is called at once for each signal that asks for the end, also for an earlier one. */
  applicationStarted(startedMonotonicMs: number, passOn: () => void): void;
}

/** Begins to listen. `outlivesTerminal`: SIGHUP does not ask for the end. */
export function listenOutside(outlivesTerminal: boolean): RealOutside {
  const notes: { readonly signal: string; readonly atMs: number }[] = [];
  let isAsked = false;
  let beganMs = realClock.monotonicMs();
  let tell: () => void = () => {};
  let resolveAsked: () => void = () => {};
  const asked = new Promise<void>((resolve) => {
    resolveAsked = resolve;
  });
  const onSignal = (signal: NodeJS.Signals) => {
    const asks = !(outlivesTerminal && signal === "SIGHUP");
    // First the signal, then all else.
    if (asks) tell();
    notes.push({ signal, atMs: realClock.monotonicMs() });
    if (!asks) return;
    isAsked = true;
    resolveAsked();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    asked,
    isAsked: () => isAsked,
    received: () =>
      notes.map(
        ({ signal, atMs }): SignalNote => ({ signal, afterMs: Math.round(atMs - beganMs), why: "from outside" }),
      ),
    applicationStarted(startedMonotonicMs, passOn) {
      beganMs = startedMonotonicMs;
      tell = passOn;
      if (isAsked) passOn();
    },
  };
}

/** A closed terminal (HUP) is no reason to end on this machine; a batch system that sends it means it. */
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU"] as const;
