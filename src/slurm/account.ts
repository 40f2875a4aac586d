/** The account of a job as `sacct` gives it once all is over: what ledger C needs, with the printed texts beside the numbers. */
import { type AccountRow, type AccountStep, parseMemory } from "../core/index.ts";
import { meaningfulExit, parseExitStatus } from "./exit-status.ts";
import { expandNodeList } from "./node-list.ts";
import { SACCT_FORMAT, sacctRows } from "./sacct.ts";
import { activePhase, parseState } from "./states.ts";
import { parseTimeStamp } from "./time-stamp.ts";

/** One run of a job, by its id; a job that was requeued has several. */
export interface AccountedRun {
  readonly id: string;
  readonly cluster: string;
  /** The run has its end, though of a requeued job another one follows. */
  readonly ended: boolean;
  /** The job stands in an end state: no run follows. */
  readonly over: boolean;
  /** A step whose end is not on file yet; its numbers come with it. Null: none. */
  readonly unfinishedStep: string | null;
  readonly row: Omit<AccountRow, "ref" | "run">;
}

/**
 * The value of `sacct --format`, to be run with TIME_STAMP_ENVIRONMENT, `-P -n -D --noconvert` and without `-X`. No field holds text
 * of a user. There is no field that counts restarts: with `-D` each run is a row.
 */
export const SACCT_ACCOUNT_FORMAT = `${SACCT_FORMAT},Cluster,Eligible,ElapsedRaw,Suspended,AllocCPUS,AllocTRES,TotalCPU,UserCPU,SystemCPU,MaxRSS,ReqMem,Partition,Account`;

/** Reads the answer, in the order of the rows. @throws SyntaxError when a row has not our fields. */
export function parseAccounts(text: string): readonly AccountedRun[] {
  const jobs: { readonly id: string; readonly job: Fields; readonly steps: (readonly [string, Fields])[] }[] = [];
  for (const { id, step, fields } of sacctRows(text, SACCT_ACCOUNT_FORMAT)) {
    if (step === null) jobs.push({ id, job: fields, steps: [] });
    // The steps of a run follow it.
    else jobs.findLast((job) => job.id === id)?.steps.push([step, fields]);
  }
  return jobs.map(({ id, job, steps }) => runOf(id, job, steps));
}

type Fields = Readonly<Record<string, string>>;

function runOf(id: string, fields: Fields, stepFields: readonly (readonly [string, Fields])[]): AccountedRun {
  const state = parseState(fields.State ?? "");
  const nodes = expandNodeList(fields.NodeList ?? "");
  const steps = stepFields.map(([step, of]) => stepOf(step, of));
  const numbers = numbersOf(fields);
  const memory = parseMemory(fields.ReqMem ?? "");
  const peaks = steps.flatMap(({ memoryPeakBytes }) => memoryPeakBytes ?? []);
  const ended = numbers.endAtMs !== null;
  return {
    id,
    cluster: fields.Cluster ?? "",
    ended,
    over: ended && activePhase(state.word) === null,
    unfinishedStep: steps.find(({ endAtMs }) => endAtMs === null)?.step ?? null,
    row: {
      ...numbers,
      ...meaningfulExit(state, parseExitStatus(fields.ExitCode ?? "")),
      // Without nodes it is the number that was asked for.
      allocatedCpus: nodes.length === 0 ? null : numbers.allocatedCpus,
      // Slurm has it for the steps alone.
      memoryPeakBytes: peaks.length === 0 ? null : Math.max(...peaks),
      cancelledByUid: state.cancelledByUid,
      submitAtMs: parseTimeStamp(fields.Submit ?? ""),
      eligibleAtMs: parseTimeStamp(fields.Eligible ?? ""),
      suspendedMs: parseCpuTime(fields.Suspended ?? ""),
      cpuIsLowerBound:
        nodes.length > 0 && (numbers.cpuTotalMs === null || steps.some((step) => step.cpuTotalMs === null)),
      // Taken by samples of the step's tasks.
      memoryPeakIsLowerBound: true,
      allocated: textOrNull(fields.AllocTRES),
      requestedMemoryBytes: memory.kind === "memory" ? memory.bytes : null,
      requestedMemoryPer: memory.kind === "memory" ? memory.per : null,
      nodes,
      partition: textOrNull(fields.Partition),
      account: textOrNull(fields.Account),
      steps,
      raw: fields,
    },
  };
}

function stepOf(step: string, fields: Fields): AccountStep {
  const exit = parseExitStatus(fields.ExitCode ?? "");
  const bySignal = exit !== null && exit.signal !== 0;
  return {
    step,
    ...numbersOf(fields),
    exitCode: exit === null || bySignal ? null : exit.exitCode,
    signal: bySignal ? exit.signal : null,
    raw: fields,
  };
}

function numbersOf(fields: Fields): Omit<AccountStep, "step" | "exitCode" | "signal" | "raw"> {
  // No process runs on no CPU time at all: 0 is what Slurm prints where nothing was reported (a lost node, no gathering).
  const totalMs = parseCpuTime(fields.TotalCPU ?? "");
  const told = totalMs !== null && (fields.TotalCPU ?? "") !== ZERO;
  return {
    state: parseState(fields.State ?? "").word,
    startAtMs: parseTimeStamp(fields.Start ?? ""),
    endAtMs: parseTimeStamp(fields.End ?? ""),
    elapsedMs: /^\d+$/.test(fields.ElapsedRaw ?? "") ? Number(fields.ElapsedRaw) * 1000 : null,
    allocatedCpus: /^[1-9]\d*$/.test(fields.AllocCPUS ?? "") ? Number(fields.AllocCPUS) : null,
    cpuTotalMs: told ? totalMs : null,
    cpuUserMs: told ? parseCpuTime(fields.UserCPU ?? "") : null,
    cpuSystemMs: told ? parseCpuTime(fields.SystemCPU ?? "") : null,
    memoryPeakBytes: parsePeak(fields.MaxRSS ?? ""),
  };
}

/** Whole, so without a fraction: some microseconds are printed as `00:00.000`. */
const ZERO = "00:00:00";

/** `[D-][HH:]MM:SS[.fraction]` in milliseconds; null for anything else (`INVALID`, empty). */
export function parseCpuTime(text: string): number | null {
  const match = /^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(\.\d+)?$/.exec(text);
  if (match === null) return null;
  const [, days = "0", hours = "0", minutes, seconds, fraction = "0"] = match;
  const whole = ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
  return whole * 1000 + Math.round(Number(fraction) * 1000);
}

/** Bytes, as `--noconvert` prints them; with a letter in Slurm's units. Null where no sample was taken. */
function parsePeak(text: string): number | null {
  if (/^\d+$/.test(text)) return Number(text) > 0 ? Number(text) : null;
  const memory = parseMemory(text);
  return memory.kind === "memory" && memory.bytes > 0 ? memory.bytes : null;
}

function textOrNull(text: string | undefined): string | null {
  return text === undefined || text === "" ? null : text;
}
