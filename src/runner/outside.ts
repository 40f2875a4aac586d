/** Signals to the runner: what was received, and the first that asks it to end. */
import type { SignalNote } from "../core/index.ts";
import { realClock } from "../host/index.ts";
import type { Outside } from "./ports.ts";

export interface RealOutside extends Outside {
  /** From here on the notes count; `passOn` is called at once for each signal that asks for the end. */
  applicationStarted(startedMonotonicMs: number, passOn: () => void): void;
}

/**
 * Begins to listen. `passesOn`: nobody but us gets such a signal (`local`), so that the application is told by us; Slurm
 * tells all processes of a job itself.
 */
export function listenOutside(passesOn: boolean): RealOutside {
  const notes: { readonly signal: string; readonly atMs: number }[] = [];
  let beganMs = realClock.monotonicMs();
  let tell: () => void = () => {};
  let resolveAsked: () => void = () => {};
  const asked = new Promise<void>((resolve) => {
    resolveAsked = resolve;
  });
  const onSignal = (signal: NodeJS.Signals) => {
    // First the signal, then all else.
    if (passesOn && signal !== "SIGHUP") tell();
    notes.push({ signal, atMs: realClock.monotonicMs() });
    if (!(passesOn && signal === "SIGHUP")) resolveAsked();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    asked,
    received: () =>
      notes.map(
        ({ signal, atMs }): SignalNote => ({ signal, afterMs: Math.round(atMs - beganMs), why: "from outside" }),
      ),
    applicationStarted(startedMonotonicMs, passOn) {
      beganMs = startedMonotonicMs;
      tell = passOn;
    },
  };
}

/** A closed terminal (HUP) is no reason to end on this machine; a batch system that sends it means it. */
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU"] as const;
