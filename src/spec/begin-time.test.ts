import { describe, expect, it } from "vitest";
import { parseBeginTime } from "./begin-time.ts";

const NOW = new Date(2026, 10, 30, 23, 31, 8).getTime();
const local = (year: number, month: number, day: number, h = 0, m = 0, s = 0) =>
  new Date(year, month - 1, day, h, m, s).getTime();

describe("--begin, as sbatch 22.05 took it on 2026-11-30 at 23:31:08", () => {
  it.each([
    ["now", NOW],
    ["now+1", NOW + 1_000],
    ["now + 60", NOW + 60_000],
    ["NOW+1HOUR", NOW + 3_600_000],
    ["now+2minutes", NOW + 120_000],
    ["now+1week", NOW + 7 * 86_400_000],
    ["now-1hour", NOW - 3_600_000],
    ["today", NOW],
    ["tomorrow", local(2026, 12, 1)],
    ["tomorrow 10:00", local(2026, 12, 1, 10)],
    ["midnight", local(2026, 12, 1)],
    ["noon", local(2026, 12, 1, 12)],
    ["fika", local(2026, 12, 1, 15)],
    ["teatime", local(2026, 12, 1, 16)],
    ["16:00", local(2026, 12, 1, 16)],
    ["4:05pm", local(2026, 12, 1, 16, 5)],
    ["4:05 PM", local(2026, 12, 1, 16, 5)],
    ["12:00am", local(2026, 12, 1)],
    ["0:00", local(2026, 12, 1)],
    ["23:59:59", local(2026, 11, 30, 23, 59, 59)],
    ["2026-12-24", local(2026, 12, 24)],
    ["2026-12-24T10:00:05", local(2026, 12, 24, 10, 0, 5)],
    ["2026-12-24T10:00PM", local(2026, 12, 24, 22)],
    ["2026-12-24 10:00", local(2026, 12, 24, 10)],
    ["12/24-10:00", local(2026, 12, 24, 10)],
    ["12/24", local(2026, 12, 24)],
    ["12/24/26", local(2026, 12, 24)],
    ["122426", local(2026, 12, 24)],
    ["11/01", local(2027, 11, 1)],
    ["11/30", local(2027, 11, 30)],
    ["2020-01-01", local(2020, 1, 1)],
    ["uts1800000000", 1_800_000_000_000],
  ])("%s", (text, expected) => {
    expect(parseBeginTime(text, NOW)).toBe(expected);
  });

  it.each([
    "",
    "9",
    "10am",
    "24:00",
    "1:2:3",
    "12/24/2026",
    "now+3d",
    "now+1h",
    "now+5x",
    "now5",
    "1800000000",
    "soon",
    "2026-02-30",
  ])("%j is refused", (text) => {
    expect(parseBeginTime(text, NOW)).toBeNull();
  });
});
