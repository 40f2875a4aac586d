/** What is seen of a chain's submitter: who moves it in mode submitter. */
import type { Ref, Seen } from "../../core/index.ts";
import { submitterRef } from "../../core/index.ts";
import type { Folder } from "../../host/index.ts";
import { readHeartbeat, submitterPlace } from "../../journal/index.ts";
import type { JobOnFile } from "./job-on-file.ts";

export interface SubmitterNow {
  readonly number: number;
  /** The scheduler's name for its job; null: it is being submitted. */
  readonly ref: Ref | null;
  /** `unknown`: the scheduler can't be asked. */
  readonly phase: "claimed" | "queued" | "running" | "unknown";
  readonly host: string | null;
  /** Its last beat, by the clock of its node; null: none yet. */
  readonly heartbeatAtMs: number | null;
  /** What it did at that beat. */
  readonly says: string | null;
}

/** The newest submitter that lives or is queued; null: none is seen. */
export async function submitterNow(
  folder: Folder,
  job: JobOnFile,
  seen: ReadonlyMap<Ref, Seen>,
  nowMs: number,
): Promise<SubmitterNow | null> {
  for (const one of job.submitters.toReversed()) {
    const { number, claim, started, ended } = one;
    if (ended !== null || (claim === null && started === null)) continue;
    const ref = submitterRef(one);
    const isYoung = claim !== null && Math.abs(nowMs - claim.atMs) < job.spec.timing.unclearMs;
    if (ref === null && !isYoung) continue;
    const phase = ref === null ? "claimed" : phaseOf(seen.get(ref));
    if (phase === null) continue;
    const beat = started === null ? null : await readHeartbeat(folder, submitterPlace(job.place, number));
    const host = started?.process.host ?? null;
    return { number, ref, phase, host, heartbeatAtMs: beat?.atMs ?? null, says: beat?.says ?? null };
  }
  return null;
}

/** Null: it is gone. */
function phaseOf(seen: Seen | undefined): SubmitterNow["phase"] | null {
  if (seen === undefined || seen.kind === "unreachable") return "unknown";
  if (seen.kind !== "active" || seen.phase === "completing") return null;
  return seen.phase === "pending" ? "queued" : "running";
}

/** `submitter job 123 on n1, heartbeat 4 s ago`. */
export function submitterText({ number, ref, phase, host, heartbeatAtMs }: SubmitterNow, nowMs: number): string {
  const job = ref === null ? `submitter ${number}` : `submitter job ${ref.split("/").at(-1)}`;
  if (phase === "claimed") return `${job} is being submitted`;
  if (phase === "queued") return `${job} is queued`;
  const beat =
    heartbeatAtMs === null
      ? "no heartbeat yet"
      : `heartbeat ${Math.max(0, Math.round((nowMs - heartbeatAtMs) / 1000))} s ago`;
  return `${job}${host === null ? "" : ` on ${host}`}, ${beat}${phase === "unknown" ? " (the scheduler can't be asked)" : ""}`;
}
