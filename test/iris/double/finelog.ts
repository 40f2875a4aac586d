/**
 * The statistics: real DuckDB, the very engine of May 2026. For the newer era, whose DataFusion cannot be had here, what is known
 * to differ is put over it: no epoch_ms, EXTRACT over an interval without its fraction above 2.147 s, a deadline and a cap.
 */
import { type DuckDBConnection, DuckDBInstance, type DuckDBResultReader, DuckDBTimestampValue } from "@duckdb/node-api";
import { arrowStream } from "./arrow-stream.ts";
import type { Era, SampleRow } from "./rows.ts";
import { Fault } from "./wire.ts";

export interface FinelogOptions {
  readonly era: Era;
  /** Newer era: default 10 s, as the server's. */
  readonly deadlineMs?: number;
  /** Newer era: of an answer; default 64 MiB. */
  readonly capBytes?: number;
}

export class Finelog {
  readonly #options: FinelogOptions;
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(options: FinelogOptions, instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#options = options;
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open(options: FinelogOptions): Promise<Finelog> {
    const instance = await DuckDBInstance.create(":memory:", { threads: "2", memory_limit: "1GB" });
    const connection = await instance.connect();
    await connection.run(
      'CREATE TABLE "iris.task" (task_id VARCHAR, attempt_id BIGINT, worker_id VARCHAR, ts TIMESTAMP, cpu_millicores BIGINT, ' +
        "memory_mb BIGINT, disk_mb BIGINT, memory_peak_mb BIGINT, accelerator_util_pct DOUBLE, accelerator_mem_bytes BIGINT, seq BIGINT)",
    );
    await connection.run("CREATE MACRO without_fraction(x) AS CASE WHEN abs(x) > 2.147 THEN trunc(x) ELSE x END");
    return new Finelog(options, instance, connection);
  }

  async insert(rows: readonly SampleRow[]): Promise<void> {
    const appender = await this.#connection.createAppender("iris.task");
    for (const [at, row] of rows.entries()) {
      appender.appendVarchar(row.task_id);
      appender.appendBigInt(BigInt(row.attempt_id));
      appender.appendVarchar(row.worker_id);
      appender.appendTimestamp(new DuckDBTimestampValue(BigInt(Math.round(row.ts * 1000))));
      for (const value of [row.cpu_millicores, row.memory_mb, row.disk_mb, row.memory_peak_mb])
        if (value === null) appender.appendNull();
        else appender.appendBigInt(BigInt(value));
      appender.appendNull();
      appender.appendNull();
      appender.appendBigInt(BigInt(at));
      appender.endRow();
    }
    appender.flushSync();
    appender.closeSync();
  }

  /** Throws Fault. */
  async query(sql: string): Promise<{ readonly arrow: Uint8Array; readonly rowCount: number }> {
    const { era, deadlineMs = 10_000, capBytes = 64 * 1_048_576 } = this.#options;
    const reader = era === "newer" ? await this.#within(deadlineMs, newerSql(sql)) : await this.#read(sql);
    const arrow = arrowStream(reader);
    if (era === "newer" && arrow.length > capBytes)
      throw new Fault("resource_exhausted", `query failed: result exceeds ${capBytes} bytes`);
    return { arrow, rowCount: reader.currentRowCount };
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }

  async #within(deadlineMs: number, sql: string): Promise<DuckDBResultReader> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#connection.interrupt();
    }, deadlineMs);
    try {
      return await this.#read(sql);
    } catch (error) {
      throw isLate ? new Fault("deadline_exceeded", `query exceeded deadline of ${deadlineMs} ms`) : error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #read(sql: string): Promise<DuckDBResultReader> {
    try {
      return await this.#connection.runAndReadAll(sql);
    } catch (error) {
      throw new Fault("invalid_argument", `query failed: ${error instanceof Error ? error.message : error}`);
    }
  }
}

function newerSql(sql: string): string {
  if (!/^\s*(SELECT|EXPLAIN|WITH)\b/i.test(sql))
    throw new Fault("invalid_argument", "query failed: only SELECT, EXPLAIN and WITH are supported");
  if (/\bepoch_ms\s*\(/i.test(sql)) throw new Fault("invalid_argument", "query failed: Invalid function 'epoch_ms'");
  return sql.replace(
    /EXTRACT\s*\(\s*EPOCH FROM (\(max\(ts\)\s*-\s*min\(ts\)\))\s*\)/gi,
    "without_fraction(EXTRACT(EPOCH FROM $1))",
  );
}
