/** How a chain stands, for tests of what is shown of it. */
import type { ChainStatus } from "../../src/chain/index.ts";

/** A stranded one of which nothing else is known. */
export function chainStatus(changes: Partial<ChainStatus> = {}): ChainStatus {
  return {
    job: "/ann/sim",
    folder: "/p/.stint/jobs/ann/sim",
    project: "/p/.stint",
    task: null,
    tasks: null,
    state: "stranded",
    reason: "it is not over, and nobody will move it",
    advice: "stint resume sim",
    attempt: null,
    mover: false,
    submitter: null,
    attempts: 0,
    progress: { state: "not-configured" },
    total: null,
    verdict: null,
    decision: null,
    why: null,
    scheduler: "local",
    ref: null,
    submittedAtMs: null,
    startedAtMs: null,
    endedAtMs: null,
    windowEndAtMs: null,
    marginMs: null,
    saves: [],
    ranMs: 0,
    ranIsLowerBound: false,
    waitedMs: null,
    etaMs: null,
    cpuMs: 0,
    queue: null,
    ...changes,
  };
}
