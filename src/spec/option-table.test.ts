import { describe, expect, it } from "vitest";
import { optionHelp } from "./help.ts";
import { environmentNames, optionTable, settingFlags } from "./option-table.ts";
import { NEVER_SETTINGS } from "./setting.ts";

describe("the option table", () => {
  it("gives every key, flag and environment name once", () => {
    for (const names of [
      optionTable.map(({ key }) => key),
      settingFlags.flatMap(({ flags }) => flags),
      environmentNames.map(({ name }) => name),
    ]) {
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    }
  });

  it("has a default that its own kind can read", () => {
    for (const setting of optionTable) {
      const defaults = typeof setting.default === "object" ? Object.values(setting.default ?? {}) : [setting.default];
      for (const text of defaults)
        expect(setting.kind.read({ form: "text", text }), setting.key).toMatchObject({ ok: true });
    }
  });

  it("never takes for a setting what a runner exports or what belongs to the installation", () => {
    const names = environmentNames.map(({ name }) => name);
    expect(NEVER_SETTINGS.filter((name) => names.includes(name))).toEqual([]);
    expect(NEVER_SETTINGS).toEqual(
      expect.arrayContaining(["STINT_TASK_ID", "STINT_ATTEMPT", "STINT_RESUME", "STINT_DIR"]),
    );
  });

  it("knows the seed's and sbatch's names", () => {
    const of = (family: string) =>
      environmentNames
        .filter((entry) => entry.family === family)
        .map(({ name, key }) => `${name} ${key}`)
        .sort();
    expect(of("seed")).toEqual([
      "APP_CMD command",
      "CHECKPOINT_EVERY checkpoint.every",
      "CKPT_PATH checkpoint.path",
      "LAUNCH_MODE slurm.launch",
      "MAX_ITER total",
      "MODULE_LIST slurm.modules",
      "RUNNER_MARGIN_SEC margin",
      "RUNNER_TIME_LIMIT limit",
      "SRUN_ARGS slurm.srun-args",
      "SUBMITTER_MARGIN_SEC submitter.margin",
      "SUBMITTER_TIME_LIMIT submitter.limit",
    ]);
    expect(of("sbatch")).toEqual([
      "SBATCH_ACCOUNT slurm.account",
      "SBATCH_ARRAY_INX array",
      "SBATCH_ERROR error",
      "SBATCH_INPUT input",
      "SBATCH_JOB_NAME name",
      "SBATCH_MEM_PER_NODE slurm.mem",
      "SBATCH_OUTPUT output",
      "SBATCH_PARTITION slurm.partition",
      "SBATCH_QOS slurm.qos",
      "SBATCH_TIMELIMIT limit",
    ]);
  });
});

describe("help", () => {
  it("shows every flag with its default, within the width", () => {
    const text = optionHelp(settingFlags, 80);
    for (const { flags } of settingFlags) for (const flag of flags) expect(text).toContain(flag);
    expect(text).toContain("-t, --limit, --time TIME");
    expect(text).toMatch(/--margin DURATION\|auto [^[]*\[60s\]/);
    expect(text.replace(/\s+/g, " ")).toContain("[2 (slurm), 0 (local)]");
    expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it("shows only the groups that are asked for", () => {
    const text = optionHelp(settingFlags, 80, ["slurm"]);
    expect(text).toContain("--partition");
    expect(text).not.toContain("--margin");
  });
});
