/** The seed's published figures, through its own statements and through ours, from a double of both servers. */
import { tableFromIPC } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openIrisSource, type UsageReport, usage } from "../../../src/usage/index.ts";
import { newProject } from "../../cli/stint.ts";
import type { Era } from "../double/rows.ts";
import { type Double, startDouble } from "../double/start-double.ts";
import { goldenRows } from "./data.ts";
import { seedStatements } from "./seed-statements.ts";
import { PUBLISHED, ROOT } from "./table.ts";

describe.each<Era>(["may-2026", "newer"])("the published tree on a server of the era %s", (era) => {
  let double: Double;

  beforeAll(async () => {
    double = await startDouble({ era });
    await double.insert(goldenRows());
  });
  afterAll(() => double.close());

  it("gives the seed's figures to the seed's own statements", async () => {
    const post = async (path: string, sql: string) => {
      const response = await fetch(`${double.url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "connect-protocol-version": "1" },
        body: JSON.stringify({ sql }),
      });
      return (await response.json()) as { rows?: string[]; arrowIpc?: string; message?: string };
    };
    const rawQuery = async (sql: string) =>
      ((await post("/iris.cluster.ControllerService/ExecuteRawQuery", sql)).rows ?? []).map(
        (row) => JSON.parse(row) as unknown[],
      );
    const { leaves, tasks, samples } = seedStatements(ROOT);
    const rows = await rawQuery(leaves);
    const parents = new Set(rows.map(([, parent]) => parent));
    const ids = rows.map(([job]) => String(job)).filter((job) => !parents.has(job));
    expect(await rawQuery(tasks(ids, true))).toEqual([[5, 190_310_743]]);
    const proxied = "/proxy/system.log-server/finelog.stats.StatsService/Query";
    const { arrowIpc = "" } = await post(proxied, samples(ids));
    const [row] = tableFromIPC(Buffer.from(arrowIpc, "base64")).toArray();
    // The newer engine loses the fraction of each attempt's span, and so has these.
    const [wallMs, cpuSec] = era === "newer" ? [211_667_000, 237_983.6] : [211_671_289, 237_987.9];
    expect(Number(row?.leaf_tasks)).toBe(6);
    expect(Number(row?.approx_cpu_wall_ms)).toBe(wallMs);
    expect(Number(row?.integrated_cpu_seconds)).toBeCloseTo(cpuSec, era === "newer" ? 0 : 6);
  });

  it.each(["json", "proto"] as const)("gives them to ours in %s, with every cause between them", async (codec) => {
    const report = await usage({ source: openIrisSource({ url: double.url, codec }), job: ROOT, includeFailed: true });
    expect(report.ledgers.tasks).toMatchObject({ tasks: 5, wallMs: BigInt(PUBLISHED.tasks.wallMs) });
    expect(report.ledgers.samples).toMatchObject({ tasks: 6, attempts: 21, wallMs: BigInt(PUBLISHED.samples.wallMs) });
    expect(report.ledgers.samples.cpuSec.toFixed(1)).toBe(PUBLISHED.samples.cpuSec);
    expect(leavesOf(report)).toEqual(PUBLISHED.leaves);
    const { explanation, slack } = report.ledgers;
    expect(explanation.differenceMs).toBe(BigInt(PUBLISHED.differenceMs));
    expect(
      Object.fromEntries(
        explanation.causes.flatMap(({ id, ms, from }) =>
          from.length === 0 ? [] : [[id, { ms: Number(ms), records: from.length }]],
        ),
      ),
    ).toEqual(PUBLISHED.causes);
    expect(explanation).toMatchObject({ residualMs: 0n, unexplainedMs: 0n });
    expect(slack.trueMs).toBe(BigInt(PUBLISHED.slackMs));
    expect((slack.estimateMs ?? 0) / 1000).toBeCloseTo(147, -1);
  });

  it("prints them in the seed's own layout", async () => {
    const { stdout, stderr, status } = await newProject().stint(["usage", double.url, ROOT, "--include-failed"]);
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(stdout.split("\n").slice(0, 8)).toEqual([
      "=== A) controller `tasks` table (PR 5637 logic) ===",
      "  leaf tasks       : 5",
      "  cpu_wall_ms      :     190,310,743  (52h51m50s)",
      "",
      "=== B) iris.task stats (sample-interval approximation) ===",
      "  leaf tasks       : 6",
      "  approx wall_ms   :     211,671,289  (58h47m51s)",
      "  integrated cpu_s : 237987.9  (true CPU consumed)",
    ]);
    expect(stdout).toMatch(/residual +0 {2}nothing is left unexplained/);
    expect(stdout).toMatch(/gaps between attempts +\+1,540,000 {2}6 records/);
  });
});

function leavesOf({ groups }: UsageReport) {
  return groups.map(({ key, attempts, samplesWallMs, cpuSec }) => [
    /-([0-9a-f]{8})\/train_lm$/.exec(key)?.[1],
    attempts,
    Math.round(Number(samplesWallMs) / 1000),
    Math.round(cpuSec),
  ]);
}
