import { describe, expect, it } from "vitest";
import { scriptWarnings } from "./script-warnings.ts";

function warnings(lines: readonly string[], shebang = "#!/bin/bash"): readonly string[] {
  return scriptWarnings([shebang, ...lines, ""].join("\n"), "job.sh", []);
}

describe("warnings about a batch script", () => {
  it.each([
    ["scontrol requeue $SLURM_JOB_ID", "leave with status 99"],
    ["timeout 9m ./sim", "timeout is not needed"],
    ["X=1 exec timeout -s TERM -k 10 3500 ./sim", "timeout is not needed"],
    ["#DW jobdw capacity=1TB", "not read"],
    ["#PBS -l walltime=1:00", "not read"],
    ['sbatch "$0"', "submits itself"],
    ["id=$(sbatch --parsable job.sh)", "submits itself"],
    ['sbatch --dependency=afterany:1 "\u0024{BASH_SOURCE[0]}"', "submits itself"],
    ['cd "$(dirname "$0")"', "-- ./job.sh"],
    ["here=\u0024{BASH_SOURCE[0]%/*}", "-- ./job.sh"],
    ["trap save TERM", "started with & and waited for"],
    ["trap 'echo saving; save' SIGTERM SIGINT", "started with & and waited for"],
    ["trap save 15", "started with & and waited for"],
    ["trap save USR1", "no such signal is sent"],
    ["trap 'kill -USR1 $pid' SIGUSR2", "no such signal is sent"],
  ])("%s", (line, words) => {
    const found = warnings(["x=1", line]);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^job\.sh:3: /);
    expect(found[0]).toContain(words);
  });

  it.each([
    ["# scontrol requeue 7"],
    ["sbatch other-job.sh"],
    ["sbatch next.sh"],
    ["trap - TERM"],
    ["trap cleanup EXIT"],
    ["echo 'do not trap'"],
    ["srun ./sim"],
  ])("none about %s", (line) => {
    expect(warnings([line])).toEqual([]);
  });

  it("name the lines that are not read, and a trap only where nothing is waited for", () => {
    expect(scriptWarnings("#!/bin/sh\nA=1\n#SBATCH -n 2\n#SBATCH -t 3\n", "j", [3, 4])).toEqual([
      expect.stringMatching(/^j:3,4: this #SBATCH line stands behind the first command/),
    ]);
    expect(warnings(["trap save TERM", "./sim & pid=$!", "wait $pid"])).toEqual([]);
    expect(warnings(["signal.signal(15, trap TERM)"], "#!/usr/bin/env python3")).toEqual([]);
  });
});
