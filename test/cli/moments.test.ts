/** Moments as a person reads them (a process of its own: the zone of a thread cannot be changed). */
import { afterEach, expect, test } from "vitest";
import { attemptLines } from "../../src/cli/attempts-view.ts";
import { momentInZone, zone } from "../../src/cli/words.ts";
import { attemptRow } from "../support/attempt-row.ts";

const home = process.env.TZ;

afterEach(() => {
  if (home === undefined) delete process.env.TZ;
  else process.env.TZ = home;
});

test("moments say their zone: in the heading, and one by one where the clocks changed on the way", () => {
  process.env.TZ = "Europe/Berlin";
  const [summer, winter] = [Date.UTC(2026, 9, 24, 12), Date.UTC(2026, 9, 26, 12)];
  const ran = (startedAtMs: number) => attemptRow({ startedAtMs, verdict: "completed" });
  expect(attemptLines([ran(winter)])).toEqual([
    "ATTEMPT  VERDICT    STARTED (UTC+1)",
    "2        completed  2026-10-26 13:00:00",
  ]);
  expect(attemptLines([ran(summer), ran(winter)])).toEqual([
    "ATTEMPT  VERDICT    STARTED",
    "2        completed  2026-10-24 14:00:00 (UTC+2)",
    "2        completed  2026-10-26 13:00:00 (UTC+1)",
  ]);
  expect(momentInZone(null)).toBe("");
  for (const [name, shown] of [
    ["UTC", "UTC+0"],
    ["Asia/Kolkata", "UTC+5:30"],
    ["America/St_Johns", "UTC-3:30"],
  ] as const) {
    process.env.TZ = name;
    expect(zone(winter + 30 * 86_400_000), name).toBe(shown);
  }
});
