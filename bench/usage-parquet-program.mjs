// One measured piece of usage-parquet.mjs: `make FOLDER SAMPLES`, `seed FOLDER`, `plain FOLDER`, `integral FOLDER`.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";

const ROOT = "/bench/tree";
const TASKS = 10_000;
const ATTEMPTS = 25_000;
const SEGMENTS = 10;
const [what, folder, count] = process.argv.slice(2);

const begin = performance.now();
const result = await { make, seed, plain: () => ours(false), integral: () => ours(true) }[what]();
const ms = performance.now() - begin;
console.log(JSON.stringify({ ms, memoryBytes: process.resourceUsage().maxRSS * 1024, result }));

/** Tasks with 2 or 3 attempts each, the same number of samples in every attempt, about 7 s apart. */
async function make() {
  const each = Number(count) / ATTEMPTS;
  const connection = await open("8GB");
  const attempts = `SELECT range AS a, range * ${TASKS} // ${ATTEMPTS} AS t FROM range(${ATTEMPTS})`;
  await connection.run(
    `CREATE TABLE attempts AS SELECT a, '${ROOT}/leaf-' || lpad(t::VARCHAR, 5, '0') || '/0' AS task_id, ` +
      `a - min(a) OVER (PARTITION BY t) AS attempt_id, 1778000000000 + (a - min(a) OVER (PARTITION BY t)) * ${each} * 8000 AS from_ms FROM (${attempts})`,
  );
  for (let segment = 0; segment < SEGMENTS; segment++) {
    const [from, to] = [segment, segment + 1].map((n) => (n * ATTEMPTS) / SEGMENTS);
    await connection.run(
      "COPY (SELECT task_id, attempt_id, 'w' AS worker_id, make_timestamp(((from_ms + i.range * 7000 + (hash(a, i.range) % 900)::BIGINT) * 1000)::BIGINT) AS ts, " +
        "(500 + hash(i.range, a) % 3000)::BIGINT AS cpu_millicores, 100::BIGINT AS memory_mb, 0::BIGINT AS disk_mb, 200::BIGINT AS memory_peak_mb " +
        `FROM attempts, range(${each}) i WHERE a >= ${from} AND a < ${to} ORDER BY a, i.range) ` +
        `TO '${join(folder, `segment-${segment}.parquet`)}' (FORMAT parquet, COMPRESSION zstd)`,
    );
  }
  await connection.run(
    "COPY (SELECT DISTINCT ON (task_id) task_id, 4 AS state, 1778000000000 AS started_at_ms, 1778900000000 AS finished_at_ms FROM attempts ORDER BY task_id) " +
      `TO '${join(folder, "tasks.csv")}' (HEADER)`,
  );
  return null;
}

async function seed() {
  const connection = await open("2GB");
  const files = segments().map((name) => `'${name}'`);
  const leaves = Array.from({ length: TASKS }, (_, t) => `'${ROOT}/leaf-${String(t).padStart(5, "0")}'`);
  const reader = await connection.runAndReadAll(`
            WITH per_attempt AS (
              SELECT task_id,
                     attempt_id,
                     EXTRACT(EPOCH FROM (max(ts) - min(ts))) AS wall_s,
                     avg(cpu_millicores)                     AS avg_cpu_m
              FROM read_parquet([${files}])
              WHERE regexp_replace(task_id, '/[0-9]+$', '') IN (${leaves})
              GROUP BY task_id, attempt_id
            )
            SELECT count(DISTINCT task_id)                       AS leaf_tasks,
                   round(sum(wall_s) * 1000)                     AS approx_cpu_wall_ms,
                   round(sum(wall_s * avg_cpu_m / 1000.0), 1)    AS integrated_cpu_seconds
            FROM per_attempt`);
  return reader.getRowsJson();
}

async function ours(integral) {
  const { parquetSource, usage } = await import("../dist/lib/index.js");
  const source = await parquetSource({ samples: segments(), tasks: join(folder, "tasks.csv") });
  const { ledgers, cpu } = await usage({ source, job: ROOT, integral });
  await source.close();
  return [ledgers.samples.tasks, Number(ledgers.samples.wallMs), ledgers.samples.cpuSec, cpu?.figures.length ?? 0];
}

function segments() {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".parquet"))
    .sort()
    .map((name) => join(folder, name));
}

async function open(memory) {
  // What does not fit lies beside the data, and not in the folder that the bench was started in.
  const instance = await DuckDBInstance.create(":memory:", {
    threads: "2",
    memory_limit: memory,
    temp_directory: join(folder, "spill"),
  });
  return instance.connect();
}
