/** The same local job through its folder, through SQL over it, and through a controller that has its rows: the same figures. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newProject } from "../cli/stint.ts";
import type { IrisRows } from "../iris/double/rows.ts";
import { type Double, startDouble } from "../iris/double/start-double.ts";
import { seedStatements } from "../iris/golden/seed-statements.ts";

const COUNT = ["--checkpoint", "state.txt", "--total", "60", "--env", "STEP_SEC=0.08", "--env", "CHECKPOINT_EVERY=5"];
const CHAIN = [
  "run",
  "--scheduler",
  "local",
  "--name",
  "sim",
  "--limit",
  "2.5s",
  "--margin",
  "1s",
  "--sample-interval",
  "0.2s",
];

interface Usage {
  readonly tasks: { readonly leaf_tasks: number; readonly cpu_wall_ms: number; readonly attemptsWallMs: number };
  readonly samples: {
    readonly leaf_tasks: number;
    readonly approx_cpu_wall_ms: number;
    readonly integrated_cpu_seconds: number;
    readonly cpuSec: number;
    readonly attempts: number;
  };
  readonly explanation: {
    readonly differenceMs: number;
    readonly causes: readonly { readonly id: string; readonly ms: number }[];
    readonly residualMs: number;
  };
  readonly own: {
    readonly ran: { readonly ms: number };
    readonly usedCpu: { readonly ms: number };
    readonly attempts: number;
  };
}

it("a local job of several attempts: its folder, SQL over it and a controller with its rows tell the same", async (test) => {
  const project = newProject();
  const ran = await project.stint([...CHAIN, ...COUNT, "--", "bash", "count.sh"]);
  expect(ran.status).toBe(0);
  const own = JSON.parse((await project.stint(["usage", "sim", "--json"])).stdout) as Usage;
  const root = project.jobFolder("sim").replace(/^.*\.stint\/jobs/, "");

  const sql = async (statement: string): Promise<readonly (readonly (string | number | null)[])[]> => {
    const { stdout, stderr, status } = await project.stint(["sql", statement, "--json"]);
    expect([status, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout).rows;
  };

  async function rowsOfJob(): Promise<IrisRows> {
    const number = Number;
    const orNull = (cell: string | number | null | undefined): number | null =>
      cell === null || cell === undefined ? null : number(cell);
    return {
      jobs: (await sql("SELECT job_id, parent_job_id, state FROM jobs")).map(([job, parent, state]) => ({
        job_id: String(job),
        parent_job_id: parent === null ? null : String(parent),
        state: number(state),
      })),
      tasks: (await sql("SELECT task_id, job_id, task_index, state, started_at_ms, finished_at_ms FROM tasks")).map(
        (row) => ({
          task_id: String(row[0]),
          job_id: String(row[1]),
          task_index: number(row[2]),
          state: number(row[3]),
          started_at_ms: orNull(row[4]),
          finished_at_ms: orNull(row[5]),
        }),
      ),
      attempts: (await sql("SELECT task_id, attempt_id, state, started_at_ms, finished_at_ms FROM task_attempts")).map(
        (row) => ({
          task_id: String(row[0]),
          attempt_id: number(row[1]),
          state: number(row[2]),
          started_at_ms: orNull(row[3]),
          finished_at_ms: orNull(row[4]),
        }),
      ),
      samples: (await sql('SELECT task_id, attempt_id, epoch_ms(ts), cpu_millicores FROM "iris.task"')).map((row) => ({
        task_id: String(row[0]),
        attempt_id: number(row[1]),
        worker_id: "w",
        ts: number(row[2]),
        cpu_millicores: orNull(row[3]),
        memory_mb: 0,
        disk_mb: 0,
        memory_peak_mb: 0,
      })),
    };
  }

  {
    // What its records say.
    const record = <T>(attempt: number, name: string): T =>
      JSON.parse(
        readFileSync(join(project.jobFolder("sim"), `tasks/0/attempts/000${attempt}/${name}.json`), "utf8"),
      ) as T;
    const { attempts } = own.own;
    expect(attempts).toBeGreaterThanOrEqual(3);
    const starts = Array.from({ length: attempts }, (_, at) => record<{ atMs: number }>(at + 1, "started").atMs);
    const ends = Array.from({ length: attempts }, (_, at) =>
      record<{ atMs: number; ranMs: number; cpuUserMs: number; cpuSystemMs: number }>(at + 1, "exited"),
    );
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
    expect(own.tasks).toMatchObject({
      leaf_tasks: 1,
      cpu_wall_ms: (ends.at(-1)?.atMs ?? 0) - (starts[0] ?? 0),
      attemptsWallMs: sum(ends.map(({ atMs }, at) => atMs - (starts[at] ?? 0))),
    });
    const moments = starts.map((_, at) =>
      readFileSync(join(project.jobFolder("sim"), `tasks/0/attempts/000${at + 1}/samples.csv`), "utf8")
        .trim()
        .split("\n")
        .slice(1)
        .map((line) => Number(line.split(",")[0])),
    );
    expect(own.samples.approx_cpu_wall_ms).toBe(sum(moments.map((all) => Math.max(...all) - Math.min(...all))));
    expect(own.explanation.residualMs).toBe(0);
    expect(own.explanation.causes.find(({ id }) => id === "between")?.ms).toBe(
      sum(starts.slice(1).map((start, at) => start - (ends[at]?.atMs ?? 0))),
    );
    expect(own.own.ran.ms).toBe(sum(ends.map(({ ranMs }) => ranMs)));
    expect(own.own.usedCpu.ms).toBe(sum(ends.map(({ cpuUserMs, cpuSystemMs }) => cpuUserMs + cpuSystemMs)));
  }

  {
    // The seed's own statements.
    const { leaves, tasks, samples } = seedStatements(root);
    const parents = new Set((await sql(leaves)).map(([, parent]) => parent));
    const ids = (await sql(leaves)).map(([job]) => String(job)).filter((id) => !parents.has(id));
    expect(await sql(tasks(ids, false))).toEqual([[own.tasks.leaf_tasks, own.tasks.cpu_wall_ms]]);
    expect(await sql(samples(ids))).toEqual([
      [own.samples.leaf_tasks, own.samples.approx_cpu_wall_ms, own.samples.integrated_cpu_seconds],
    ]);
  }

  {
    const double: Double = await startDouble({ era: "newer" });
    test.onTestFinished(() => double.close());
    await double.insert(await rowsOfJob());
    const { stdout, stderr } = await project.stint(["usage", double.url, root, "--json"]);
    expect(stderr).toBe("");
    const other = JSON.parse(stdout) as Usage;
    expect(other.tasks).toEqual(own.tasks);
    expect(other.samples.approx_cpu_wall_ms).toBe(own.samples.approx_cpu_wall_ms);
    expect(other.samples.cpuSec).toBeCloseTo(own.samples.cpuSec, 9);
    const ms = ({ explanation: { causes } }: Usage) => causes.map(({ id, ms }) => [id, ms]);
    expect(ms(other)).toEqual(ms(own));
  }
});
