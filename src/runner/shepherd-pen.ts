import { join } from "node:path";
import { RECORD_VERSION, type Ref } from "../core/index.ts";
import { type Folder, pooledFolder, realClock, thisProcess } from "../host/index.ts";
import { placeOfAttemptFolder } from "../journal/index.ts";
import { formatLocalRef, type LocalRecord, writeLocalRecord } from "../schedulers/index.ts";
import { withReserve } from "./reserve.ts";

const EMPTY: Omit<LocalRecord, "ref" | "shepherd" | "submittedAtMs"> = {
  version: RECORD_VERSION,
  phase: "pending",
  runner: null,
  startedAtMs: null,
  limitEndAtMs: null,
  endedAtMs: null,
  elapsedMs: null,
  state: null,
  exitCode: null,
  signal: null,
  cpuUserMs: null,
  cpuSystemMs: null,
  memoryPeakBytes: null,
  memoryPeakIsLowerBound: true,
  survivors: [],
};

/** The one writer of `local.json`: one write after the other. */
export class Pen {
  startedMs = realClock.monotonicMs();
  readonly folder: Folder;
  readonly #attemptFolder: string;
  #record: LocalRecord;
  #last: Promise<unknown> = Promise.resolve();

  constructor(attemptFolder: string) {
    const shepherd = thisProcess();
    const task = placeOfAttemptFolder(attemptFolder)?.task.folder ?? attemptFolder;
    this.folder = withReserve(pooledFolder(), join(task, "reserve"));
    this.#attemptFolder = attemptFolder;
    this.#record = { ...EMPTY, ref: formatLocalRef(shepherd), shepherd, submittedAtMs: realClock.nowMs() };
  }

  get bootId(): string {
    return this.#record.shepherd.bootId;
  }

  get ref(): Ref {
    return this.#record.ref;
  }

  write(change: Partial<LocalRecord>): Promise<void> {
    this.#record = { ...this.#record, ...change };
    const written = this.#last.then(() => writeLocalRecord(this.folder, this.#attemptFolder, this.#record));
    // A failed note on the way is made good by the next; who waits for this one hears of it.
    this.#last = written.catch(() => undefined);
    return written;
  }
}
