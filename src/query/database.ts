/** One DuckDB in this process's memory: filled, then locked, then asked. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { batchesOf, cellsOf, type QueryCell, queryErrorOf, quoteName, quoteText } from "./cells.ts";
import { QueryError } from "./errors.ts";
import type {
  DuckDBAppender,
  DuckDBConnection,
  DuckDBExtractedStatements,
  DuckDBInstance,
  DuckDBPreparedStatement,
  DuckDBResult,
} from "./load-duckdb.ts";
import { selectShape } from "./select-only.ts";

export interface DatabaseOptions {
  /** Of the engine; the process needs about a third more. Default 1 GiB. */
  readonly memoryLimitBytes?: number;
  /** Default 2. */
  readonly threads?: number;
  /** How much may lie in files of its own for a while; default: nine tenths of what the disk has left. */
  readonly spillLimitBytes?: number;
}

export interface SelectOptions {
  /** Breaks the query off, also between two batches; `AbortSignal.timeout` is a deadline. */
  readonly signal?: AbortSignal;
  /** More than that are no answer but an error. */
  readonly maxRows?: number;
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
  #answers = 0;

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
  static async open(options: DatabaseOptions = {}): Promise<Database> {
    const { memoryLimitBytes = 1_073_741_824, threads = 2, spillLimitBytes } = options;
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
    const database = new Database(duckdb, instance, await instance.connect(), spill);
    // As an option of the instance it is shown, and not kept to (measured with 1.5.6).
    if (spillLimitBytes !== undefined)
      await database.run(`SET max_temp_directory_size='${Math.floor(spillLimitBytes / 1_048_576)}MiB'`);
    return database;
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
    await this.#asked(async () => {
      const appender = await this.#connection.createAppender(table);
      for await (const row of rows) {
        for (const [at, { type }] of columns.entries()) this.#append(appender, type, row[at] ?? null);
        appender.endRow();
      }
      appender.flushSync();
      appender.closeSync();
    });
  }

  /**
   * From here on no statement reaches a file, the network or a setting, but for reading these very files. (Measured with DuckDB
   * 1.5.6: an allowed file could be overwritten by COPY, and so could all files of an allowed folder; therefore folders are
   * never allowed, and `select` lets nothing through but SELECT that reads tables. Allowed is what the statement says: a
   * pattern that stands for an allowed file must be allowed as well.)
   */
  async lock(readable: readonly string[] = []): Promise<void> {
    if (readable.length > 0) await this.run(`SET allowed_paths=[${readable.map(quoteText).join(", ")}]`);
    await this.run("SET enable_external_access=false");
    await this.run("SET lock_configuration=true");
  }

  /**
   * Somebody else's statement: one alone, that only reads tables. The whole answer is there before the first row is handed out,
   * in a table of the engine that keeps to the limits: of a stream that fails the binding tells no more than of one that has
   * ended (measured with 1.5.6), and half an answer must not pass for one. Throws QueryError.
   */
  async select(sql: string, { signal, maxRows }: SelectOptions = {}): Promise<QueryRows> {
    const { prepared, isShow } = await this.#asked(() => this.#prepareSelect(sql), signal);
    try {
      const columns = Array.from({ length: prepared.columnCount }, (_, at) => prepared.columnName(at));
      if (isShow) {
        const rows = cellsOf(await this.#asked(async () => (await prepared.run()).getRows(), signal));
        return { columns, batches: () => batchesOf(rows) };
      }
      const table = `temp.main.answer_${++this.#answers}`;
      await this.#asked(() => this.#connection.run(`CREATE TEMP TABLE ${table} AS\n${sql}`), signal);
      const count = Number((await this.rows(`SELECT count(*) FROM ${table}`, signal))[0]?.[0]);
      if (maxRows !== undefined && count > maxRows) {
        await this.run(`DROP TABLE ${table}`);
        throw new QueryError("too-many-rows", `the answer has ${count} rows, and at most ${maxRows} are shown`, {
          hint: "say LIMIT, or add them up in the statement",
        });
      }
      return { columns, batches: () => this.#batches(table, count, signal) };
    } finally {
      prepared.destroySync();
    }
  }

  /** A statement of our own that gives rows. Throws QueryError. */
  async rows(sql: string, signal?: AbortSignal): Promise<readonly (readonly QueryCell[])[]> {
    return cellsOf(await this.#asked(async () => (await this.#connection.run(sql)).getRows(), signal));
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
    rmSync(this.#spill, { recursive: true, force: true });
  }

  /** Nothing of the statement has run when this is refused. */
  async #prepareSelect(sql: string): Promise<{ readonly prepared: DuckDBPreparedStatement; readonly isShow: boolean }> {
    // The engine would read up to there.
    if (sql.includes("\0")) throw new QueryError("refused", "the statement holds a NUL character");
    const statements = await this.#extract(sql);
    const [serialized] = await this.rows(`SELECT json_serialize_sql(${quoteText(sql)})`);
    const shape = selectShape(String(serialized?.[0]));
    const prepared = await statements.prepare(0);
    const { StatementType } = this.#duckdb;
    if (shape === null || prepared.statementType !== StatementType.SELECT) {
      const type = StatementType[prepared.statementType];
      throw new QueryError(
        "not-a-select",
        type === "SELECT" ? "only SELECT is answered" : `only SELECT is answered, and this is ${type}`,
        { hint: 'tables: jobs, tasks, task_attempts, "iris.task"; see docs/usage.md' },
      );
    }
    if (prepared.parameterCount > 0)
      throw new QueryError("refused", "the statement has parameters, and nobody binds them");
    return { prepared, isShow: shape.isShow };
  }

  async #extract(sql: string): Promise<DuckDBExtractedStatements> {
    const statements = await this.#connection.extractStatements(sql).catch((error: unknown) => {
      // What the binding says of a text without any statement.
      if (error instanceof Error && error.message === "Error in native callback") return null;
      throw error;
    });
    if (statements === null || statements.count === 0)
      throw new QueryError("not-a-select", "one statement is expected, and there is none");
    if (statements.count > 1)
      throw new QueryError(
        "not-a-select",
        `one statement is expected, and there are ${statements.count}`,
        /\bPIVOT\b/i.test(sql) ? { hint: "PIVOT is one where its values are named: PIVOT … ON … IN (…)" } : {},
      );
    return statements;
  }

  async *#batches(table: string, count: number, signal: AbortSignal | undefined): AsyncGenerator<QueryCell[][]> {
    const result: DuckDBResult = await this.#asked(() => this.#connection.stream(`FROM ${table}`), signal);
    let seen = 0;
    for (;;) {
      const chunk = await this.#asked(() => result.fetchChunk(), signal);
      if (chunk === null || chunk.rowCount === 0) break;
      seen += chunk.rowCount;
      yield cellsOf(chunk.getRows());
    }
    if (seen !== count) throw new QueryError("interrupted", `the answer was cut short after ${seen} of ${count} rows`);
    await this.run(`DROP TABLE ${table}`);
  }

  #append(appender: DuckDBAppender, type: ColumnType, cell: QueryCell): void {
    if (cell === null) appender.appendNull();
    else if (type === "VARCHAR") appender.appendVarchar(String(cell));
    else if (type === "DOUBLE") appender.appendDouble(Number(cell));
    else if (type === "INTEGER") appender.appendInteger(Number(cell));
    else if (type === "BIGINT") appender.appendBigInt(BigInt(cell));
    else appender.appendTimestamp(new this.#duckdb.DuckDBTimestampValue(BigInt(cell) * 1000n));
  }

  async #asked<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const interrupt = (): void => this.#connection.interrupt();
    const interrupted = (cause?: unknown): QueryError =>
      new QueryError("interrupted", "the query was broken off", { cause });
    if (signal?.aborted) throw interrupted(signal.reason);
    signal?.addEventListener("abort", interrupt);
    try {
      const answer = await call();
      // Whether the engine was quicker, or a stream has ended early, cannot be told apart.
      if (signal?.aborted) throw interrupted(signal.reason);
      return answer;
    } catch (error) {
      throw error instanceof QueryError ? error : queryErrorOf(error);
    } finally {
      signal?.removeEventListener("abort", interrupt);
    }
  }
}
