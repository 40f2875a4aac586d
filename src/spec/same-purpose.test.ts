import { describe, expect, it } from "vitest";
import type { JobSpec } from "../core/index.ts";
import { parseFlags, resolveSpec, samePurpose, settingFlags } from "./index.ts";

function job(line: string, command: readonly string[] = ["python3", "sim.py"]): JobSpec {
  const { given } = parseFlags(
    line.split(" ").filter((word) => word !== ""),
    settingFlags,
    { positionals: "first-ends" },
  );
  const resolved = resolveSpec({
    flags: given,
    environment: {},
    file: null,
    command,
    cwd: "/data/run",
    user: "ann",
    here: { insideAllocation: null, hasSbatch: false },
    node: "/usr/bin/node",
    runtime: "abc",
  });
  if (resolved.kind === "errors") throw new Error(resolved.errors.join("\n"));
  return resolved.spec;
}

describe("samePurpose", () => {
  it.each([
    ["--limit 4h --total 5 --checkpoint s", "--limit 8h --mem 8G --total 9 --checkpoint ./s --budget-failures 9"],
    ["--checkpoint s", "--checkpoint /data/run/s"],
    ["", "--env A=1 --ahead 1"],
  ])("continues when only the terms differ: %j and %j", (before, now) => {
    expect(samePurpose(job(before), job(now))).toEqual({ same: true });
  });

  it.each([
    ["--cwd sub", "the working folder differs: /data/run on file, /data/run/sub now"],
    ["--checkpoint s", "the checkpoint differs: none on file, /data/run/s now"],
  ])("does not continue with %s", (now, differs) => {
    expect(samePurpose(job(""), job(now))).toEqual({ same: false, differs });
  });

  it("says that the same words are text for a shell here and a list of arguments there", () => {
    const onFile: JobSpec = { ...job(""), command: { kind: "shell", text: "python3 sim.py" } };
    expect(samePurpose(onFile, job(""))).toEqual({
      same: false,
      differs:
        "the command differs: a text for a shell (python3 sim.py) on file, a list of arguments (python3 sim.py) now",
    });
  });

  it("names both commands, and both ways to read progress", () => {
    expect(samePurpose(job(""), job("", ["python3", "other sim.py"]))).toEqual({
      same: false,
      differs: "the command differs: python3 sim.py on file, python3 'other sim.py' now",
    });
    expect(samePurpose(job("--checkpoint s"), job("--checkpoint s --progress json:.step"))).toEqual({
      same: false,
      differs: "how progress is read differs: number on file, json:.step now",
    });
  });
});
