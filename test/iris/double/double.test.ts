/** The double itself, asked with plain fetch: what a real controller and finelog do on the wire. */
import { tableFromIPC } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ODD_ROOT, ODD_ROWS } from "../golden/odd-tree.ts";
import type { Era } from "./rows.ts";
import { type Double, startDouble } from "./start-double.ts";

const RAW = "/iris.cluster.ControllerService/ExecuteRawQuery";
const STATS = "/finelog.stats.StatsService/Query";
const PROXIED = `/proxy/system.log-server${STATS}`;
const JSON_TYPE = { "content-type": "application/json" };

describe.each<Era>(["may-2026", "newer"])("the double of the era %s", (era) => {
  let double: Double;

  beforeAll(async () => {
    double = await startDouble({ era, deadlineMs: 300, capBytes: 200_000 });
    await double.insert(ODD_ROWS);
  });
  afterAll(() => double.close());

  const post = (path: string, sql: string, headers: Record<string, string> = JSON_TYPE) =>
    fetch(`${double.url}${path}`, { method: "POST", headers, body: JSON.stringify({ sql }) });
  const answerTo = async (path: string, sql: string) => {
    const response = await post(path, sql);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const arrow = async (sql: string) => {
    const { body } = await answerTo(PROXIED, sql);
    return tableFromIPC(Buffer.from(String(body.arrowIpc), "base64"));
  };

  it("1: paths, both ways to the statistics, POST alone, 404, 415", async () => {
    expect((await post(RAW, "SELECT 1")).status).toBe(200);
    expect((await post(STATS, "SELECT 1")).status).toBe(200);
    expect((await post(PROXIED, "SELECT 1")).status).toBe(200);
    expect((await fetch(`${double.url}${RAW}`)).status).toBe(405);
    expect((await post("/iris.cluster.ControllerService/Nothing", "SELECT 1")).status).toBe(404);
    expect((await post(RAW, "SELECT 1", { "content-type": "text/plain" })).status).toBe(415);
    const redirect = await fetch(`${double.url}/proxy/system.log-server`, { redirect: "manual" });
    expect([redirect.status, redirect.headers.get("location")]).toEqual([307, "/proxy/system.log-server/"]);
    expect(await (await fetch(`${double.url}/health`)).json()).toEqual({ status: "ok" });
  });

  it("2: int64 as text, bytes as base64, what is empty is left out, what is 0 is not", async () => {
    expect((await answerTo(RAW, "SELECT 1 AS a WHERE 0")).body).toEqual({ columns: [{ name: "a", type: "unknown" }] });
    expect((await answerTo(STATS, "SELECT 1 WHERE false")).body.rowCount).toBe("0");
    const proto = await fetch(`${double.url}${RAW}`, {
      method: "POST",
      headers: { "content-type": "application/proto" },
      body: Buffer.concat([Buffer.from([0x0a, 8]), Buffer.from("SELECT 1")]),
    });
    expect(Buffer.from(await proto.arrayBuffer()).toString("latin1")).toBe("\n\x0c\n\x011\x12\x07unknown\x12\x03[1]");
  });

  it("3: rows as texts that hold JSON, the type always unknown", async () => {
    expect((await answerTo(RAW, "SELECT 1 AS a, 'ü' AS a, 1.0 AS c, NULL AS d, x'0102' AS e")).body).toEqual({
      columns: ["a", "a", "c", "d", "e"].map((name) => ({ name, type: "unknown" })),
      rows: ['[1, "\\u00fc", 1.0, null, "<blob:2 bytes>"]'],
    });
    expect((await answerTo(RAW, "SELECT 9007199254740993")).body.rows).toEqual(["[9007199254740993]"]);
  });

  it("4: only SELECT, with the era's own words and its own traps", async () => {
    const no = await answerTo(RAW, "WITH a AS (SELECT 1) SELECT * FROM a");
    const word = await answerTo(RAW, "SELECT 'a create b'");
    const parameter = await answerTo(RAW, "SELECT '/:reservation:'");
    if (era === "newer") {
      expect(no).toMatchObject({
        status: 400,
        body: { code: "invalid_argument", message: "only SELECT statements are allowed" },
      });
      expect(word.status).toBe(200);
      expect(parameter).toMatchObject({ status: 500, body: { code: "internal" } });
    } else {
      expect(no).toMatchObject({
        status: 500,
        body: { code: "internal", message: "RPC ExecuteRawQuery: Only SELECT statements are allowed" },
      });
      expect(word.body.message).toBe("RPC ExecuteRawQuery: Forbidden SQL keyword: CREATE");
      expect(parameter.status).toBe(200);
    }
    expect((await answerTo(RAW, "SELECT name FROM pragma_table_info('tasks')")).status).toBe(200);
  });

  it("5: who asks", async () => {
    const closed = await startDouble({ era, auth: { token: "t", isAdmin: false } });
    try {
      const ask = (headers: Record<string, string>, path: string) =>
        fetch(`${closed.url}${path}`, {
          method: "POST",
          headers: { ...JSON_TYPE, ...headers },
          body: '{"sql":"SELECT 1"}',
        });
      expect(await (await ask({}, RAW)).json()).toMatchObject({ code: "unauthenticated" });
      expect([(await ask({}, RAW)).status, (await ask({ authorization: "Bearer t" }, RAW)).status]).toEqual([401, 403]);
      expect(await (await ask({}, PROXIED)).json()).toEqual({ error: "authentication required" });
      expect((await ask({ authorization: "Bearer t" }, PROXIED)).status).toBe(200);
    } finally {
      await closed.close();
    }
  });

  it("6: faults of the controller, of the statistics and of the proxy each in their own form", async () => {
    expect(await answerTo(RAW, "SELECT nothing")).toMatchObject({
      status: 500,
      body: {
        code: "internal",
        message: expect.stringMatching(/^RPC ExecuteRawQuery: /),
        details: [{ type: "iris.rpc.ErrorDetails" }],
      },
    });
    expect(await answerTo(STATS, "SELECT nothing")).toMatchObject({
      status: 400,
      body: { code: "invalid_argument", message: expect.stringMatching(/^query failed: /) },
    });
    expect(await answerTo(`/proxy/other${STATS}`, "SELECT 1")).toEqual({
      status: 404,
      body: { error: "No endpoint 'other'" },
    });
  });

  it("7: an Arrow stream, microseconds without a zone, nullable, a typed schema without rows", async () => {
    const table = await arrow('SELECT * FROM "iris.task" ORDER BY seq LIMIT 1');
    expect(table.schema.fields.map(({ name, type, nullable }) => [name, String(type), nullable])).toEqual([
      ["task_id", "Utf8", true],
      ["attempt_id", "Int64", true],
      ["worker_id", "Utf8", true],
      ["ts", "Timestamp<MICROSECOND>", true],
      ...["cpu_millicores", "memory_mb", "disk_mb", "memory_peak_mb"].map((name) => [name, "Int64", true]),
      ["accelerator_util_pct", "Float64", true],
      ["accelerator_mem_bytes", "Int64", true],
      ["seq", "Int64", true],
    ]);
    expect((await arrow('SELECT ts FROM "iris.task" WHERE false')).schema.fields[0]?.type.toString()).toBe(
      "Timestamp<MICROSECOND>",
    );
    const { body } = await answerTo(STATS, "SELECT 1");
    // A stream begins with a mark and a length, a file with its name.
    expect(Buffer.from(String(body.arrowIpc), "base64").subarray(0, 4)).toEqual(Buffer.from([255, 255, 255, 255]));
  });

  it("8: samples have no state, and are what was written: one, several or none of an attempt", async () => {
    const [{ n }] = (
      await arrow(`SELECT count(*) AS n FROM "iris.task" WHERE task_id = '${ODD_ROOT}/odd/4' AND attempt_id = 2`)
    ).toArray();
    expect(Number(n)).toBe(1);
    expect((await answerTo(STATS, 'SELECT state FROM "iris.task"')).status).toBe(400);
  });

  it("9, 10, 11, 12: ends that are not there, no workers, ids that LIKE would mix up, pruned parents", async () => {
    const rows = async (sql: string) => (await answerTo(RAW, sql)).body.rows;
    expect(await rows("SELECT count(*) FROM task_attempts WHERE finished_at_ms IS NULL AND worker_id IS NULL")).toEqual(
      ["[2]"],
    );
    expect(await rows(`SELECT count(*) FROM jobs WHERE job_id LIKE '${ODD_ROOT}/%'`)).toEqual(["[8]"]);
    expect(await rows(`SELECT count(*) FROM jobs WHERE job_id = '${ODD_ROOT.toLowerCase()}'`)).toEqual(["[0]"]);
    expect(await rows(`SELECT parent_job_id FROM jobs WHERE job_id = '${ODD_ROOT}/gone/orphan'`)).toEqual(["[null]"]);
  });

  it("13: columns, deadline, cap and functions of the era", async () => {
    const has = async (table: string, column: string) =>
      ((await answerTo(RAW, `SELECT name FROM pragma_table_info('${table}')`)).body.rows as string[]).includes(
        `["${column}"]`,
      );
    expect([await has("tasks", "failure_count"), await has("jobs", "is_reservation_holder")]).toEqual([
      era === "may-2026",
      era === "may-2026",
    ]);
    const slow = "SELECT sum(a.range * b.range) FROM range(300000) a, range(300000) b";
    const long = "SELECT range, repeat('x', 100) FROM range(5000)";
    const epoch = 'SELECT epoch_ms(max(ts)) FROM "iris.task"';
    if (era === "newer") {
      expect(await answerTo(STATS, slow)).toEqual({
        status: 504,
        body: { code: "deadline_exceeded", message: "query exceeded deadline of 300 ms" },
      });
      expect(await answerTo(STATS, long)).toMatchObject({ status: 429, body: { code: "resource_exhausted" } });
      expect((await answerTo(STATS, epoch)).status).toBe(400);
    } else {
      expect((await answerTo(STATS, long)).status).toBe(200);
      expect((await answerTo(STATS, epoch)).status).toBe(200);
    }
  });

  it("14: gzip where it is asked for, and the encoding always said", async () => {
    const plain = await post(RAW, "SELECT 1", { ...JSON_TYPE, "accept-encoding": "identity" });
    expect(plain.headers.get("content-encoding")).toBe("identity");
    const packed = await post(RAW, "SELECT 1", { ...JSON_TYPE, "accept-encoding": "gzip" });
    expect(packed.headers.get("content-encoding")).toBe("gzip");
    expect(await packed.json()).toHaveProperty("rows");
  });
});
