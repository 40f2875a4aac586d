/** One DuckDB in this process's memory: filled, then locked, then asked. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { QueryError } from "./errors.ts";
import type { DuckDBConnection, DuckDBInstance, DuckDBResult, DuckDBValue } from "./load-duckdb.ts";

export type QueryCell = string | number | bigint | boolean | null;

export interface DatabaseOptions {
  /** Of the engine; the process needs about a third more. Default 1 GiB. */
  readonly memoryLimitBytes?: number;
  /** Default 2. */
  readonly threads?: number;
}

export interface QueryRows {
  readonly columns: readonly string[];
  /** Batches as the engine makes them; asked for once. */
  batches(): AsyncIterable<readonly (readonly QueryCell[])[]>;
}

type ColumnType = "VARCHAR" | "BIGINT" | "INTEGER" | "DOUBLE" | "TIMESTAMP";

export interface TableColumn {
  readonly name: string;
  readonly type: ColumnType;
}

export class Database {
  readonly #duckdb: typeof import("./load-duckdb.ts");
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  readonly #spill: string;

  private constructor(
    duckdb: typeof import("./load-duckdb.ts"),
    instance: DuckDBInstance,
    connection: DuckDBConnection,
    spill: string,
  ) {
    this.#duckdb = duckdb;
    this.#instance = instance;
    this.#connection = connection;
    this.#spill = spill;
  }

  /** Throws QueryError `missing-package`. */
  static async open({ memoryLimitBytes = 1_073_741_824, threads = 2 }: DatabaseOptions = {}): Promise<Database> {
    const duckdb = await import("./load-duckdb.ts").catch((error) => {
      throw new QueryError(
        "missing-package",
        "DuckDB is not installed, which questions in SQL and Parquet files need",
        {
          hint: "npm install @duckdb/node-api (where no build of it fits this machine, everything else works without)",
          cause: error,
        },
      );
    });
    const spill = mkdtempSync(join(tmpdir(), "stint-query-"));
    const instance = await duckdb.DuckDBInstance.create(":memory:", {
      memory_limit: `${Math.floor(memoryLimitBytes / 1_048_576)}MiB`,
      threads: String(threads),
      temp_directory: spill,
      // Nothing is fetched from anywhere.
      autoinstall_known_extensions: "false",
      autoload_known_extensions: "false",
    });
    return new Database(duckdb, instance, await instance.connect(), spill);
  }

  /** A statement of our own. Throws QueryError. */
  async run(sql: string): Promise<void> {
    await this.#asked(() => this.#connection.run(sql));
  }

  /** A table with these rows; a cell of a TIMESTAMP is epoch ms. */
  async fill(
    table: string,
    columns: readonly TableColumn[],
    rows: AsyncIterable<readonly QueryCell[]> | Iterable<readonly QueryCell[]>,
  ): Promise<void> {
    await this.run(
      `CREATE TABLE ${quoteName(table)} (${columns.map(({ name, type }) => `${quoteName(name)} ${type}`).join(", ")})`,
    );
    const appender = await this.#connection.createAppender(table);
    for await (const row of rows) {
      for (const [at, { type }] of columns.entries()) {
        const cell = row[at] ?? null;
        if (cell === null) appender.appendNull();
        else if (type === "VARCHAR") appender.appendVarchar(String(cell));
        else if (type === "DOUBLE") appender.appendDouble(Number(cell));
        else if (type === "INTEGER") appender.appendInteger(Number(cell));
        else if (type === "BIGINT") appender.appendBigInt(BigInt(cell));
        else appender.appendTimestamp(new this.#duckdb.DuckDBTimestampValue(BigInt(cell) * 1000n));
      }
      appender.endRow();
    }
    appender.flushSync();
    appender.closeSync();
  }

  /**
   * From here on no statement reaches a file, the network or a setting, but for reading these very files. (Measured with DuckDB
   * 1.5.6: an allowed file could be overwritten by COPY, and so could all files of an allowed folder; therefore folders are
   * never allowed, and `select` lets nothing through but SELECT.)
   */
  async lock(readable: readonly string[] = []): Promise<void> {
    if (readable.length > 0) await this.run(`SET allowed_paths=[${readable.map(quoteText).join(", ")}]`);
    await this.run("SET enable_external_access=false");
    await this.run("SET lock_configuration=true");
  }

  /** Somebody else's statement: one alone, that only reads. Throws QueryError. */
  async select(sql: string, signal?: AbortSignal): Promise<QueryRows> {
    const { StatementType } = this.#duckdb;
    const prepared = await this.#asked(async () => {
      const statements = await this.#connection.extractStatements(sql);
      if (statements.count !== 1)
        throw new QueryError("not-a-select", `one statement is expected, and there are ${statements.count}`);
      return statements.prepare(0);
    });
    if (prepared.statementType !== StatementType.SELECT)
      throw new QueryError(
        "not-a-select",
        `only SELECT is answered, and this is ${StatementType[prepared.statementType]}`,
        {
          hint: 'tables: jobs, tasks, task_attempts, "iris.task"; see docs/usage.md',
        },
      );
    if (prepared.parameterCount > 0)
      throw new QueryError("refused", "the statement has parameters, and nobody binds them");
    return this.#streamed(() => prepared.stream(), signal);
  }

  /** A statement of our own that gives rows. Throws QueryError. */
  async rows(sql: string, signal?: AbortSignal): Promise<readonly (readonly QueryCell[])[]> {
    const { batches } = await this.#streamed(() => this.#connection.stream(sql), signal);
    const all: (readonly QueryCell[])[] = [];
    for await (const batch of batches()) for (const row of batch) all.push(row);
    return all;
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
    rmSync(this.#spill, { recursive: true, force: true });
  }

  async #streamed(start: () => Promise<DuckDBResult>, signal: AbortSignal | undefined): Promise<QueryRows> {
    const interrupt = (): void => this.#connection.interrupt();
    signal?.throwIfAborted();
    signal?.addEventListener("abort", interrupt);
    const asked = <T>(call: () => Promise<T>): Promise<T> => this.#asked(call);
    try {
      const result = await asked(start);
      return {
        columns: result.columnNames(),
        async *batches() {
          try {
            for (;;) {
              const chunk = await asked(() => result.fetchChunk());
              if (chunk === null || chunk.rowCount === 0) return;
              yield chunk.getRows().map((row) => row.map(cellOf));
            }
          } finally {
            signal?.removeEventListener("abort", interrupt);
          }
        },
      };
    } catch (error) {
      signal?.removeEventListener("abort", interrupt);
      throw error;
    }
  }

  async #asked<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      throw error instanceof QueryError ? error : queryErrorOf(error);
    }
  }
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Integers stay exact; times, decimals and nested values are the engine's own text. */
function cellOf(value: DuckDBValue): QueryCell {
  if (value === null || typeof value !== "object") return value ?? null;
  return String(value);
}

function queryErrorOf(error: unknown): QueryError {
  const message = error instanceof Error ? error.message : String(error);
  // Behind an empty line the engine draws the statement with a mark below it.
  const [first = message] = message.split("\n\n");
  if (/^INTERRUPT/i.test(message)) return new QueryError("interrupted", "the query was broken off", { cause: error });
  if (/^Out of Memory/i.test(message))
    return new QueryError("memory", `the query needs more memory than it may use: ${first}`, { cause: error });
  return new QueryError("refused", first, { cause: error });
}
