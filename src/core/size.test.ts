import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatBytes, formatSlurmMemory, parseMemory } from "./size.ts";

const KIB = 1024;
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

describe("parseMemory", () => {
  it.each([
    ["4000", 4000 * MIB, null],
    ["0", 0, null],
    ["512K", 512 * KIB, null],
    ["256M", 256 * MIB, null],
    ["8G", 8 * GIB, null],
    ["8g", 8 * GIB, null],
    ["8GB", 8 * GIB, null],
    ["8GiB", 8 * GIB, null],
    ["1.5T", 1.5 * 1024 ** 4, null],
    ["2P", 2 * 1024 ** 5, null],
    ["1E", 1024 ** 6, null],
    ["4Gn", 4 * GIB, "node"],
    ["4000Mc", 4000 * MIB, "cpu"],
  ] as const)("reads %s", (text, bytes, per) => {
    const parsed = parseMemory(text);
    if (bytes > Number.MAX_SAFE_INTEGER) expect(parsed.kind).toBe("error");
    else expect(parsed).toEqual({ kind: "memory", bytes, per });
  });

  it.each(["", "G", "-1G", "4 G", "4X", "4Gx", "1e3", "0x10", "4,5G"])("refuses %j", (text) => {
    expect(parseMemory(text)).toEqual({ kind: "error", error: expect.stringContaining("Accepted:") });
  });
});

describe("formatBytes", () => {
  it.each([
    [0, "0 B"],
    [512, "512 B"],
    [1023, "1023 B"],
    [1024, "1 KiB"],
    [1536, "1.5 KiB"],
    [110 * MIB, "110 MiB"],
    [8 * GIB, "8 GiB"],
    [1023.6 * KIB, "1 MiB"],
    [1024 ** 4 * 2.25, "2.25 TiB"],
  ])("prints %d bytes as %s", (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it("is exact below 1 KiB and within 0.6 % above", () => {
    fc.assert(
      fc.property(fc.oneof(fc.nat(1023), fc.integer({ min: 1024, max: 2 ** 50 })), (bytes) => {
        const text = formatBytes(bytes);
        expect(text).toMatch(/^\d{1,4}(\.\d{1,2})? ([KMGTP]i)?B$/);
        if (bytes < 1024) expect(text).toBe(`${bytes} B`);
        else {
          const read = parseMemory(text.replace(" ", ""));
          expect(read.kind === "memory" && Math.abs(read.bytes - bytes) / bytes).toBeLessThan(0.006);
        }
      }),
    );
  });
});

describe("formatSlurmMemory", () => {
  it.each([
    [0, "0"],
    [8 * GIB, "8G"],
    [1.5 * GIB, "1536M"],
    [1024 ** 4, "1T"],
    [4000 * MIB, "4000M"],
    [1, "1K"],
    [1025, "2K"],
  ])("prints %d bytes as %s", (bytes, text) => {
    expect(formatSlurmMemory(bytes)).toBe(text);
  });

  it("is read back as at least as much, and at most 1023 bytes more", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 50 }), (bytes) => {
        const read = parseMemory(formatSlurmMemory(bytes));
        expect(read.kind === "memory" && read.bytes - bytes).toBeGreaterThanOrEqual(0);
        expect(read.kind === "memory" && read.bytes - bytes).toBeLessThan(1024);
      }),
    );
  });
});
