/** Jobs as lines. */
import { type AccountConflict, type ChainStatus, queueReason, submitterText } from "../chain/index.ts";
import { savesText } from "../core/index.ts";
import { escapeLine } from "./escape.ts";
import { csv, type Terminal, table } from "./terminal.ts";
import {
  cpuSpan,
  invalidWhy,
  moment,
  momentInZone,
  progressCell,
  progressText,
  ranText,
  span,
  stateText,
  waitedText,
  windowLeft,
} from "./words.ts";

const HEADINGS = ["JOB", "PROJECT", "STATE", "ATTEMPT", "PROGRESS", "WINDOW LEFT", "ETA", "RAN", "WAITED", "WHY"];

export function jobLines(
  jobs: readonly ChainStatus[],
  nameOf: (job: ChainStatus) => string,
  terminal: Pick<Terminal, "colour">,
  projectOf: (job: ChainStatus) => string = () => "",
): readonly string[] {
  const nowMs = Date.now();
  return table(
    HEADINGS,
    jobs.map((job) => [
      nameOf(job),
      projectOf(job),
      stateText(job, terminal),
      job.attempt === null ? "" : String(job.attempt),
      progressCell(job),
      windowLeft(job, nowMs),
      span(job.etaMs),
      ranText(job),
      waitedText(job),
      whyCell(job),
    ]),
  );
}

/** The reason, with when it is expected to start and what is to be done. */
export function whyCell({ reason, progress, queue, advice, state }: ChainStatus): string {
  const parts = [
    [reason, invalidWhy(progress, reason)].filter((part) => part !== null).join("; "),
    expected(queue),
    advice === null || state === "over" ? null : `→ ${advice}`,
  ];
  return parts.filter((part) => part !== null && part !== "").join(" ");
}

/** One job in detail, under the name that a person types. */
export function statusLines(job: ChainStatus, name: string, terminal: Terminal): readonly string[] {
  const window = windowLeft(job, Date.now());
  const settled =
    job.verdict === null ? "" : `${job.verdict}${job.why === null ? "" : ` (${job.why})`} → ${job.decision}`;
  const rows: [string, string][] = [
    ["job", name],
    ["state", `${stateText(job, terminal)}${job.reason === null ? "" : `: ${job.reason}`}`],
    ["next", job.advice ?? ""],
    ...queueRows(job),
    ["mover", moverText(job)],
    ["attempt", attemptText(job)],
    ["progress", invalidWhy(job.progress, `${job.reason} ${job.why}`) === null ? progressCell(job) : progressText(job)],
    ["window left", window],
    ["margin", marginText(job)],
    ["ETA", job.etaMs === null ? "" : `${span(job.etaMs)} of run time`],
    ["ran", ranText(job)],
    ["waited", waitedText(job)],
    ["used CPU", job.cpuMs === 0 ? "" : cpuSpan(job.cpuMs)],
    ["last verdict", settled],
    ["submitted", momentInZone(job.submittedAtMs)],
    ["ended", momentInZone(job.endedAtMs)],
    ["scheduler", [job.scheduler, job.ref].filter((part) => part !== null).join(", ")],
    ["folder", job.folder],
  ];
  return rows.filter(([, value]) => value !== "").map(([key, value]) => `${key.padEnd(13)} ${escapeLine(value)}`);
}

/** What accounting says otherwise, below the rest; the newest first, and not more than anybody reads. */
export function conflictLines(conflicts: readonly AccountConflict[]): readonly string[] {
  const shown = conflicts.slice(-MOST_CONFLICTS).reverse();
  const rest = conflicts.length - shown.length;
  const lines = shown.map(({ attempt, text }) => `attempt ${attempt}: ${text}`);
  if (rest > 0) lines.push(`and ${rest} more, see --json`);
  return lines.map((line, i) => `${(i === 0 ? "accounting" : "").padEnd(13)} ${escapeLine(line)}`);
}

const MOST_CONFLICTS = 3;

/** What is kept back for saving in the running attempt, and what saving has taken so far. */
function marginText({ marginMs, windowEndAtMs, saves }: ChainStatus): string {
  const measured = saves.length > 0 ? savesText(saves) : "";
  const inForce = marginMs === null || windowEndAtMs === null ? "" : span(marginMs);
  return [inForce, measured].filter((part) => part !== "").join("; ");
}

/** What the queue says of the attempt that the state speaks of, or of a successor that will not come by itself. */
function queueRows({ queue, attempt, state, tasks }: ChainStatus): [string, string][] {
  // Of several tasks each has its own line.
  if (queue === null || tasks !== null) return [];
  const isNews = state === "waiting" && queue.attempt === attempt;
  const isTrouble = queue.chance === "may-never-start" || queue.chance === "will-never-start";
  if (!isNews && !isTrouble) return [];
  return [
    ...(isNews ? [] : [["successor", `${queueReason(queue)}`] satisfies [string, string]]),
    [
      "in the queue",
      `job ${queue.id} in partition ${queue.partition}${queue.waitedMs === null ? "" : `, for ${span(queue.waitedMs)}`}`,
    ],
    [
      "starts",
      queue.expectedStartAtMs === null
        ? ""
        : `about ${momentInZone(queue.expectedStartAtMs)}, as the scheduler expects`,
    ],
  ];
}

/** When the scheduler expects to start what waits; null: it has not said. */
function expected(queue: ChainStatus["queue"]): string | null {
  return queue?.expectedStartAtMs == null ? null : `(expected ${moment(queue.expectedStartAtMs)})`;
}

/** In the other modes the attempts move the chain themselves, and the state says which. */
function moverText({ submitter, state }: ChainStatus): string {
  if (submitter === null) return "";
  const says = submitter.says === null || state === "running" ? "" : `: ${submitter.says}`;
  return `${submitterText(submitter, Date.now())}${says}`;
}

/** The number alone, unless some of those below it never came to run. */
function attemptText({ attempt, attempts }: ChainStatus): string {
  if (attempt === null) return "";
  return attempts >= attempt - 1 ? String(attempt) : `${attempt} (${attempts} of all have run, the others never did)`;
}

export function jobCsv(jobs: readonly ChainStatus[]): string {
  const keys = [
    "job",
    "state",
    "attempt",
    "attempts",
    "total",
    "verdict",
    "decision",
    "submittedAtMs",
    "startedAtMs",
    "endedAtMs",
    "windowEndAtMs",
    "ranMs",
    "waitedMs",
    "etaMs",
    "cpuMs",
    "scheduler",
    "ref",
    "reason",
  ] as const;
  return csv(
    [
      ...keys,
      "progress",
      "project",
      "queueCode",
      "queueChance",
      "queueSinceMs",
      "expectedStartAtMs",
      "ranIsLowerBound",
    ],
    jobs.map((job) => [
      ...keys.map((key) => job[key]),
      "value" in job.progress ? job.progress.value : null,
      job.project,
      job.queue?.code ?? null,
      job.queue?.chance ?? null,
      job.queue?.sinceMs ?? null,
      job.queue?.expectedStartAtMs ?? null,
      job.ranIsLowerBound,
    ]),
  );
}
