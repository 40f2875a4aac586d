/** sacct with fields of our own, none of which holds text of a user, and with duplicates: a requeue makes a second run. */
import { type ExitStatus, parseExitStatus } from "./exit-status.ts";
import { activePhase, parseState, type State } from "./states.ts";
import { parseTimeStamp } from "./time-stamp.ts";

/** One run of a job. A job that was requeued or resized has several, under one id. */
export interface AccountingRun {
  readonly id: string;
  readonly state: State;
  readonly exit: ExitStatus | null;
  readonly submitAtMs: number | null;
  readonly startAtMs: number | null;
  readonly endAtMs: number | null;
  readonly nodeList: string;
  readonly steps: readonly AccountingStep[];
}

export interface AccountingStep {
  /** `batch`, `extern`, `0` … */
  readonly step: string;
  readonly state: State;
  /** null: no node has ever reported how the step ended. */
  readonly exit: ExitStatus | null;
}

/** The value of `sacct --format`. To be run with TIME_STAMP_ENVIRONMENT, `-P -n -D` and without `-X`. */
export const SACCT_FORMAT = "JobIDRaw,State,ExitCode,Submit,Start,End,NodeList";

/** Reads the answer of `sacct -P -n -D`. @throws SyntaxError when a row has not our fields. */
export function parseSacct(text: string): readonly AccountingRun[] {
  const runs: (AccountingRun & { readonly steps: AccountingStep[] })[] = [];
  for (const line of text.split("\n").filter((row) => row !== "")) {
    const [id, state, exit, submit, start, end, nodeList, ...rest] = line.split("|");
    if (id === undefined || nodeList === undefined || rest.length > 0)
      throw new SyntaxError(`sacct answered a row that has not the fields ${SACCT_FORMAT}: ${line}`);
    const [job = "", step] = id.split(".");
    const row = { state: parseState(state ?? ""), exit: parseExitStatus(exit ?? "") };
    if (step === undefined)
      runs.push({
        id: job,
        ...row,
        submitAtMs: parseTimeStamp(submit ?? ""),
        startAtMs: parseTimeStamp(start ?? ""),
        endAtMs: parseTimeStamp(end ?? ""),
        nodeList,
        steps: [],
      });
    // The steps of a run follow it.
    else runs.findLast((run) => run.id === job)?.steps.push({ step, ...row });
  }
  return runs;
}

/** The runs of each job, in the order in which they were submitted or requeued: the last one is where the job stands. */
export function runsByJob(runs: readonly AccountingRun[]): ReadonlyMap<string, readonly AccountingRun[]> {
  const jobs = new Map<string, AccountingRun[]>();
  for (const run of runs.toSorted((a, b) => (a.submitAtMs ?? 0) - (b.submitAtMs ?? 0)))
    jobs.set(run.id, [...(jobs.get(run.id) ?? []), run]);
  return jobs;
}

/** Whether the row has reached its end. After an outage accounting can show `FAILED`, `0:0`, `Unknown` for a while. */
export function isFinalRun(run: AccountingRun): boolean {
  return activePhase(run.state.word) === null && run.endAtMs !== null;
}

/**
 * Whether the nodes have told how each step ended. Where a node was cut off while the controller ended the job (time
 * limit, scancel), the job leaves the controller as soon as the node counts as down, and looks like any other end; only the
 * steps' empty exit codes show that nobody has seen the processes go. null: no steps on file.
 */
export function nodesReportedEnd(run: AccountingRun): boolean | null {
  if (run.steps.length === 0) return null;
  return run.steps.every((step) => step.exit !== null && activePhase(step.state.word) === null);
}
