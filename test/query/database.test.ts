/** DuckDB behind its door: what a statement of somebody else's may do, and what it may not. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseSync } from "@photostructure/sqlite";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { quoteSql } from "../../src/iris/index.ts";
import { Database, type QueryCell, QueryError, type SelectOptions } from "../../src/query/index.ts";
import { newProject } from "../cli/stint.ts";

const folder = mkdtempSync(join(tmpdir(), "stint-query-test-"));
const parquet = join(folder, "s.parquet");
const secret = join(folder, "secret.txt");
let database: Database;

beforeAll(async () => {
  writeFileSync(secret, "secret");
  database = await Database.open({ memoryLimitBytes: 200 * 1_048_576 });
  await database.run(`COPY (SELECT range AS a FROM range(10)) TO '${parquet}' (FORMAT parquet)`);
  await database.fill(
    "t",
    [
      { name: "text", type: "VARCHAR" },
      { name: "whole", type: "BIGINT" },
      { name: "ts", type: "TIMESTAMP" },
    ],
    [
      ["it's ü", 9007199254740993n, Date.parse("2026-05-11T10:00:00.123Z")],
      [null, null, null],
    ],
  );
  await database.lock([parquet]);
});
afterAll(() => {
  database.close();
  rmSync(folder, { recursive: true });
});

async function rows(sql: string, options: SelectOptions = {}): Promise<readonly (readonly QueryCell[])[]> {
  const all: (readonly QueryCell[])[] = [];
  for await (const batch of (await database.select(sql, options)).batches()) all.push(...batch);
  return all;
}

describe("a question", () => {
  it("is answered exactly: big integers, times, nothing", async () => {
    expect(await rows("SELECT * FROM t")).toEqual([
      ["it's ü", 9007199254740993n, "2026-05-11 10:00:00.123"],
      [null, null, null],
    ]);
    expect(await rows("SELECT 12.340::DECIMAL(9,3), [1, 2], NULL")).toEqual([["12.340", "[1, 2]", null]]);
    expect(await rows(`SELECT count(*) FROM read_parquet('${parquet}')`)).toEqual([[10n]]);
    expect(await rows("WITH a AS (SELECT 1 AS b) SELECT b FROM a; -- so")).toEqual([[1]]);
    expect((await rows("DESCRIBE t")).map(([name]) => name)).toEqual(["text", "whole", "ts"]);
    expect(await rows("PIVOT t ON whole IN (1) USING count(*) GROUP BY text ORDER BY ALL LIMIT 1")).toHaveLength(1);
    const twice = await database.select("SELECT 1 AS a, 2 AS a, NULL");
    expect(twice.columns.slice(0, 2)).toEqual(["a", "a"]);
  });

  it.each([
    ["two statements", "SELECT 1; SELECT 2"],
    ["none", "-- nothing"],
    ["an insert", "INSERT INTO t VALUES ('a', 1, NULL)"],
    ["a delete", "DELETE FROM t"],
    ["a table", "CREATE TABLE x AS SELECT 1"],
    ["a view", "CREATE OR REPLACE VIEW t AS SELECT 1"],
    ["a drop", "DROP TABLE t"],
    ["a setting", "SET enable_external_access = true"],
    ["a reset", "RESET lock_configuration"],
    ["another file", `SELECT * FROM read_text('${secret}')`],
    ["a file by its name", `SELECT * FROM '${secret}'`],
    ["a list of files", `SELECT * FROM glob('${folder}/*')`],
    ["a copy out", `COPY t TO '${folder}/out.csv'`],
    ["a copy over the readable file", `COPY t TO '${parquet}' (FORMAT parquet)`],
    [
      "a copy over the readable file without a temporary one",
      `COPY t TO '${parquet}' (FORMAT parquet, USE_TMP_FILE false)`,
    ],
    ["an export", `EXPORT DATABASE '${folder}/out'`],
    ["another database", `ATTACH '${folder}/x.db'`],
    ["an extension", "INSTALL httpfs"],
    ["loading one", "LOAD httpfs"],
    ["the network", "SELECT * FROM read_csv('http://127.0.0.1:1/x.csv')"],
    ["a parameter", "SELECT $1"],
    ["a prepared statement", "PREPARE a AS SELECT 1"],
    ["a transaction", "BEGIN"],
    ["a log of the engine's", "SELECT * FROM enable_logging('QueryLog')"],
    ["a log into a file", `SELECT * FROM enable_logging(level='trace', storage='file', storage_path='${folder}/log')`],
    ["a log in a subquery", "SELECT (SELECT count(*) FROM system.main.ENABLE_LOGGING())"],
    ["a log in a description", "DESCRIBE SELECT * FROM enable_logging()"],
    ["a line for the log", "SELECT write_log('x')"],
    ["a text that is run", "SELECT * FROM query('SELECT * FROM enable_logging()')"],
    ["a tree that is run", "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))"],
    ["a profile", "SELECT * FROM enable_profiling()"],
    ["a pragma", "PRAGMA enable_profiling"],
    ["a pragma that is rewritten", "PRAGMA table_info('t')"],
    ["a call", "CALL pragma_version()"],
    ["an explanation", "EXPLAIN ANALYZE SELECT 1"],
    ["an import", `IMPORT DATABASE '${folder}'`],
    ["the environment", "SELECT getenv('HOME')"],
    ["more behind a NUL", "SELECT 1\0; DROP TABLE t"],
    ["empty", ""],
    ["a semicolon", " ; "],
    ["no SQL", "SELEC 1"],
    ["a column that is not there", "SELECT nothing FROM t"],
  ])("that is %s is refused in one line", async (_, sql) => {
    const before = readFileSync(parquet);
    const error = await rows(sql)
      .then(() => null)
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(QueryError);
    expect((error as QueryError).message).not.toContain("\n");
    expect(readFileSync(parquet).equals(before)).toBe(true);
    expect(readdirSync(folder).sort()).toEqual(["s.parquet", "secret.txt"]);
    expect(await rows("SELECT count(*) FROM t")).toEqual([[2n]]);
  });

  it.each([
    ["while it computes", "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"],
    ["while its rows are made", "SELECT md5(range::VARCHAR) FROM range(1000000000)"],
  ])("that takes too long is broken off %s", async (_, sql) => {
    await expect(rows(sql, { signal: AbortSignal.timeout(200) })).rejects.toMatchObject({ code: "interrupted" });
    await expect(rows("SELECT 1", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "interrupted" });
    expect(await rows("SELECT 1")).toEqual([[1]]);
  });

  it("that is broken off between two batches does not pass for answered", async () => {
    const abort = new AbortController();
    const reading = (async () => {
      const { batches } = await database.select("SELECT range FROM range(100000)", { signal: abort.signal });
      for await (const batch of batches()) if (batch.length > 0) abort.abort();
    })();
    await expect(reading).rejects.toMatchObject({ code: "interrupted" });
  });

  // The engine's own stream would end after 4,935,680 rows without a word.
  it("that fails on a late row gives no rows at all", async () => {
    const late = "SELECT CASE WHEN range = 5000000 THEN error('boom') ELSE 'x' END FROM range(10000000)";
    await expect(rows(late)).rejects.toMatchObject({ code: "refused", message: expect.stringMatching(/boom/) });
    await expect(database.rows(late)).rejects.toMatchObject({ code: "refused" });
    const [[count] = []] = await database.rows("SELECT count(*) FROM range(10000000)");
    expect(count).toBe(10_000_000n);
  });

  it("with more rows than may be shown says how many there are", async () => {
    await expect(rows("SELECT * FROM range(10)", { maxRows: 9 })).rejects.toMatchObject({
      code: "too-many-rows",
      message: "the answer has 10 rows, and at most 9 are shown",
    });
    expect(await rows("SELECT * FROM range(10)", { maxRows: 10 })).toHaveLength(10);
  });

  it("keeps its order, however many batches", async () => {
    const all = await rows("SELECT hash(range) AS h FROM range(100000) ORDER BY h");
    const values = all.map(([value]) => BigInt(String(value)));
    expect(values.every((value, at) => at === 0 || (values[at - 1] ?? 0n) <= value)).toBe(true);
    expect(values).toHaveLength(100_000);
  });

  it("with a fault names its line", async () => {
    await expect(rows("SELECT 1,\n  nothing\nFROM t")).rejects.toThrow(/"nothing" not found.*\(line 2\)$/);
  });

  it("that would fill the disk is stopped where it should be", async () => {
    const small = await Database.open({ memoryLimitBytes: 100 * 1_048_576, spillLimitBytes: 100 * 1_048_576 });
    await small.lock();
    await expect(small.select("SELECT md5(range::VARCHAR) FROM range(20000000)")).rejects.toMatchObject({
      code: "memory",
    });
    small.close();
  });

  it("that needs more memory than there is says so", async () => {
    const asked = rows("SELECT list(range) FROM range(100000000)");
    await expect(asked).rejects.toMatchObject({ code: "memory" });
    expect(await rows("SELECT 1")).toEqual([[1]]);
  });
});

it("stint sql answers over the project's jobs, and says one line where it cannot", async () => {
  const project = newProject();
  await project.stint(["run", "--scheduler", "local", "--name", "one", "--", "true"]);
  const asked = await project.stint(["sql", "SELECT task_id, state, verdict FROM task_attempts", "--csv"]);
  expect(asked).toMatchObject({ status: 0, stderr: "" });
  expect(asked.stdout).toMatch(/^task_id,state,verdict\n\/[^,]+\/one\/0,4,completed\n$/);
  // Every column of Iris' is there, so that statements written for it are answered; what nobody tells is nothing.
  const columns = {
    jobs: "scheduling_deadline_epoch_ms, error, exit_code, is_reservation_holder, has_reservation, cluster",
    tasks:
      "max_retries_failure, priority_neg_depth, priority_insertion, priority_band, container_id, current_worker_id",
    task_attempts: "attempt_uid, backend_id, pod_name, pod_uid, node_name, terminal_reason",
    '"iris.task"': "disk_mb, accelerator_util_pct, accelerator_mem_bytes",
  };
  for (const [table, names] of Object.entries(columns)) {
    const told = await project.stint([
      "sql",
      `SELECT count(*), count(COALESCE(${names.replace(/\w+/g, "$&::VARCHAR")})) FROM ${table}`,
      "--csv",
    ]);
    expect(told).toMatchObject({ status: 0, stderr: "" });
    expect(told.stdout).toMatch(table === '"iris.task"' ? /\n\d+,0\n$/ : /\n1,0\n$/);
  }
  for (const statement of [
    "SELECT nothing FROM jobs",
    "DROP TABLE jobs",
    "COPY jobs TO 'x.csv'",
    "SELECT 1; SELECT 2",
    "SELECT * FROM 'count.sh'",
  ]) {
    const refused = await project.stint(["sql", statement]);
    expect([refused.status, refused.stdout]).toEqual([2, ""]);
    expect(refused.stderr).toMatch(/^stint: \S.*\n/);
  }
  expect(existsSync(join(project.folder, "x.csv"))).toBe(false);
});

it("stint sql that is broken off takes its files along", async () => {
  const project = newProject();
  await project.stint(["run", "--scheduler", "local", "--name", "one", "--", "true"]);
  const folderOf = join(folder, "tmp");
  mkdirSync(folderOf);
  const endless = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b";
  const { child, ended } = project.start(["sql", endless], { env: { TMPDIR: folderOf } });
  for (let tries = 0; readdirSync(folderOf).length === 0 && tries < 600; tries += 1) await sleep(100);
  expect(readdirSync(folderOf)).toHaveLength(1);
  child.kill("SIGINT");
  expect(await ended).toMatchObject({ status: 130, stdout: "" });
  expect(readdirSync(folderOf)).toEqual([]);
});

it("stint sql with more rows than anybody reads says so", async () => {
  const project = newProject();
  await project.stint(["run", "--scheduler", "local", "--name", "one", "--", "true"]);
  expect(await project.stint(["sql", "SELECT * FROM range(2000000)", "--csv"])).toMatchObject({
    status: 2,
    stdout: "",
    stderr: expect.stringMatching(/^stint: the answer has 2000000 rows, and at most 1000000 are shown\n.*LIMIT/),
  });
});

it("a name as a literal for the controller comes out of SQLite as it went in", () => {
  const sqlite = new DatabaseSync(":memory:");
  const pieces = fc.constantFrom("create", "UPDATE", ":", ";", "'", "ü", "/", " ", "drop:table;", "\\", '"');
  const names = fc.oneof(
    fc.string(),
    fc.array(pieces, { maxLength: 10 }).map((all) => all.join("")),
  );
  fc.assert(
    fc.property(
      names.filter((name) => !name.includes("\0")),
      (name) => {
        const row = sqlite.prepare(`SELECT ${quoteSql(name)} AS name`).get() as { readonly name: string };
        expect(row.name).toBe(name);
      },
    ),
  );
  sqlite.close();
});
