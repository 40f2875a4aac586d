/** The controller's database: real SQLite, behind the gates of ExecuteRawQuery. */
import { DatabaseSync } from "@photostructure/sqlite";
import type { Era, IrisRows } from "./rows.ts";
import { Fault } from "./wire.ts";

const BANNED = /\b(INSERT|UPDATE|DELETE|DROP|ALTER|CREATE|ATTACH|DETACH|PRAGMA|VACUUM|REINDEX|SAVEPOINT)\b/i;

/** SQLAlchemy's text(): a word behind a colon that follows no word is a parameter, inside of literals too. */
const PARAMETER = /(?<![:\w\\]):(\w+)(?!:)/;

export class Controller {
  readonly database = new DatabaseSync(":memory:");
  readonly #era: Era;

  constructor(era: Era) {
    this.#era = era;
    this.database.exec(schema(era));
  }

  /** Columns and rows as ExecuteRawQuery gives them. Throws Fault. */
  query(sql: string): { readonly columns: readonly string[]; readonly rows: readonly string[] } {
    this.#gate(sql);
    try {
      const statement = this.database.prepare(sql);
      statement.setReadBigInts(true);
      statement.setReturnArrays(true);
      const rows = statement.all() as unknown as readonly (readonly unknown[])[];
      return { columns: statement.columns().map(({ name }) => name), rows: rows.map(pythonJson) };
    } catch (error) {
      throw internal(error instanceof Error ? error.message : String(error));
    }
  }

  #gate(sql: string): void {
    const isSelect = /^\s*SELECT/i.test(sql);
    if (this.#era === "newer") {
      if (!isSelect) throw new Fault("invalid_argument", "only SELECT statements are allowed");
      const parameter = PARAMETER.exec(sql)?.[1];
      if (parameter !== undefined) throw internal(`A value is required for bind parameter '${parameter}'`);
      return;
    }
    if (!isSelect) throw internal("Only SELECT statements are allowed");
    const banned = BANNED.exec(sql)?.[1];
    if (banned !== undefined) throw internal(`Forbidden SQL keyword: ${banned.toUpperCase()}`);
  }

  insert({ jobs, tasks, attempts }: Omit<IrisRows, "samples">): void {
    this.database.exec("BEGIN");
    for (const job of jobs) this.#insertJob(job);
    const task = this.database.prepare(
      "INSERT INTO tasks (task_id, job_id, task_index, state, submitted_at_ms, started_at_ms, finished_at_ms, max_retries_failure, " +
        "max_retries_preemption, current_attempt_id, priority_neg_depth, priority_root_submitted_ms, priority_insertion) " +
        "VALUES (?, ?, ?, ?, 0, ?, ?, 0, 100, 0, 0, 0, 0)",
    );
    for (const { task_id, job_id, task_index, state, started_at_ms, finished_at_ms } of tasks)
      task.run(task_id, job_id, task_index, state, started_at_ms, finished_at_ms);
    // worker_id: null since the workers' rows have been removed.
    const attempt = this.database.prepare(
      "INSERT INTO task_attempts (task_id, attempt_id, worker_id, state, created_at_ms, started_at_ms, finished_at_ms) VALUES (?, ?, NULL, ?, 0, ?, ?)",
    );
    for (const { task_id, attempt_id, state, started_at_ms, finished_at_ms } of attempts)
      attempt.run(task_id, attempt_id, state, started_at_ms, finished_at_ms);
    this.database.exec("COMMIT");
  }

  #insertJob({
    job_id,
    parent_job_id,
    state,
    is_reservation_holder = 0,
    res_cpu_millicores,
  }: IrisRows["jobs"][number]): void {
    const parts = job_id.split("/");
    const names = [
      "job_id",
      "user_id",
      "parent_job_id",
      "root_job_id",
      "depth",
      "state",
      "submitted_at_ms",
      "root_submitted_at_ms",
      "num_tasks",
      "name",
    ];
    const values = [
      job_id,
      parts[1] ?? "",
      parent_job_id,
      parts.slice(0, 3).join("/"),
      parts.length - 2,
      state,
      0,
      0,
      1,
      job_id.toLowerCase(),
    ];
    if (this.#era === "may-2026") {
      names.push("is_reservation_holder");
      values.push(is_reservation_holder);
    }
    this.database
      .prepare(`INSERT INTO jobs (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`)
      .run(...values);
    if (res_cpu_millicores !== undefined)
      this.database
        .prepare("INSERT INTO job_config (job_id, name, res_cpu_millicores) VALUES (?, ?, ?)")
        .run(job_id, parts.at(-1) ?? "", res_cpu_millicores);
  }
}

