/** Saved samples in Parquet with a task table beside them: the published tree, and small ones by hand. */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SampleSpan } from "../../src/core/index.ts";
import { Database, quoteText } from "../../src/query/index.ts";
import { parquetSource, UsageError, usage } from "../../src/usage/index.ts";
import { sortedIntegralSql } from "../../src/usage/sources/parquet-sql.ts";
import { newProject } from "../cli/stint.ts";
import type { SampleRow } from "../iris/double/rows.ts";
import { goldenRows } from "../iris/golden/data.ts";
import { PUBLISHED, ROOT } from "../iris/golden/table.ts";

const folder = mkdtempSync(join(tmpdir(), "stint-parquet-"));
const at = (name: string): string => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

const COLUMNS = [
  { name: "task_id", type: "VARCHAR" },
  { name: "attempt_id", type: "BIGINT" },
  { name: "us", type: "BIGINT" },
  { name: "cpu_millicores", type: "BIGINT" },
  { name: "memory_peak_mb", type: "BIGINT" },
] as const;

/** Written as `parts` segments of that folder, in this order. */
async function write(name: string, samples: readonly SampleRow[], parts: number, order = "n"): Promise<string> {
  const database = await Database.open();
  const cells = samples.map((row, n) => [
    row.task_id,
    row.attempt_id,
    Math.round(row.ts * 1000),
    row.cpu_millicores,
    row.memory_peak_mb,
    n,
  ]);
  await database.fill("s", [...COLUMNS, { name: "n", type: "BIGINT" }], cells);
  await database.run(
    `CREATE TABLE o AS SELECT row_number() OVER (ORDER BY ${order}) - 1 AS r, * EXCLUDE (n, us), make_timestamp(us) AS ts FROM s`,
  );
  const size = Math.ceil(samples.length / parts);
  mkdirSync(at(name));
  for (let part = 0; part < parts; part += 1)
    await database.run(
      `COPY (SELECT * EXCLUDE r FROM o WHERE r >= ${part * size} AND r < ${(part + 1) * size} ORDER BY r) ` +
        `TO ${quoteText(join(at(name), `part-${part}.parquet`))} (FORMAT parquet, ROW_GROUP_SIZE 2048)`,
    );
  database.close();
  return at(name);
}

describe("the published tree", () => {
  const rows = goldenRows();
  let tasks: string;
  let attempts: string;
  let firstFigures: unknown;

  beforeAll(async () => {
    tasks = at("tasks.csv");
    const names = ["", "pending", "", "running", "SUCCEEDED"];
    writeFileSync(
      tasks,
      `task_id,state,started_at_ms,finished_at_ms\n${rows.tasks
        .map((task) => [task.task_id, names[task.state], task.started_at_ms, task.finished_at_ms].join(","))
        .join("\n")}\n`,
    );
    attempts = at("attempts.json");
    writeFileSync(attempts, JSON.stringify(rows.attempts));
  });

  it.each([
    ["sorted, in one file", 1, "n"],
    ["sorted, in seven files", 7, "n"],
    ["by time, as a server writes them", 3, "us"],
    ["in no order", 2, "hash(n)"],
  ])("%s", async (name, parts, order) => {
    const samples = [await write(name.replaceAll(" ", "-"), rows.samples, parts, order)];
    const source = await parquetSource({ samples, tasks, attempts });
    const report = await usage({ source, job: ROOT, includeFailed: true, integral: true });
    await source.close();
    expect(report.ledgers.tasks.wallMs).toBe(BigInt(PUBLISHED.tasks.wallMs));
    expect(report.ledgers.samples).toMatchObject({ wallMs: BigInt(PUBLISHED.samples.wallMs), attempts: 21 });
    expect(report.ledgers.samples.cpuSec.toFixed(1)).toBe(PUBLISHED.samples.cpuSec);
    const causes = report.ledgers.explanation.causes.filter(({ from }) => from.length > 0);
    expect(
      Object.fromEntries(causes.map(({ id, ms, from }) => [id, { ms: Number(ms), records: from.length }])),
    ).toEqual(PUBLISHED.causes);
    // A hole in each of the ten attempts that have 500 samples or more: six of the first leaf, one of four others.
    expect(report.cpu?.holes).toBe(10);
    // The same whatever the order of the rows.
    const figures = report.cpu?.figures.map(({ by, cpuMs }) => [by, Math.round(cpuMs)]);
    // The table's 237,987.9 s, but for whole millicores in its samples.
    expect(Math.abs(Number(figures?.[0]?.[1]) - 237_987_900)).toBeLessThan(50);
    firstFigures ??= figures;
    expect(figures).toEqual(firstFigures);
  });
});

