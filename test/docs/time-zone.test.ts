/** Times on file mean the same instant wherever and whenever they are read. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { parseTimeStamp, TIME_STAMP_ENVIRONMENT } from "../../src/slurm/index.ts";

const dist = process.env.STINT_TEST_DIST ?? join(import.meta.dirname, "../../dist");
const zone = process.env.TZ;

afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

test("records hold epoch milliseconds and no local time, whatever the zone of who writes them", () => {
  const folder = mkdtempSync(join(tmpdir(), "stint-zone-"));
  try {
    // 13 or 14 h ahead of UTC: a local time taken for UTC would lie far outside of the run.
    const { PATH, HOME, XDG_STATE_HOME } = process.env;
    const env = { PATH, HOME, XDG_STATE_HOME, TZ: "Pacific/Auckland" };
    const words = ["run", "--quiet", "--scheduler", "local", "--name", "zone", "--limit", "10m", "--", "true"];
    const before = Date.now();
    execFileSync(process.execPath, [join(dist, "cli/main.js"), ...words], { cwd: folder, env, stdio: "pipe" });
    const after = Date.now();
    const jobs = join(folder, ".stint/jobs");
    const records = readdirSync(jobs, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"));
    expect(records.map((name) => name.replace(/.*\//, ""))).toEqual(
      expect.arrayContaining(["claim.json", "started.json", "go.json", "exited.json", "settled.json", "0001.json"]),
    );
    for (const name of records.filter((name) => !name.endsWith("env.json"))) {
      const text = readFileSync(join(jobs, name), "utf8");
      expect(text, name).not.toMatch(/\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d/);
      for (const [, key, ms] of text.matchAll(/"(\w*[aA]tMs)":(\d+)/g)) {
        // The ends of limit and window lie ahead.
        const latest = after + (key === "limitEndAtMs" || key === "windowEndAtMs" ? 600_000 : 0);
        expect(Number(ms), `${name}: ${key}`).toBeGreaterThanOrEqual(before);
        expect(Number(ms), `${name}: ${key}`).toBeLessThanOrEqual(latest);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("Slurm's times are asked for in UTC and read the same on both sides of a change of the clocks", () => {
  expect(TIME_STAMP_ENVIRONMENT.TZ).toBe("UTC");
  // In Berlin both are half past two.
  process.env.TZ = "Europe/Berlin";
  expect(new Date("2026-10-25T00:30:00Z").getHours()).toBe(new Date("2026-10-25T01:30:00Z").getHours());
  const [first, second] = [parseTimeStamp("2026-10-25T00:30:00"), parseTimeStamp("2026-10-25T01:30:00")];
  expect((second ?? 0) - (first ?? 0)).toBe(3_600_000);
  expect(first).toBe(Date.UTC(2026, 9, 25, 0, 30));
});
