/**
 * squeue in a format of our own. Fields and rows end in control characters, so that no name or path, whatever it holds
 * ('|', blanks, newlines), can break a row in two; job names are not asked for at all.
 */
import { decodeWaitStatus, type ExitStatus } from "./exit-status.ts";
import { parseTimeStamp } from "./time-stamp.ts";

export interface QueueRow {
  readonly id: string;
  readonly cluster: string;
  /** `COMPLETING` hides the state that the job will end in. */
  readonly state: string;
  readonly reason: string | null;
  /** Meaningful once the job has ended. */
  readonly exit: ExitStatus | null;
  readonly submitAtMs: number | null;
  /** Of a job that waits, when the controller expects to start it. */
  readonly startAtMs: number | null;
  /** The end by the time limit while it runs, the end itself afterwards; null without a limit. */
  readonly endAtMs: number | null;
  /** As Slurm prints it: `30:00`, `1-00:00:00`, `UNLIMITED`. */
  readonly timeLimit: string;
  readonly nodeList: string;
  readonly partition: string;
  readonly account: string;
  readonly qos: string;
  readonly cpus: number | null;
  /** `cpu=1,mem=250M,node=1`. */
  readonly resources: string;
  /** Path of the batch script as it was given to sbatch, made absolute. */
  readonly command: string;
  /** How often it was requeued. */
  readonly restarts: number;
}

const FIELDS = [
  "JobID",
  "Cluster",
  "State",
  "Reason",
  "exit_code",
  "SubmitTime",
  "StartTime",
  "EndTime",
  "TimeLimit",
  "NodeList",
  "Partition",
  "Account",
  "QOS",
  "NumCPUs",
  "tres-alloc",
  "RestartCnt",
  "Command",
] as const;
const FIELD_END = "\u001f";
const ROW_END = "\u001e";

/** The value of `squeue --Format`. To be run with TIME_STAMP_ENVIRONMENT. */
export const SQUEUE_FORMAT = FIELDS.map((name) => `${name}:${FIELD_END}`).join(",") + ROW_END;

/** Reads the answer. @throws SyntaxError when it is not in our format (another program, a cut answer). */
export function parseSqueue(text: string): readonly QueueRow[] {
  return text
    .split(ROW_END)
    .map((row) => row.replace(/^\n/, ""))
    .filter((row) => row !== "")
    .map(parseRow);
}

function parseRow(row: string): QueueRow {
  const values = row.split(FIELD_END);
  // Each field is followed by its end, so there is one empty value more than there are fields.
  // A path comes last and may hold even that character.
  if (values.length < FIELDS.length + 1)
    throw new SyntaxError(`squeue answered a row of ${values.length - 1} fields, expected ${FIELDS.length}: ${row}`);
  const at = (name: (typeof FIELDS)[number]): string => values[FIELDS.indexOf(name)] ?? "";
  const reason = at("Reason");
  return {
    id: at("JobID"),
    cluster: at("Cluster"),
    state: at("State"),
    reason: reason === "" || reason === "None" ? null : reason,
    exit: decodeWaitStatus(at("exit_code")),
    submitAtMs: parseTimeStamp(at("SubmitTime")),
    startAtMs: parseTimeStamp(at("StartTime")),
    // Without a limit Slurm names an end a year ahead.
    endAtMs: at("TimeLimit") === "UNLIMITED" ? null : parseTimeStamp(at("EndTime")),
    timeLimit: at("TimeLimit"),
    nodeList: at("NodeList"),
    partition: at("Partition"),
    account: at("Account"),
    qos: at("QOS"),
    cpus: /^\d+$/.test(at("NumCPUs")) ? Number(at("NumCPUs")) : null,
    resources: at("tres-alloc"),
    command: values.slice(FIELDS.indexOf("Command"), -1).join(FIELD_END),
    restarts: Number(at("RestartCnt")) || 0,
  };
}