describe("by hand", () => {
  const sample = (task: number, attempt: number, ts: number, cpu: number | null): SampleRow => ({
    task_id: `/u/j/${task}`,
    attempt_id: attempt,
    worker_id: "w",
    ts,
    cpu_millicores: cpu,
    memory_mb: 0,
    disk_mb: 0,
    memory_peak_mb: 3,
  });
  // One sample; then 10 s steps with a hole of 60 s in which the load changes; then microseconds.
  const samples = [
    sample(0, 0, 1_000_000, 500),
    ...[0, 10, 20, 30, 90, 100, 110].map((s) => sample(1, 0, 1_000_000 + s * 1000, s < 40 ? 1000 : 3000)),
    sample(2, 0, 1_000_000.25, 1000),
    sample(2, 0, 1_002_000.75, 1000),
  ];

  function tasksOf(name: string): string {
    const path = at(`${name}-tasks.csv`);
    writeFileSync(path, "task_id,state,started_at_ms,finished_at_ms\n/u/j/0,4,0,30000\n");
    return path;
  }

  async function spansOf(paths: readonly string[]): Promise<ReadonlyMap<string, SampleSpan>> {
    const source = await parquetSource({ samples: paths, tasks: tasksOf("spans") });
    try {
      const how = { asOfMs: 1e13, integral: true };
      const spans = await source.spans(await source.tree("/u/j", how), how);
      return new Map(spans.map((span) => [span.taskId, span]));
    } finally {
      await source.close();
    }
  }

  async function integralsOf(path: string): Promise<ReadonlyMap<string, SampleSpan["integral"]>> {
    const source = await parquetSource({ samples: [path], tasks: tasksOf("integrals") });
    const how = { asOfMs: 1e13, integral: true };
    const spans = await source.spans(await source.tree("/u/j", how), how);
    await source.close();
    return new Map(spans.map(({ taskId, attempt, integral }) => [`${taskId}:${attempt}`, integral]));
  }

  it.each(["n", "hash(n)"])("one sample, a hole, microseconds (in the order of %s)", async (order) => {
    const name = `hand-${order.slice(0, 1)}`;
    const tasks = at(`${name}.csv`);
    writeFileSync(
      tasks,
      "task_id,state,started_at_ms,finished_at_ms\n/u/j/0,4,999000,1001000\n/u/j/1,4,1000000,1110000\n/u/j/2,4,1000000,1003000\n",
    );
    const source = await parquetSource({ samples: [await write(name, samples, 1, order)], tasks });
    const { ledgers, cpu, rows } = await usage({ source, job: "/u/j", integral: true });
    await source.close();
    expect(ledgers.tasks.wallMs).toBe(2_000n + 110_000n + 3_000n);
    // 0 + 110 s + 2000.5 ms, rounded half away from zero.
    expect(ledgers.samples.wallMs).toBe(112_001n);
    expect(ledgers.explanation.causes.find(({ id }) => id === "fractions")?.ms).toBe(-1n);
    expect(ledgers.explanation.unexplainedMs).toBe(0n);
    expect(rows.spans.find(({ taskId }) => taskId === "/u/j/1")?.integral).toEqual({
      weightedCpuMs: 30_000 + 60 * 2_000 + 20 * 3_000,
      lowCpuMs: 30_000 + 60_000,
      highCpuMs: 30_000 + 60_000,
      counterCpuMs: null,
      holes: 1,
      holesMs: 60_000,
      longestIntervalMs: 60_000,
      holeMs: expect.closeTo((3 * 112_000) / 7, 6),
    });
    expect(cpu).toMatchObject({ attempts: 2, holes: 1, holesMs: 60_000 });
    expect(cpu?.figures[1]?.highCpuMs).toBeNull();
  });

  it.each(["n", "hash(n)", "n DESC"])(
    "samples at one instant, and ones without a reading (in the order of %s)",
    async (order) => {
      const odd = [
        sample(0, 0, 1000, 1000),
        sample(0, 0, 2000, 9000),
        sample(0, 0, 2000, 1000),
        sample(0, 0, 3000, 1000),
        sample(1, 0, 1000, 1000),
        sample(1, 0, 2000, null),
        sample(1, 0, 3000, 3000),
        sample(1, 0, 4000, 3000),
      ];
      const name = `odd-${order.replace(/\W/g, "")}`;
      const spans = await spansOf([await write(name, odd, 2, order)]);
      // In order of their readings: 1 s at 1000, then 1 s from 9000 down to 1000.
      expect(spans.get("/u/j/0")?.integral).toMatchObject({ weightedCpuMs: 6000, lowCpuMs: 2000, highCpuMs: 10_000 });
      // The second without its end's reading is left out of all three; the third counts with the one that is there.
      expect(spans.get("/u/j/1")?.integral).toMatchObject({ weightedCpuMs: 6000, lowCpuMs: 6000, highCpuMs: 6000 });
    },
  );

  it("segments of several versions, in folders and files with odd names", async () => {
    const database = await Database.open();
    const segment = async (path: string, task: number, ts: string, more = ""): Promise<string> => {
      mkdirSync(dirname(at(path)), { recursive: true });
      const plain = at("plain.parquet");
      await database.run(
        `COPY (SELECT '/u/j/${task}' AS task_id, 0::BIGINT AS attempt_id, ${ts} AS ts, 5::BIGINT AS cpu_millicores${more} ` +
          `FROM range(1000, 3000, 1000) t(ms)) TO ${quoteText(plain)} (FORMAT parquet)`,
      );
      renameSync(plain, at(path));
      return at(path);
    };
    const us = "make_timestamp(ms * 1000)";
    await segment("run1/a.parquet", 8, us);
    await segment("sAx1.parquet", 9, us);
    const files = [
      await segment("task_id=7/a.parquet", 0, us),
      await segment("run[1]/a.parquet", 1, "make_timestamp_ns(ms * 1000000)", ", 7::BIGINT AS memory_peak_mb"),
      await segment("s*x?.parquet", 2, `${us}::TIMESTAMPTZ`, ", 'x' AS later"),
    ];
    const whole = await segment("whole.parquet", 3, "ms");
    database.close();
    const spans = await spansOf([...files, dirname(files[0] ?? ""), files[2] ?? ""]);
    expect([...spans.keys()].sort()).toEqual(["/u/j/0", "/u/j/1", "/u/j/2"]);
    for (const span of spans.values())
      expect(span).toMatchObject({ samples: 2, firstAtMs: 1000, lastAtMs: 2000, remainderUs: 0 });
    expect(spans.get("/u/j/0")?.memoryPeakBytes).toBeNull();
    expect(spans.get("/u/j/1")?.memoryPeakBytes).toBe(7 * 1_048_576);
    expect((await spansOf([whole])).get("/u/j/3")).toMatchObject({ firstAtMs: 1000, lastAtMs: 2000 });
    await expect(spansOf([...files, whole])).rejects.toThrow(/whole.parquet: ts is a number, and in .*a time$/);
  });

  it("a million rows of many row groups: the row before is the row before, and any order gives the same", async () => {
    const make = async (name: string, order: string): Promise<string> => {
      const path = at(`${name}.parquet`);
      const database = await Database.open();
      await database.run(
        `COPY (SELECT '/u/j/' || lpad((a // 3)::VARCHAR, 3, '0') AS task_id, a % 3 AS attempt_id, ` +
          "make_timestamp(1000000000 + i * 5000000 + (i // 900) * 60000000 + (hash(a, i) % 900000)::BIGINT) AS ts, " +
          "(hash(i, a) % 4000)::BIGINT AS cpu_millicores FROM range(600) t(a), range(2000) u(i) " +
          `ORDER BY ${order}) TO ${quoteText(path)} (FORMAT parquet, ROW_GROUP_SIZE 10000)`,
      );
      database.close();
      return path;
    };
    const sorted = await make("million", "a, i");
    const database = await Database.open();
    const rows = await database.rows(
      sortedIntegralSql(
        { from: `read_parquet(${quoteText(sorted)})`, us: "epoch_us(ts)", hasMemory: false },
        [
          { from: "/u/j/", before: "/u/j/070" },
          { from: "/u/j/070", before: "/u/j0" },
        ],
        1e13,
        18_000,
      ),
    );
    database.close();
    // In the order of the file, whatever thread has read it: 1,999 intervals each, none of which goes back.
    expect(rows).toHaveLength(600);
    expect(rows.every((row) => Number(row[8]) === 1999 && Number(row[9]) > 0)).toBe(true);
    const [quick, slow] = [await integralsOf(sorted), await integralsOf(await make("shuffled", "hash(a, i)"))];
    expect(quick.size).toBe(600);
    expect(slow).toEqual(quick);
    // Two jumps of a minute each.
    expect([...quick.values()].every((integral) => integral?.holes === 2)).toBe(true);
  });

  it("a table of jobs tells what was asked for", async () => {
    const jobs = at("jobs.csv");
    writeFileSync(jobs, "job_id,state,res_cpu_millicores,is_reservation_holder\n/u/j,4,2000,0\n/u/j/h,4,,1\n");
    const source = await parquetSource({ samples: [await write("jobs", samples, 1)], tasks: tasksOf("jobs"), jobs });
    const { leaves, holders, jobs: found } = await source.tree("/u/j", { asOfMs: 1e13 });
    await source.close();
    expect([leaves, holders]).toEqual([["/u/j"], ["/u/j/h"]]);
    expect(found[0]?.requestedCpuMillicores).toBe(2000);
  });

  it("files that are not what they should be", async () => {
    const good = await write("good", samples, 1);
    const tasks = at("no-end.csv");
    writeFileSync(tasks, "task_id,state,started_at_ms\n/u/j/0,4,1\n");
    const failing = async (files: Parameters<typeof parquetSource>[0]): Promise<string> => {
      const error = await parquetSource(files)
        .then(() => null)
        .catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(UsageError);
      expect((error as UsageError).message).not.toContain("\n");
      return (error as UsageError).message;
    };
    expect(await failing({ samples: [good], tasks })).toMatch(
      /no-end.csv has no column finished_at_ms; it has task_id, state, started_at_ms/,
    );
    expect(await failing({ samples: [at("nothing")], tasks })).toMatch(/nothing is not there/);
    expect(await failing({ samples: [tasks], tasks })).toMatch(/no-end.csv is no Parquet file/);
    mkdirSync(at("empty"));
    expect(await failing({ samples: [at("empty")], tasks })).toMatch(/empty holds no .parquet file/);
    expect(await failing({ samples: [], tasks })).toMatch(/no file of samples/);
    expect(await failing({ samples: [good], tasks: good })).toMatch(/good is a folder, and should be a table/);
    const rows = at("rows.csv");
    for (const [row, what] of [
      ["/u/j/0,SUCCEDED,1,2", /rows.csv: a row should hold a state of Iris'.*, and not SUCCEDED/],
      ["/u/j/0,4,soon,2", /rows.csv: a row should hold a number, and not soon/],
      [",4,1,2", /rows.csv: a row should hold a task's id/],
    ] as const) {
      writeFileSync(rows, `task_id,state,started_at_ms,finished_at_ms\n${row}\n`);
      expect(await failing({ samples: [good], tasks: rows })).toMatch(what);
    }
    const torn = at("torn.parquet");
    writeFileSync(torn, readFileSync(join(good, "part-0.parquet")).subarray(0, -20));
    expect(await failing({ samples: [torn], tasks: rows })).toMatch(/torn.parquet/);
    const project = newProject();
    const cli = await project.stint(["usage", "--parquet", good, "--tasks", tasks, "/u/j"]);
    expect(cli).toMatchObject({
      status: 2,
      stdout: "",
      stderr: expect.stringMatching(/^stint: .*no column finished_at_ms/),
    });
    expect(await project.stint(["usage", "--parquet", good, "/u/j"])).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/--parquet needs --tasks/),
    });
  });
});
