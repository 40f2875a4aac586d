import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FlagOption } from "./flag-option.ts";
import { settingFlags } from "./option-table.ts";
import { flagOn, flagText, type ParsedFlags, parseFlags } from "./parse-flags.ts";
import { refusedFlags } from "./sbatch-options.ts";

const LOGS: readonly FlagOption[] = [
  { key: "follow", flags: ["--follow", "-f"], takes: "nothing", help: "follow" },
  { key: "json", flags: ["--json", "-j"], takes: "nothing", help: "JSON" },
  { key: "attempt", flags: ["--attempt", "-a"], takes: "value", placeholder: "N", help: "attempt" },
  { key: "tag", flags: ["--tag"], takes: "list", help: "tags" },
];

const jobFlags = (...args: string[]): ParsedFlags =>
  parseFlags(args, settingFlags, { positionals: "first-ends", refused: refusedFlags });
const logFlags = (...args: string[]): ParsedFlags => parseFlags(args, LOGS, { positionals: "anywhere" });

describe("the options of a job", () => {
  it.each([
    ["limit", ["--limit=4h", "--limit 4h", "--time=4h", "--time 4h", "-t 4h", "-t4h", "-t=4h"], "4h"],
    ["name", ["--name sim", "--job-name=sim", "-J sim", "-Jsim"], "sim"],
    ["output", ["--output o.txt", "-o o.txt", "-oo.txt"], "o.txt"],
    ["error", ["--error e.txt", "-e e.txt"], "e.txt"],
    ["slurm.partition", ["--partition long", "-p long", "-plong"], "long"],
    ["slurm.account", ["--account lab", "-A lab"], "lab"],
    ["slurm.qos", ["--qos high", "-q high"], "high"],
    ["slurm.cpus-per-task", ["--cpus-per-task=4", "-c 4", "-c4"], "4"],
    ["slurm.mem", ["--mem=8G", "--mem 8G"], "8G"],
    ["slurm.nodes", ["--nodes=2", "-N 2", "-N2"], "2"],
    ["slurm.exclude", ["--exclude n1", "-x n1"], "n1"],
    ["cwd", ["--chdir /x", "--cwd /x", "-D /x"], "/x"],
    ["margin", ["--margin 60s"], "60s"],
    [
      "slurm.sbatch",
      ["--sbatch-arg=--gres=gpu:1", "--sbatch-arg --gres=gpu:1", "--gres=gpu:1", "--gres gpu:1"],
      "--gres=gpu:1",
    ],
    ["slurm.sbatch", ["-n 4", "--ntasks 4", "-n4"], "--ntasks=4"],
  ] as const)("sets %s by each of its spellings", (key, spellings, value) => {
    for (const spelling of spellings) {
      const { given, errors } = jobFlags(...spelling.split(" "));
      expect(errors).toEqual([]);
      expect([...given.keys()]).toEqual([key]);
      expect(flagText(given, key)).toBe(value);
    }
  });

  it("keeps the spelling that was typed", () => {
    expect(jobFlags("-t", "4h").given.get("limit")?.flag).toBe("-t");
  });

  it("takes the last of repeated values, and all of a list", () => {
    const { given } = jobFlags(
      "-t1h",
      "--limit",
      "2h",
      "--env",
      "A=1",
      "--env=B=2",
      "--gres=gpu:1",
      "--sbatch-arg",
      "--exclusive",
    );
    expect(given.get("limit")?.values).toEqual(["2h"]);
    expect(given.get("env")?.values).toEqual(["A=1", "B=2"]);
    expect(given.get("slurm.sbatch")?.values).toEqual(["--gres=gpu:1", "--exclusive"]);
  });

  it("stops at the first word that is no option, and leaves the rest as it was typed", () => {
    const parsed = jobFlags("-t", "1h", "job.sh", "-t", "--", "x");
    expect(parsed.positionals).toEqual(["job.sh", "-t", "--", "x"]);
    expect(parsed.command).toBeNull();
    expect(flagText(parsed.given, "limit")).toBe("1h");
  });

  it("stops at -- and leaves the command as it was typed", () => {
    const parsed = jobFlags("--limit=1h", "--", "python3", "--limit", "--");
    expect(parsed).toMatchObject({ positionals: [], command: ["python3", "--limit", "--"], errors: [] });
  });

  it("takes any command behind -- unchanged", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (command) => {
        const parsed = jobFlags("-J", "sim", "--", ...command);
        expect(parsed.command).toEqual(command);
        expect(parsed.errors).toEqual([]);
      }),
    );
  });

  it("takes any value behind = unchanged", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (value) => {
        expect(flagText(jobFlags(`--output=${value}`).given, "output")).toBe(value);
        expect(jobFlags("--env", value === "--" ? "x" : value).errors).toEqual([]);
      }),
    );
  });

  it.each([
    [["--limt=4h"], "unknown option --limt, did you mean --limit?"],
    [["--jobname", "x"], "unknown option --jobname, did you mean --job-name?"],
    [["-z"], "unknown option -z"],
    [["--limit"], "--limit needs a value: --limit TIME"],
    [["--limit", "--name", "x"], "--limit needs a value: --limit TIME"],
    [["--limit", "--", "x"], "--limit needs a value: --limit TIME"],
    [["--no-limit"], "unknown option --no-limit"],
    [
      ["--signal=B:USR1@60"],
      "--signal cannot be used: the runner itself sends TERM before the end; say how early with --margin",
    ],
    [
      ["--requeue"],
      "--requeue cannot be used: each attempt is a job of its own, so that no elapsed time is overwritten; leave it out",
    ],
  ])("answers %j with one line", (args, error) => {
    expect(jobFlags(...args).errors[0]).toBe(error);
  });

  it("adds a hint where nothing known is near", () => {
    const parsed = parseFlags(["--burst-buffer=x"], settingFlags, {
      positionals: "first-ends",
      hint: "hand it on with --sbatch-arg",
    });
    expect(parsed.errors).toEqual(["unknown option --burst-buffer; hand it on with --sbatch-arg"]);
  });

  it("goes on after an error, to find them all", () => {
    expect(jobFlags("--limt=4h", "-z", "-t", "1h").errors).toHaveLength(2);
  });
});

