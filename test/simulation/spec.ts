import type { JobSpec } from "../../src/core/index.ts";
import { jobSpec } from "../support/job-spec.ts";

/** A specification with times short enough for a simulated minute: fence < silence, as in the real defaults. */
export function simulatedSpec(total: number, ahead: number, limitMs: number): JobSpec {
  return jobSpec({
    name: "sim",
    command: { kind: "argv", argv: ["count"] },
    cwd: "/project",
    checkpoint: { path: "state.txt", progress: { kind: "number" } },
    total,
    limitMs,
    marginMs: 3_000,
    scheduler: "slurm",
    ahead,
    backoffFirstMs: 200,
    backoffMaxMs: 2_000,
    sampleIntervalMs: 1_000,
    killWaitMs: 1_000,
    timing: {
      proofWaitMs: 20_000,
      doubtfulTwiceMs: 3_000,
      nodesBackMs: 2_000,
      heartbeatSilentMs: 15_000,
      fenceMs: 4_000,
      unclearMs: 12_000,
      pollMs: 1_000,
    },
  });
}
