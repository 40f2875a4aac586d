import { describe, expect, it } from "vitest";
import { hasEnded, parseAuxiliary, parseStat } from "./proc.ts";

function statText(comm: string, state = "S", threads = 1): string {
  const fields = [
    state,
    40,
    41,
    42,
    0,
    -1,
    4194304,
    1,
    2,
    3,
    4,
    11,
    12,
    13,
    14,
    20,
    0,
    threads,
    0,
    987654,
    8192,
    5,
    18,
  ];
  return `77 (${comm}) ${fields.join(" ")} 0 0\n`;
}

describe("parseStat", () => {
  it.each(["bash", "a b", "odd) S 1 (x", "two\nlines) R 9", ""])("reads every field behind the name %j", (comm) => {
    expect(parseStat(statText(comm))).toMatchObject({
      pid: 77,
      comm,
      state: "S",
      parent: 40,
      processGroup: 41,
      session: 42,
      userTicks: 11,
      systemTicks: 12,
      childUserTicks: 13,
      childSystemTicks: 14,
      threads: 1,
      startTicks: 987654,
      virtualBytes: 8192,
    });
  });

  it("refuses what is no stat line", () => {
    expect(parseStat("")).toBeNull();
    expect(parseStat("77 (cut) S 1")).toBeNull();
  });

  it("takes a zombie main thread with living threads for alive", () => {
    const ended = (state: string, threads: number) => {
      const stat = parseStat(statText("x", state, threads));
      return stat !== null && hasEnded(stat);
    };
    expect(ended("Z", 1)).toBe(true);
    expect(ended("Z", 3)).toBe(false);
    expect(ended("X", 1)).toBe(true);
    expect(ended("T", 1)).toBe(false);
  });
});

describe("parseAuxiliary", () => {
  it("reads page size and clock tick in words of 8 and of 4 bytes, either end first", () => {
    const pairs = [33, 4096, 6, 65536, 17, 250, 0, 0];
    const wide = Buffer.alloc(pairs.length * 8);
    pairs.forEach((value, at) => {
      wide.writeBigUInt64BE(BigInt(value), at * 8);
    });
    const narrow = Buffer.alloc(pairs.length * 4);
    pairs.forEach((value, at) => {
      narrow.writeUInt32LE(value, at * 4);
    });
    expect(parseAuxiliary(wide, "s390x", "BE")).toEqual({ clockTicks: 250, pageBytes: 65536 });
    expect(parseAuxiliary(narrow, "arm", "LE")).toEqual({ clockTicks: 250, pageBytes: 65536 });
  });

  it("falls back to the usual values", () => {
    expect(parseAuxiliary(Buffer.alloc(0), "x64", "LE")).toEqual({ clockTicks: 100, pageBytes: 4096 });
  });
});