/** Both eras wrap what is no Connect error. */
function internal(text: string): Fault {
  return new Fault("internal", `RPC ExecuteRawQuery: ${text}`, [
    { type: "iris.rpc.ErrorDetails", value: Buffer.from(text).toString("base64").replace(/=+$/, "") },
  ]);
}

/** As Python's json.dumps writes it: blanks behind commas, everything outside of ASCII escaped, NaN as it is. */
function pythonJson(row: readonly unknown[]): string {
  return `[${row.map(cellJson).join(", ")}]`;
}

function cellJson(cell: unknown): string {
  if (cell instanceof Uint8Array) return `"<blob:${cell.length} bytes>"`;
  if (typeof cell === "bigint") return String(cell);
  if (typeof cell === "number" && !Number.isFinite(cell)) return Number.isNaN(cell) ? "NaN" : `${cell}`;
  // Python writes a float as a float.
  if (typeof cell === "number" && Number.isInteger(cell)) return `${cell}.0`;
  return JSON.stringify(cell ?? null).replace(
    /[\u0080-\uffff]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function schema(era: Era): string {
  const may = era === "may-2026";
  return `
    CREATE TABLE jobs (job_id TEXT PRIMARY KEY, user_id TEXT NOT NULL, parent_job_id TEXT, root_job_id TEXT NOT NULL,
      depth INTEGER NOT NULL, state INTEGER NOT NULL, submitted_at_ms INTEGER NOT NULL, root_submitted_at_ms INTEGER NOT NULL,
      started_at_ms INTEGER, finished_at_ms INTEGER, scheduling_deadline_epoch_ms INTEGER, error TEXT, exit_code INTEGER,
      num_tasks INTEGER NOT NULL, name TEXT NOT NULL DEFAULT ''${
        may
          ? ", is_reservation_holder INTEGER NOT NULL DEFAULT 0, has_reservation INTEGER NOT NULL DEFAULT 0"
          : ", submitting_user TEXT NOT NULL DEFAULT '', backend_id TEXT NOT NULL DEFAULT '', cluster TEXT NOT NULL DEFAULT 'local'"
      });
    CREATE TABLE job_config (job_id TEXT PRIMARY KEY, name TEXT, res_cpu_millicores INTEGER NOT NULL DEFAULT 0,
      res_memory_bytes INTEGER NOT NULL DEFAULT 0, res_disk_bytes INTEGER NOT NULL DEFAULT 0, timeout_ms INTEGER);
    CREATE TABLE tasks (task_id TEXT PRIMARY KEY, job_id TEXT NOT NULL, task_index INTEGER NOT NULL, state INTEGER NOT NULL,
      error TEXT, exit_code INTEGER, submitted_at_ms INTEGER NOT NULL, started_at_ms INTEGER, finished_at_ms INTEGER,
      max_retries_failure INTEGER NOT NULL, max_retries_preemption INTEGER NOT NULL,
      ${may ? "failure_count INTEGER NOT NULL DEFAULT 0, preemption_count INTEGER NOT NULL DEFAULT 0," : ""}
      current_attempt_id INTEGER NOT NULL DEFAULT -1, priority_neg_depth INTEGER NOT NULL,
      priority_root_submitted_ms INTEGER NOT NULL, priority_insertion INTEGER NOT NULL, priority_band INTEGER NOT NULL DEFAULT 2,
      container_id TEXT, current_worker_id TEXT, current_worker_address TEXT, UNIQUE (job_id, task_index));
    CREATE TABLE task_attempts (task_id TEXT NOT NULL, attempt_id INTEGER NOT NULL, worker_id TEXT, state INTEGER NOT NULL,
      created_at_ms INTEGER NOT NULL, started_at_ms INTEGER, finished_at_ms INTEGER, exit_code INTEGER, error TEXT
      ${may ? "" : ", attempt_uid TEXT, backend_id TEXT, pod_name TEXT, node_name TEXT, terminal_reason TEXT"},
      PRIMARY KEY (task_id, attempt_id));`;
}
