/** Rows to put into a double, by the columns of Iris that matter to usage; the others get what Iris would put there. */
export interface JobRow {
  readonly job_id: string;
  readonly parent_job_id: string | null;
  readonly state: number;
  readonly is_reservation_holder?: number;
  /** Of job_config. */
  readonly res_cpu_millicores?: number;
}

export interface TaskRow {
  readonly task_id: string;
  readonly job_id: string;
  readonly task_index: number;
  readonly state: number;
  readonly started_at_ms: number | null;
  readonly finished_at_ms: number | null;
}

export interface AttemptRow {
  readonly task_id: string;
  readonly attempt_id: number;
  readonly state: number;
  readonly started_at_ms: number | null;
  readonly finished_at_ms: number | null;
}

/** `ts` in epoch ms, with a fraction where microseconds are wanted. */
export interface SampleRow {
  readonly task_id: string;
  readonly attempt_id: number;
  readonly worker_id: string;
  readonly ts: number;
  readonly cpu_millicores: number | null;
  readonly memory_mb: number;
  readonly disk_mb: number;
  readonly memory_peak_mb: number;
}

export interface IrisRows {
  readonly jobs: readonly JobRow[];
  readonly tasks: readonly TaskRow[];
  readonly attempts: readonly AttemptRow[];
  readonly samples: readonly SampleRow[];
}

/** May 2026: finelog in Python over DuckDB. Newer: finelog in Rust over DataFusion. */
export type Era = "may-2026" | "newer";
