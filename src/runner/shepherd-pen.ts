import { join } from "node:path";
import { reservePath, withReserve } from "../chain/index.ts";
import { RECORD_VERSION, type Ref, type Started, type Submitted } from "../core/index.ts";
import { type Folder, pooledFolder, realClock, thisProcess } from "../host/index.ts";
import { type AttemptPlace, readRecord } from "../journal/index.ts";
import { formatLocalRef, type LocalRecord, writeLocalRecord } from "../schedulers/index.ts";
import { requireSameJob, writesForJob } from "./own-job.ts";

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

/** The one writer of `local.json`, one write after the other, for the attempt's shepherd alone: another one writes nothing. */
export class Pen {
  startedMs = realClock.monotonicMs();
  /** Writes into this attempt's own job alone. */
  readonly folder: Folder;
  readonly ref: Ref;
  readonly #home: Home;
  #record: LocalRecord;
  #last: Promise<unknown> = Promise.resolve();

  constructor(home: Home) {
    const { task } = home.place;
    const shepherd = thisProcess();
    this.#home = home;
    this.folder = writesForJob(withReserve(pooledFolder(), reservePath(task)), task.job, home.uuid);
    this.ref = formatLocalRef(shepherd);
    this.#record = { ...EMPTY, ref: this.ref, shepherd, submittedAtMs: realClock.nowMs() };
  }

  /**
   * Whether the attempt is another shepherd's: one is named in `started`, or, before there is a body, in `submitted`. Throws
   * JournalError where the job is no longer this attempt's.
   */
  async isTwin(): Promise<boolean> {
    const { folder } = this.#home.place;
    const started = await readRecord<Started>(this.folder, join(folder, "started.json"));
    const submitted = started ?? (await readRecord<Submitted>(this.folder, join(folder, "submitted.json")));
    // After the reading: what was read was this job's.
    await this.requireSameJob();
    return submitted !== null && submitted.ref !== this.ref;
  }

  requireSameJob(): Promise<void> {
    return requireSameJob(this.folder, this.#home.place.task.job, this.#home.uuid);
  }

  /** Does nothing where the attempt is another shepherd's. */
  write(change: Partial<LocalRecord>): Promise<void> {
    this.#record = { ...this.#record, ...change };
    const written = this.#last.then(async () => {
      if (!(await this.isTwin())) await writeLocalRecord(this.folder, this.#home.place.folder, this.#record);
    });
    // A failed note on the way is made good by the next; who waits for this one hears of it.
    this.#last = written.catch(() => undefined);
    return written;
  }

  /** A note on the way: nobody waits for it. */
  note(change: Partial<LocalRecord>): void {
    this.write(change).catch((error: unknown) => {
      console.error(`stint shepherd: local.json: ${error instanceof Error ? error.message : String(error)}`);
    });
  }
}

/** The attempt that a shepherd was started for. */
export interface Home {
  readonly place: AttemptPlace;
  /** Of the job, from the shepherd's mark. */
  readonly uuid: string;
}
