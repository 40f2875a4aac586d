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
  for (const { id, step, fields } of sacctRows(text, SACCT_FORMAT)) {
    const row = { state: parseState(fields.State ?? ""), exit: parseExitStatus(fields.ExitCode ?? "") };
    if (step === null)
      runs.push({
        id,
        ...row,
        submitAtMs: parseTimeStamp(fields.Submit ?? ""),
        startAtMs: parseTimeStamp(fields.Start ?? ""),
        endAtMs: parseTimeStamp(fields.End ?? ""),
        nodeList: fields.NodeList ?? "",
        steps: [],
      });
    // The steps of a run follow it.
    else runs.findLast((run) => run.id === id)?.steps.push({ step, ...row });
  }
  return runs;
}

export interface SacctRow {
  /** Of the job. */
  readonly id: string;
  /** `batch`, `extern`, `0` …; null: the row of the job itself. */
  readonly step: string | null;
  /** By the names in the format. */
  readonly fields: Readonly<Record<string, string>>;
}

/** The rows of an answer to a format that begins with JobIDRaw. @throws SyntaxError when a row has other fields. */
export function sacctRows(text: string, format: string): readonly SacctRow[] {
  const names = format.split(",");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const values = line.split("|");
      if (values.length !== names.length)
        throw new SyntaxError(`sacct answered a row that has not the fields ${format}: ${line}`);
      const [id = "", step = null] = (values[0] ?? "").split(".");
      return { id, step, fields: Object.fromEntries(names.map((name, i) => [name, values[i] ?? ""])) };
    });
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
