import { describe, expect, it } from "vitest";
import type { JobSpec } from "../../core/index.ts";
import { runnerEnvironment, shepherdEnvironment } from "./environment.ts";
import { formatLocalRef, parseLocalRef } from "./ref.ts";

describe("the environment of a local attempt", () => {
  it("has this attempt's mark and nothing of the attempt or the batch job that it was submitted from", () => {
    const environment = shepherdEnvironment(
      {
        script: "/a/script.sh",
        attemptFolder: "/a",
        jobName: "sim",
        spec: { limitMs: 5_000, killWaitMs: 100 } as JobSpec,
        after: ["local/b/1/2", "local/b/3/4"],
        notBeforeMs: 7,
        environment: {
          PATH: "/bin",
          STINT_MARK: "other/0/1",
          STINT_LOCAL_REF: "local/b/9/9",
          STINT_TASK_ID: "/me/other/0",
          SLURM_JOB_ID: "12",
          NODE_OPTIONS: "--inspect",
          PERL5OPT: "-d",
        },
      },
      "uuid/0/2",
    );
    expect(environment).toEqual({
      PATH: "/bin",
      STINT_MARK: "uuid/0/2",
      STINT_LOCAL_AFTER: "local/b/1/2 local/b/3/4",
      STINT_LOCAL_BEGIN_MS: "7",
      STINT_LOCAL_LIMIT_MS: "5000",
      STINT_LOCAL_KILL_WAIT_MS: "100",
    });
    expect(runnerEnvironment(environment, "local/b/5/6", 1234.4)).toEqual({
      PATH: "/bin",
      STINT_MARK: "uuid/0/2",
      STINT_LOCAL_REF: "local/b/5/6",
      STINT_LOCAL_LIMIT_END_MONOTONIC_MS: "1234",
    });
  });

  it("hands on a variable of any name", () => {
    const shepherd = JSON.parse('{"__proto__": "x y", "constructor": "c", "NODE_OPTIONS": "--inspect"}');
    expect(Object.entries(runnerEnvironment(shepherd, "local/b/5/6", null))).toEqual([
      ["__proto__", "x y"],
      ["constructor", "c"],
      ["STINT_LOCAL_REF", "local/b/5/6"],
    ]);
  });

  it("names an attempt by boot, pid and start", () => {
    const ref = { bootId: "f8d2f81a-27d6", pid: 12, startTicks: 3456 };
    expect(parseLocalRef(formatLocalRef(ref))).toEqual(ref);
    for (const other of ["slurm/c/12", "local/x/1", "local/x/1/2/3", "local//1/2"])
      expect(parseLocalRef(other)).toBeNull();
  });
});
