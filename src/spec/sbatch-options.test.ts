import { describe, expect, it } from "vitest";
import { refusedSbatchArgument } from "./sbatch-options.ts";

describe("an argument for sbatch", () => {
  it.each([
    ["--array=1-3", "the setting for it is array"],
    ["--arr=1-3", "the setting for it is array"],
    ["--depend=afterok:7", "--dependency cannot"],
    ["--wra=sleep 9", "--wrap cannot"],
    ["--clusters=other", "--clusters cannot"],
    ["--cluster=other", "--cluster cannot"],
    ["-Mother", "-M cannot"],
    ["--tim=9", "the setting for it is limit"],
    ["-t9", "the setting for it is limit"],
    ["--beg=now", "the setting for it is begin"],
    ["--requeue", "a job of its own"],
    ["--no-requeue", "submitted with its own"],
  ])("%s is refused, as sbatch would take it", (argument, why) => {
    expect(refusedSbatchArgument(argument)).toContain(why);
  });

  it.each([
    ["--gres=gpu:1"],
    ["--exclusive"],
    ["--cluster-constraint=fast"],
    ["--time-min=5"],
    ["--wait-all-nodes=1"],
    ["--wckey=lab"],
    ["--mem-per-gpu=4G"],
    ["-m block"],
    ["a word"],
  ])("%s is handed on", (argument) => {
    expect(refusedSbatchArgument(argument)).toBeNull();
  });
});
