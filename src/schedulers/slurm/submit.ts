import { existsSync } from "node:fs";
import {
  type BatchJob,
  classifyError,
  environmentOutsideJob,
  errorLine,
  parseSbatch,
  sbatchArguments,
} from "../../slurm/index.ts";
import type { Submission, SubmitAnswer } from "../scheduler.ts";
import { failureOf } from "./commands.ts";
import { formatRef, parseRef } from "./ref.ts";
import type { Ran, RunCommand } from "./run-command.ts";

export interface SubmitParts {
  readonly run: RunCommand;
  readonly cluster: string;
  readonly nowMs: number;
  readonly timeoutMs: number;
}

/** One sbatch. What it answers is sorted so that "unclear" is said whenever the job may exist. */
export async function submitJob(submission: Submission, parts: SubmitParts): Promise<SubmitAnswer> {
  const { spec, notBeforeMs } = submission;
  const after = submission.after.map(parseRef);
  const foreign = submission.after.find((_, at) => after[at]?.cluster !== parts.cluster);
  if (foreign !== undefined)
    return { kind: "refused", error: `cannot wait for ${foreign} on cluster ${parts.cluster}`, transient: false };
  const job: BatchJob = {
    script: submission.script,
    attemptFolder: submission.attemptFolder,
    jobName: submission.jobName,
    arrayIndex: submission.arrayIndex ?? null,
    slurm: spec.slurm,
    limitMs: spec.limitMs,
    delayMs: notBeforeMs === null ? null : notBeforeMs - parts.nowMs,
    dependency: submission.dependency ?? null,
    hold: submission.hold ?? false,
    after: after.flatMap((one) => (one === null ? [] : [one.id])),
  };
  const ran = await parts.run("sbatch", sbatchArguments(job), {
    env: environmentOutsideJob(submission.environment),
    // Slurm tells the job this folder as SLURM_SUBMIT_DIR.
    cwd: existsSync(spec.cwd) ? spec.cwd : "/",
    timeoutMs: parts.timeoutMs,
  });
  return readAnswer(ran, parts.cluster);
}

function readAnswer(ran: Ran, ownCluster: string): SubmitAnswer {
  switch (ran.kind) {
    case "timed-out":
    case "killed":
      return { kind: "unclear", error: failureOf("sbatch", ran) ?? "sbatch gave no answer" };
    case "not-started":
      // Too many processes is a matter of the moment, a missing program is not.
      return { kind: "refused", error: failureOf("sbatch", ran) ?? "", transient: /EAGAIN|ENOMEM/.test(ran.error) };
    case "ended": {
      if (ran.exitCode === 0) {
        const answer = parseSbatch(ran.stdout);
        if (answer === null) return { kind: "unclear", error: `sbatch answered "${ran.stdout}", which is no job id` };
        const cluster = answer.cluster ?? ownCluster;
        return { kind: "accepted", ref: formatRef({ cluster, id: answer.id }), cluster, id: answer.id };
      }
      const error = `sbatch: ${errorLine(ran.stderr) || `exit status ${ran.exitCode}`}`;
      const what = classifyError(ran.stderr);
      return what === "unreachable"
        ? { kind: "unclear", error }
        : { kind: "refused", error, transient: what === "transient" };
    }
  }
}
