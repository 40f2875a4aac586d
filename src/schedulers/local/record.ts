/** The local scheduler's own record of one attempt, `local.json`: written by its shepherd alone. */
import { join } from "node:path";
import { type ProcessRef, RECORD_VERSION, type Ref } from "../../core/index.ts";
import type { Folder } from "../../host/index.ts";

/** How the attempt ended, in Slurm's words. `LOST` and `REBOOTED` are said of attempts whose shepherd could say nothing. */
export type LocalState = "COMPLETED" | "FAILED" | "TIMEOUT" | "CANCELLED";

export interface LocalRecord {
  readonly version: number;
  /** `over`: final; everything of the attempt was looked for and ended, but for the survivors. */
  readonly phase: "pending" | "running" | "over";
  readonly ref: Ref;
  readonly shepherd: ProcessRef;
  readonly runner: ProcessRef | null;
  /** When the shepherd began, and when it let the runner start. */
  readonly submittedAtMs: number;
  readonly startedAtMs: number | null;
  readonly limitEndAtMs: number | null;
  readonly endedAtMs: number | null;
  /** From the start of the runner to its end, monotonic. */
  readonly elapsedMs: number | null;
  readonly state: LocalState | null;
  /** The runner's. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Of the runner, the application and all below them that were waited for or ended below the shepherd. */
  readonly cpuUserMs: number | null;
  readonly cpuSystemMs: number | null;
  readonly memoryPeakBytes: number | null;
  readonly memoryPeakIsLowerBound: boolean;
  /** Pids that nothing could end. */
  readonly survivors: readonly number[];
}

/** Null: there is none yet, or it is from a version that this one does not know. Throws what the folder throws. */
export async function readLocalRecord(folder: Folder, attemptFolder: string): Promise<LocalRecord | null> {
  const text = await folder.read(join(attemptFolder, NAME));
  if (text === null || text === "") return null;
  // It comes whole by rename, so that what cannot be read is none of ours.
  const record = JSON.parse(text) as LocalRecord;
  return record.version > RECORD_VERSION ? null : record;
}

export async function writeLocalRecord(folder: Folder, attemptFolder: string, record: LocalRecord): Promise<void> {
  await folder.replace(join(attemptFolder, NAME), `${JSON.stringify(record)}\n`);
}

const NAME = "local.json";
