import { describe, expect, it } from "vitest";
import type { JobSpec } from "../core/index.ts";
import { type AttemptPlace, jobPlace } from "../journal/index.ts";
import { launchArgv, launchEnvironment } from "./launch.ts";
import { inputPath, outputPaths } from "./output-files.ts";

const job = jobPlace("/p/.stint", "/ann/sim");
const slurm = { launch: "direct", srunArgs: [], modules: [] };
const spec = (changes: object) =>
  ({ scheduler: "local", name: "sim", env: {}, slurm, ...changes }) as unknown as JobSpec;

describe("what is started", () => {
  it("is the list as it stands, the text in a login bash, or the copy of the batch script", () => {
    expect(launchArgv(spec({ command: { kind: "argv", argv: ["a b", "$c"] } }), job)).toEqual(["a b", "$c"]);
    expect(launchArgv(spec({ command: { kind: "shell", text: "a && b" } }), job)).toEqual(["bash", "-lc", "a && b"]);
    const command = {
      kind: "batch",
      name: "j.sh",
      sha256: "0123456789abcdef01",
      interpreter: ["/bin/bash"],
      args: ["x y"],
    };
    const copy = "/p/.stint/jobs/ann/sim/batch/0123456789abcdef/j.sh";
    expect(launchArgv(spec({ command }), job)).toEqual(["/bin/bash", copy, "x y"]);
  });

  it("on Slurm goes through srun and behind the modules where wanted, with its words unchanged", () => {
    const onSlurm = { launch: "srun", srunArgs: ["-n", "4"], modules: ["gcc/12", "my mod"] };
    const command = { kind: "argv", argv: ["./x", "a b"] };
    expect(launchArgv(spec({ scheduler: "slurm", command, slurm: onSlurm }), job)).toEqual([
      "bash",
      "-lc",
      "module load gcc/12 'my mod' || exit 1\nexec \"$@\"",
      "bash",
      "srun",
      "-n",
      "4",
      "./x",
      "a b",
    ]);
  });

  it("gets the job's environment, then the user's, then the contract, and no facts of another attempt", () => {
    const of = {
      STINT_DEADLINE: "1",
      STINT_MARK: "x",
      STINT_MARK_JOB: "6",
      STINT_JOB_FOLDER: "/j",
      STINT_LOCAL_REF: "y",
    };
    const base = { PATH: "/bin", A: "base", SLURM_JOB_ID: "7", ...of };
    expect(launchEnvironment(base, spec({ env: { A: "user", B: "user" } }), { B: "contract" }, "m/0/1")).toEqual({
      PATH: "/bin",
      A: "user",
      B: "contract",
      SLURM_JOB_ID: "7",
      STINT_MARK: "m/0/1",
      STINT_MARK_JOB: "7",
    });
  });

  it("is told of the allocation that it was submitted in while it runs there, and of none that it has left", () => {
    const kept = { PATH: "/bin", SLURM_CONF: "/c", SBATCH_ACCOUNT: "lab" };
    const base = { ...kept, SLURM_JOB_ID: "77", SLURM_NTASKS: "4", SLURMD_NODENAME: "n1", PMIX_RANK: "0", PMI_FD: "3" };
    const told = (changes: object) => launchEnvironment(base, spec(changes), {}, "m");
    const [inside, outside] = [
      { STINT_MARK: "m", STINT_MARK_JOB: "77" },
      { STINT_MARK: "m", STINT_MARK_JOB: "" },
    ];
    expect(told({ allocationId: "77" })).toEqual({ ...base, ...inside });
    expect(told({ allocationId: "78" })).toEqual({ ...kept, ...outside });
    expect(told({ allocationId: null })).toEqual({ ...kept, ...outside });
    // Not known in a specification of an older version; and what Slurm gives to a job of its own is that job's.
    expect(told({})).toEqual({ ...base, ...inside });
    expect(told({ scheduler: "slurm", allocationId: null })).toEqual({ ...base, ...inside });
    const own = { PATH: "/bin", SLURM_TIME_FORMAT: "%s" };
    expect(launchEnvironment(own, spec({ allocationId: "78" }), {}, "m")).toEqual({ ...own, ...outside });
  });

  it("gets a variable of any name", () => {
    const odd = Object.fromEntries([["__proto__", "x"]]);
    expect(Object.entries(launchEnvironment(odd, spec({}), {}, "m"))).toEqual([
      ["__proto__", "x"],
      ["STINT_MARK", "m"],
      ["STINT_MARK_JOB", ""],
    ]);
    expect(Object.entries(launchEnvironment({}, spec({ env: odd }), {}, "m"))).toContainEqual(["__proto__", "x"]);
  });

  it("writes where the user's pattern says", () => {
    const place = { number: 7, task: { index: 2 } } as AttemptPlace;
    const output = { stdout: "/o/%x-%a-%t-%j-100%%", stderr: "/o/%u@%N" };
    const where = { jobId: "123", node: "n1", user: "ann" };
    const there = spec({ output, input: "/i/%3j" });
    expect(outputPaths(there, place, where)).toEqual({ stdout: "/o/sim-2-0-123-100%", stderr: "/o/ann@n1" });
    expect(outputPaths(there, place, { ...where, jobId: null }).stdout).toBe("/o/sim-2-0-7-100%");
    expect(inputPath(there, place, { ...where, jobId: null })).toBe("/i/007");
    expect(inputPath(spec({ output }), place, where)).toBeNull();
  });
});
