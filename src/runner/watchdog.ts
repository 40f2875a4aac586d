/** The runner must end even when its folder hangs (protocol §3): its own exit would wait for the stuck call for ever. */
import { type Clock, type Folder, realClock } from "../host/index.ts";

/** A file operation that takes longer than this hangs. */
const STUCK_MS = 30_000;
/** At the limit this is enough: a folder that is only slow gets its testimony, which is worth more than a moment. */
const STUCK_AT_LIMIT_MS = 1_000;
const LOOK_MS = 50;
/** At the limit the scheduler ends everything; this much before it we go by ourselves. */
const RESERVE_MS = 100;

export interface Watchdog {
  /** The same folder; how long its operations take is watched. */
  readonly folder: Folder;
  /** From now on nothing of the application is left: whatever hangs may cost this process its life. */
  nothingRuns(): void;
}

/** SIGKILL to this process when, after the application's end, the folder hangs for 30 s or to the end of the limit. */
export function watchdog(inner: Folder, limitEndMonotonicMs: number | null, clock: Clock = realClock): Watchdog {
  const outstanding = new Map<symbol, number>();
  const watched = <A extends readonly unknown[], R>(action: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      const key = Symbol();
      outstanding.set(key, clock.monotonicMs());
      try {
        return await action(...args);
      } finally {
        outstanding.delete(key);
      }
    };
  };
  let looking = false;
  const look = () => {
    const now = clock.monotonicMs();
    const atLimit = limitEndMonotonicMs !== null && now >= limitEndMonotonicMs - RESERVE_MS;
    const patienceMs = atLimit ? STUCK_AT_LIMIT_MS : STUCK_MS;
    if ([...outstanding.values()].some((sinceMs) => now - sinceMs >= patienceMs)) process.kill(process.pid, "SIGKILL");
  };
  return {
    folder: {
      read: watched(inner.read),
      list: watched(inner.list),
      createOnce: watched(inner.createOnce),
      replace: watched(inner.replace),
      append: watched(inner.append),
      makeFolder: watched(inner.makeFolder),
      remove: watched(inner.remove),
      identity: watched(inner.identity),
      stamp: watched(inner.stamp),
    },
    nothingRuns() {
      if (!looking) setInterval(look, LOOK_MS).unref();
      looking = true;
    },
  };
}
