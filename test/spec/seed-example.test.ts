import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { parseSpecFile, resolveSpec } from "../../src/spec/index.ts";

it("examples/seed.yaml resolves to the values that the seed's scripts have built in", async () => {
  const parsed = await parseSpecFile(await readFile("examples/seed.yaml", "utf8"), "examples/seed.yaml");
  if (parsed.kind === "errors") throw new Error(parsed.errors.join("\n"));
  const input = {
    flags: new Map(),
    file: parsed.file,
    command: null,
    cwd: "/data",
    user: "ann",
    here: { insideAllocation: null, hasSbatch: true },
    node: "/n",
    runtime: "r",
  };
  const fromFile = resolveSpec({ ...input, environment: {} });
  const fromEnvironment = resolveSpec({
    ...input,
    file: null,
    environment: {
      CKPT_PATH: "state_iter.txt",
      MAX_ITER: "500",
      CHECKPOINT_EVERY: "20",
      APP_CMD: "python3 checkpoint_signal_iter.py",
      LAUNCH_MODE: "direct",
      MODULE_LIST: "anaconda3/2023.07",
      SRUN_ARGS: "-n 1",
      RUNNER_MARGIN_SEC: "60",
      RUNNER_TIME_LIMIT: "00:03:00",
      SUBMITTER_MARGIN_SEC: "60",
      SUBMITTER_TIME_LIMIT: "3:30",
      STINT_NAME: "ckpt_runner_demo",
    },
  });
  if (fromFile.kind === "errors" || fromEnvironment.kind === "errors")
    throw new Error(JSON.stringify([fromFile, fromEnvironment]));
  expect(fromFile.spec).toEqual(fromEnvironment.spec);
  expect(fromFile.submitter).toEqual(fromEnvironment.submitter);
  expect(fromFile.spec).toMatchObject({
    total: 500,
    limitMs: 180_000,
    marginMs: 60_000,
    checkpointEvery: "20",
    slurm: { srunArgs: ["-n", "1"] },
  });
  expect(fromFile.origins.limit).toMatch(/^examples\/seed\.yaml:\d+:8$/);
});
