import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  formatJobId,
  formatTaskId,
  MAX_NAME_BYTES,
  nameFromCommand,
  parseJobId,
  parseJobName,
  shortJobId,
  suggestName,
} from "./ids.ts";

const BAD: readonly (readonly [string, string])[] = [
  ["", "empty"],
  [".", "folder"],
  ["..", "folder"],
  [".hidden", "dot"],
  ["-x", "option"],
  ["a/b", "slash"],
  ["a:b", "colon"],
  ["a b", "blank"],
  ["a\u00a0b", "blank"],
  ["a\nb", "cannot be seen"],
  ["a\x1b[31m", "cannot be seen"],
  ["a\u202eb", "cannot be seen"],
  ["a\ud800", "cannot be seen"],
  ["42", "digits"],
  ["last", "newest"],
  ["x".repeat(201), "longer than 200 bytes"],
  ["ü".repeat(101), "longer than 200 bytes"],
];

describe("parseJobName", () => {
  it.each(["sim", "Sim", "sim.2", "a-b_c", "größe", "日本", "x".repeat(200), "4x", "a'b", "$(x)"])(
    "accepts %s as it is",
    (name) => {
      expect(parseJobName(name)).toEqual({ kind: "name", name });
    },
  );

  it.each(BAD)("refuses %j (%s) in one printable line and suggests a valid name", (text, says) => {
    const parsed = parseJobName(text);
    if (parsed.kind !== "error") throw new Error("was accepted");
    expect(parsed.error).toContain(says);
    expect(parsed.error).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(parseJobName(suggestName(text)).kind).toBe("name");
  });

  it("composes letters, so that one name has one spelling", () => {
    expect(parseJobName("gro\u0308ße")).toEqual({ kind: "name", name: "größe" });
  });
});

describe("parseJobId", () => {
  it.each([
    ["sim", { kind: "job", job: { user: "me", path: ["sim"] } }],
    ["/ann/sim", { kind: "job", job: { user: "ann", path: ["sim"] } }],
    ["sim/train", { kind: "job", job: { user: "me", path: ["sim", "train"] } }],
    ["sim/0", { kind: "task", job: { user: "me", path: ["sim"] }, index: 0 }],
    ["/ann/sim/train/12", { kind: "task", job: { user: "ann", path: ["sim", "train"] }, index: 12 }],
  ])("reads %s", (text, expected) => {
    expect(parseJobId(text, "me")).toEqual(expected);
  });

  it.each(["", "/", "/ann", "/ann/", "sim/", "/sim//x", "sim/..", "0", "/ann/0", "sim/007", "a b", "sim/0/0"])(
    "refuses %j",
    (text) => {
      expect(parseJobId(text, "me")).toEqual({
        kind: "error",
        error: expect.stringMatching(/^".*" (names no job|is not a job or task)/),
      });
    },
  );
});

const NAME = fc
  .string({ unit: "binary", maxLength: 40 })
  .filter((text) => parseJobName(text).kind === "name")
  .map((text) => text.normalize("NFC"));

describe("ids as a whole", () => {
  it("formats and reads back any job and task", () => {
    fc.assert(
      fc.property(NAME, fc.array(NAME, { minLength: 1, maxLength: 4 }), fc.nat(999_999), (user, path, index) => {
        const job = { user, path };
        expect(parseJobId(formatJobId(job), "other")).toEqual({ kind: "job", job });
        expect(parseJobId(shortJobId(job, user), user)).toEqual({ kind: "job", job });
        expect(parseJobId(formatTaskId(job, index), "other")).toEqual({ kind: "task", job, index });
      }),
    );
  });

  it("suggests a valid name for any text, and leaves a valid one alone", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme", minLength: 150, maxLength: 400 })),
        (text) => {
          const name = suggestName(text);
          expect(parseJobName(name)).toEqual({ kind: "name", name });
          expect(new TextEncoder().encode(name).length).toBeLessThanOrEqual(MAX_NAME_BYTES);
          expect(suggestName(name)).toBe(name);
        },
      ),
    );
  });
});

describe("nameFromCommand", () => {
  it.each([
    [["python3", "sim.py"], "python3-sim"],
    [["python3", "-u", "/data/run/sim.py", "--x", "1"], "python3-sim"],
    [["/usr/bin/python3.11", "sim.py"], "python3.11-sim"],
    [["python3", "-m", "pkg.train"], "python3-pkg.train"],
    [["python3", "-c", "print(1)"], "python3"],
    [["bash", "-lc", "x y"], "bash"],
    [["bash", "count.sh"], "bash-count"],
    [["./sim.py"], "sim"],
    [["/opt/bin/lmp", "-in", "in.lj"], "lmp"],
    [["./a b"], "a-b"],
    [["./42"], "job-42"],
    [["."], "job"],
  ])("names %j %s", (argv, name) => {
    expect(nameFromCommand({ kind: "argv", argv })).toBe(name);
  });

  it.each([
    ["python3 sim.py", "python3-sim"],
    ["cd run && OMP_NUM_THREADS=4 python3 'my sim.py' > log", "python3-my-sim"],
    ["module load gcc; ./solve", "solve"],
    ["exec python3 sim.py", "python3-sim"],
    ["cd run", "cd"],
    ["echo 'open", "echo"],
    ["", "job"],
  ])("names the shell text %j %s", (text, name) => {
    expect(nameFromCommand({ kind: "shell", text })).toBe(name);
  });
});
