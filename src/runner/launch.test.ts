import { describe, expect, it } from "vitest";
import type { JobSpec } from "../core/index.ts";
import type { AttemptPlace } from "../journal/index.ts";
import { launchArgv, launchEnvironment } from "./launch.ts";
import { outputPaths } from "./output-files.ts";

const slurm = { launch: "direct", srunArgs: [], modules: [] };
const spec = (changes: object) =>
  ({ scheduler: "local", name: "sim", env: {}, slurm, ...changes }) as unknown as JobSpec;

describe("what is started", () => {
  it("is the list as it stands, or the text in a login bash", () => {
    expect(launchArgv(spec({ command: { kind: "argv", argv: ["a b", "$c"] } }))).toEqual(["a b", "$c"]);
    expect(launchArgv(spec({ command: { kind: "shell", text: "a && b" } }))).toEqual(["bash", "-lc", "a && b"]);
  });

  it("on Slurm goes through srun and behind the modules where wanted, with its words unchanged", () => {
    const onSlurm = { launch: "srun", srunArgs: ["-n", "4"], modules: ["gcc/12", "my mod"] };
    const command = { kind: "argv", argv: ["./x", "a b"] };
    expect(launchArgv(spec({ scheduler: "slurm", command, slurm: onSlurm }))).toEqual([
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
    const output = { stdout: "/o/%x-%a-%t-%j-100%%", stderr: null };
    expect(outputPaths(spec({ output }), place, "123")).toEqual({ stdout: "/o/sim-2-7-123-100%", stderr: null });
    expect(outputPaths(spec({ output }), place, null).stdout).toBe("/o/sim-2-7-7-100%");
  });
});