describe("the options of other commands", () => {
  it("finds options behind positionals", () => {
    const parsed = logFlags("sim", "-f", "--attempt", "2", "more");
    expect(parsed.positionals).toEqual(["sim", "more"]);
    expect(flagOn(parsed.given, "follow")).toBe(true);
    expect(flagText(parsed.given, "attempt")).toBe("2");
    expect(flagOn(parsed.given, "json")).toBe(false);
  });

  it("understands joined short options, --no-… and a lone dash", () => {
    expect(flagText(logFlags("-fja3").given, "attempt")).toBe("3");
    expect(flagOn(logFlags("-fja3").given, "json")).toBe(true);
    expect(flagOn(logFlags("--no-follow").given, "follow", true)).toBe(false);
    expect(flagOn(logFlags().given, "follow", true)).toBe(true);
    expect(logFlags("-").positionals).toEqual(["-"]);
  });

  it("refuses a value where none is taken, and --no- where one is", () => {
    expect(logFlags("--follow=yes").errors).toEqual(["--follow takes no value"]);
    expect(logFlags("--no-attempt").errors).toEqual(["unknown option --no-attempt, did you mean --attempt?"]);
    expect(logFlags("-fz").errors).toEqual(["unknown option -z (in -fz)"]);
  });

  it("never throws, whatever is typed", () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom("--", "-f", "--attempt", "-a", "--tag", "--no-json", "--json=1", "-", "sim"),
    );
    fc.assert(
      fc.property(fc.array(word), (args) => {
        const parsed = parseFlags(args, LOGS, { positionals: "anywhere" });
        for (const error of parsed.errors) expect(error).not.toBe("");
      }),
    );
  });
});
