/** A small tree with every oddity of ids and records that Iris can hold, and what comes of it, added up by hand. */
import type { IrisRows, SampleRow } from "../double/rows.ts";

export const ODD_ROOT = "/an_n/Jo%b";

/** Whole seconds since this. */
const ZERO_MS = Date.parse("2026-06-01T00:00:00Z");
const at = (seconds: number | null): number | null => (seconds === null ? null : ZERO_MS + seconds * 1000);

const [PENDING, RUNNING, SUCCEEDED, FAILED, KILLED, PREEMPTED] = [1, 3, 4, 5, 6, 10];

function task(job_id: string, task_index: number, state: number, started: number | null, finished: number | null) {
  return {
    task_id: `${job_id}/${task_index}`,
    job_id,
    task_index,
    state,
    started_at_ms: at(started),
    finished_at_ms: at(finished),
  };
}

function attempt(task_id: string, attempt_id: number, state: number, started: number | null, finished: number | null) {
  return { task_id, attempt_id, state, started_at_ms: at(started), finished_at_ms: at(finished) };
}

function samples(task_id: string, attempt_id: number, seconds: readonly number[], cpu_millicores = 1000): SampleRow[] {
  return seconds.map((second) => ({
    task_id,
    attempt_id,
    worker_id: "w",
    ts: ZERO_MS + second * 1000,
    cpu_millicores,
    memory_mb: 1,
    disk_mb: 0,
    memory_peak_mb: 2,
  }));
}

const R = ODD_ROOT;

/** The newer era has no reservation holders: there they are leaves like others. */
export const ODD_ROWS: IrisRows = {
  jobs: [
    { job_id: R, parent_job_id: null, state: RUNNING },
    // Beside it, not below: what LIKE, case or a mere prefix would take along.
    { job_id: "/anXn/JoYb/a", parent_job_id: null, state: SUCCEEDED },
    { job_id: "/an_n/jo%b/a", parent_job_id: null, state: SUCCEEDED },
    { job_id: `${R}2`, parent_job_id: null, state: SUCCEEDED },
    { job_id: `${R}2/a`, parent_job_id: `${R}2`, state: SUCCEEDED },
    { job_id: `${R}/it's`, parent_job_id: R, state: SUCCEEDED },
    { job_id: `${R}/create-index;drop`, parent_job_id: R, state: SUCCEEDED },
    { job_id: `${R}/7`, parent_job_id: R, state: SUCCEEDED },
    { job_id: `${R}/:reservation:`, parent_job_id: R, state: RUNNING, is_reservation_holder: 1 },
    // Its parent has been pruned.
    { job_id: `${R}/gone/orphan`, parent_job_id: null, state: SUCCEEDED },
    { job_id: `${R}/odd`, parent_job_id: R, state: FAILED },
  ],
  tasks: [
    task("/anXn/JoYb/a", 0, SUCCEEDED, 0, 10_000),
    task("/an_n/jo%b/a", 0, SUCCEEDED, 0, 20_000),
    task(`${R}2/a`, 0, SUCCEEDED, 0, 40_000),
    // Of the root, which is an inner job; its id is that of a job, too.
    task(R, 7, SUCCEEDED, 0, 500),
    task(`${R}/it's`, 0, SUCCEEDED, 0, 100),
    task(`${R}/create-index;drop`, 0, SUCCEEDED, 0, 200),
    task(`${R}/7`, 0, SUCCEEDED, 0, 300),
    task(`${R}/:reservation:`, 0, RUNNING, 0, null),
    task(`${R}/gone/orphan`, 0, SUCCEEDED, 0, 400),
    task(`${R}/odd`, 0, FAILED, 0, 50),
    task(`${R}/odd`, 1, KILLED, 10, null),
    task(`${R}/odd`, 2, SUCCEEDED, 30, 20),
    task(`${R}/odd`, 3, PENDING, null, null),
    task(`${R}/odd`, 4, SUCCEEDED, 0, 1_000),
  ],
  attempts: [
    attempt(`${R}/it's/0`, 0, SUCCEEDED, 0, 100),
    attempt(`${R}/create-index;drop/0`, 0, SUCCEEDED, 0, 200),
    attempt(`${R}/7/0`, 0, SUCCEEDED, 0, 300),
    attempt(`${R}/gone/orphan/0`, 0, SUCCEEDED, 0, 400),
    attempt(`${R}/odd/0`, 0, FAILED, 0, 50),
    attempt(`${R}/odd/1`, 0, KILLED, 10, null),
    attempt(`${R}/odd/2`, 0, SUCCEEDED, 30, 20),
    // Preempted without an end on record; never started; one sample; no sample; the last.
    attempt(`${R}/odd/4`, 0, PREEMPTED, 0, null),
    attempt(`${R}/odd/4`, 1, PREEMPTED, null, 210),
    attempt(`${R}/odd/4`, 2, PREEMPTED, 300, 360),
    attempt(`${R}/odd/4`, 3, PREEMPTED, 400, 470),
    attempt(`${R}/odd/4`, 4, SUCCEEDED, 500, 1_000),
  ],
  samples: [
    ...samples("/an_n/jo%b/a/0", 0, [0, 19_000]),
    ...samples(`${R}2/a/0`, 0, [0, 39_000]),
    ...samples(`${R}/7`, 0, [0, 450]),
    ...samples(`${R}/it's/0`, 0, [1, 50, 98]),
    ...samples(`${R}/create-index;drop/0`, 0, [1, 198], 2000),
    ...samples(`${R}/7/0`, 0, [1, 298]),
    ...samples(`${R}/gone/orphan/0`, 0, [1, 398]),
    ...samples(`${R}/odd/0`, 0, [1, 48]),
    ...samples(`${R}/odd/1`, 0, [11, 30]),
    ...samples(`${R}/odd/2`, 0, [12, 18]),
    ...samples(`${R}/odd/4`, 0, [5, 150]),
    ...samples(`${R}/odd/4`, 2, [330]),
    ...samples(`${R}/odd/4`, 4, [505, 990]),
    // A task that no table knows, and a job that none knows.
    ...samples(`${R}/odd/9`, 0, [0, 33]),
    ...samples(`${R}/pruned/0`, 0, [0, 77]),
  ],
};

/** Seconds, succeeded tasks alone: it's 100, create 200, 7 300, orphan 400, odd/4 1000. */
export const ODD_TASKS_SEC = 2_000;
/** 97 + 197 + 297 + 397, of odd 47 + 19 + 6 + 145 + 0 + 485 + 33. */
export const ODD_SAMPLES_SEC = 988 + 735;

export const ODD_CAUSES_SEC = {
  between: 40 + 30,
  "lead-in": 1 + 1 + 1 + 1 + 5 + 5,
  tail: 2 + 2 + 2 + 2 + 10,
  "one-sample": 60,
  "no-samples": 70,
  "without-end": -19,
  "filtered-state": -47,
  "not-positive": -6,
  "without-task": -33,
};
/** After odd/4's first attempt, from its last sample at 150 to the next start at 300. */
export const ODD_MISSING_SEC = { "missing-end": 150 };
