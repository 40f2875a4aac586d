import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDuration, formatSlurmTime, parseDuration } from "./time.ts";

const S = 1000;
const M = 60 * S;
const H = 60 * M;
const D = 24 * H;

const READ: readonly (readonly [string, number])[] = [
  // Slurm's six forms
  ["90", 90 * M],
  ["08", 8 * M],
  ["0", 0],
  ["3:30", 3 * M + 30 * S],
  ["90:00", 90 * M],
  ["00:03:00", 3 * M],
  ["100:00:00", 100 * H],
  ["08:09:09", 8 * H + 9 * M + 9 * S],
  ["2-12", 60 * H],
  ["0-05:30", 5 * H + 30 * M],
  ["1-02:03:04", D + 2 * H + 3 * M + 4 * S],
  ["30-00:00:00", 30 * D],
  // over the natural range below nothing but zeros
  ["0-72", 72 * H],
  ["00:90:00", 90 * M],
  ["00:00:99", 99 * S],
  ["0:90", 90 * S],
  // units
  ["90s", 90 * S],
  ["15m", 15 * M],
  ["2h30m", 2 * H + 30 * M],
  ["1d12h", 36 * H],
  ["30d", 30 * D],
  ["1.5s", 1500],
  ["0.25s", 250],
  ["1m0.001s", M + 1],
  ["0s", 0],
  ["  4h ", 4 * H],
  // ISO 8601
  ["PT2H", 2 * H],
  ["P1DT2H", D + 2 * H],
  ["pt90m", 90 * M],
  ["PT1.5S", 1500],
  ["P2W", 14 * D],
  ["P3D", 3 * D],
];

const REFUSED: readonly (readonly [string, string])[] = [
  ["", "nothing"],
  ["abc", "no part of it"],
  ["2h 30m", 'understood 2h, but not " 30m"'],
  ["2h30", 'understood 2h, but not "30"'],
  ["30m2h", 'understood 30m, but not "2h"'],
  ["2H", "small letters"],
  ["1.5h", "only seconds"],
  ["1.5", "no part of it"],
  ["1:99:00", "write 2h39m"],
  ["1-30", "write 54h"],
  ["10:75", "write 11m15s"],
  ["1h90m", "write 2h30m"],
  ["1:2:3:4", "four fields"],
  ["1-2:3:4:5", "four fields"],
  ["1-", "none of Slurm's forms"],
  ["-5", "none of Slurm's forms"],
  [":30", "none of Slurm's forms"],
  ["1--2", "none of Slurm's forms"],
  ["P1M", "no fixed length"],
  ["P1Y", "no fixed length"],
  ["P", "ISO 8601"],
  ["PT", "ISO 8601"],
  ["P2H", "ISO 8601"],
  ["99999999999999999", "too long: the most is 36500d"],
  ["99999999999999999999h", '"99999999999999999999h" is too long: the most is 36500d (100 years)'],
  ["36501d", "too long"],
  ["1e3", "no part of it"],
];

describe("parseDuration", () => {
  it.each(READ)("reads %j as %d ms", (text, ms) => {
    expect(parseDuration(text, { bareNumber: "minutes" })).toEqual({ kind: "duration", ms });
  });

  it.each(REFUSED)("refuses %j and says: %s", (text, says) => {
    const parsed = parseDuration(text, { bareNumber: "minutes" });
    expect(parsed.kind).toBe("error");
    if (parsed.kind !== "error") return;
    expect(parsed.error).toContain(says);
    if (!says.includes("too long")) expect(parsed.error).toContain("Accepted: 90 (minutes), MM:SS");
    expect(parsed.error).not.toContain("\n");
  });

  it.each(["UNLIMITED", "unlimited", "INFINITE", "infinite", "-1"])("reads %s as no limit", (text) => {
    expect(parseDuration(text, { bareNumber: "minutes" })).toEqual({ kind: "unlimited" });
  });

  it.each(["0", "60", "08"])("refuses the bare number %s where a unit is needed, with both readings", (text) => {
    const parsed = parseDuration(text, { bareNumber: "refused" });
    expect(parsed).toEqual({ kind: "error", error: expect.stringContaining(`write ${text}s or ${text}m`) });
  });

  it("does not offer bare minutes where they are refused", () => {
    expect(parseDuration("x", { bareNumber: "refused" })).toEqual({
      kind: "error",
      error: expect.not.stringContaining("(minutes)"),
    });
  });

  it("answers any text with one line and never throws", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const parsed = parseDuration(text.replaceAll("\n", ""), { bareNumber: "minutes" });
        if (parsed.kind === "error") expect(parsed.error.split("\n")).toHaveLength(1);
        if (parsed.kind === "duration") expect(Number.isSafeInteger(parsed.ms) && parsed.ms >= 0).toBe(true);
      }),
    );
  });
});

const WHOLE_MS = fc.oneof(fc.integer({ min: 0, max: 10 * M }), fc.integer({ min: 0, max: 400 * D }));

describe("formatDuration", () => {
  it.each([
    [0, "0s"],
    [1500, "1.5s"],
    [2 * H + 30 * M, "2h30m"],
    [190310 * S, "52h51m50s"],
    [30 * D, "720h"],
    [-90 * S, "-1m30s"],
    [0.4, "0s"],
    [-0.4, "0s"],
    [59_999.6, "1m"],
  ])("prints %d ms as %s", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it("is read back as the same duration", () => {
    fc.assert(
      fc.property(WHOLE_MS, (ms) => {
        expect(parseDuration(formatDuration(ms), { bareNumber: "refused" })).toEqual({ kind: "duration", ms });
      }),
    );
  });

  it("refuses what is no number", () => {
    expect(() => formatDuration(Number.NaN)).toThrow(RangeError);
  });
});

describe("formatSlurmTime", () => {
  it.each([
    [0, "00:00:00"],
    [1, "00:00:01"],
    [3 * M, "00:03:00"],
    [3 * M + 1, "00:03:01"],
    [D, "1-00:00:00"],
    [60 * H, "2-12:00:00"],
  ])("prints %d ms as %s", (ms, text) => {
    expect(formatSlurmTime(ms)).toBe(text);
  });

  it("is read back as the same duration, rounded up to a second", () => {
    fc.assert(
      fc.property(WHOLE_MS, (ms) => {
        const parsed = parseDuration(formatSlurmTime(ms), { bareNumber: "refused" });
        expect(parsed).toEqual({ kind: "duration", ms: Math.ceil(ms / S) * S });
      }),
    );
  });

  it("refuses a negative time", () => {
    expect(() => formatSlurmTime(-1)).toThrow(RangeError);
  });
});
