import { realClock } from "./clock.ts";

/**
 * Ends this process for certain. `process.exit` waits for the threads of Node's pool, and one of them may be stuck in a
 * file system that does not answer (measured: a thread in a blocked `open` holds it for ever). So the decision is made
 * before: nothing outstanding in the pool → `process.exit(code)`; else it may finish within `boundMs`; what is still stuck
 * then → SIGKILL to this process. Its exit code is lost in that case (it shows as signal 9): whatever it had to
 * say must be on file before. `exit` listeners do not run then either.
 */
export async function endSelf(code: number, boundMs = 2_000): Promise<never> {
  const giveUpAtMs = realClock.monotonicMs() + boundMs;
  while (poolIsBusy()) {
    if (realClock.monotonicMs() >= giveUpAtMs) {
      process.kill(process.pid, "SIGKILL");
      // The signal is taken on the way back from the system call; this line only satisfies the type.
      await new Promise<never>(() => {});
    }
    await realClock.sleep(20);
  }
  process.exit(code);
}

/** Requests that hold a thread of the pool: files and name look-ups. Everybody's in this process, not only this folder's. */
export function poolIsBusy(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith("FSReq") || POOLED.has(name));
}

const POOLED: ReadonlySet<string> = new Set(["GetAddrInfoReqWrap", "GetNameInfoReqWrap"]);
