import { describe, expect, it } from "vitest";
import { newestGeneration } from "./newest-generation.ts";

/** Each name written `everyMs` after the one before. */
function written(names: readonly string[], everyMs = 60_000, bytes = 1000) {
  return names.map((name, index) => ({ name, writtenMs: 1_000_000 + index * everyMs, bytes }));
}

function at(...files: readonly (readonly [name: string, writtenMs: number, bytes?: number])[]) {
  return files.map(([name, writtenMs, bytes = 1000]) => ({ name, writtenMs, bytes }));
}

describe("the newest generation", () => {
  it.each([
    [["restart.100", "restart.200"], ["restart.200"]],
    [["restart.99", "restart.100"], ["restart.100"]],
    // A program that goes round through a few names: the time decides.
    [["restart.5", "restart.6", "restart.4"], ["restart.4"]],
    [["step-0", "step-1", "step-2"], ["step-2"]],
    [["only.bin"], ["only.bin"]],
    [["epoch=0-step=10.ckpt", "epoch=0-step=20.ckpt", "epoch=1-step=30.ckpt"], ["epoch=1-step=30.ckpt"]],
    [
      ["step-1-rank0.pt", "step-1-rank1.pt", "step-2-rank0.pt", "step-2-rank1.pt"],
      ["step-2-rank0.pt", "step-2-rank1.pt"],
    ],
    [
      ["model-7.pt", "optim-7.pt", "model-8.pt", "optim-8.pt"],
      ["model-8.pt", "optim-8.pt"],
    ],
    [
      ["m-9.data-00000-of-00001", "m-9.index", "m-10.data-00000-of-00001", "m-10.index"],
      ["m-10.data-00000-of-00001", "m-10.index"],
    ],
    // Nothing in the names says which of the two numbers is a rank, but only one of them comes in whole sets.
    [
      ["c-4-0", "c-4-1", "c-5-0", "c-5-1"],
      ["c-5-0", "c-5-1"],
    ],
    [["c-4-0", "c-4-1", "c-5-0"], ["c-5-0"]],
    [[], []],
  ])("of %j is %j", (names, newest) => {
    expect(newestGeneration(written(names))).toEqual(newest);
  });

  it("whose files grow is told from those of ranks by their sizes", () => {
    const grown = at(
      ["traj.1", 0, 100],
      ["traj.2", 60_000, 1000],
      ["traj.3", 120_000, 10_000],
      ["traj.4", 180_000, 50_000],
    );
    expect(newestGeneration(grown)).toEqual(["traj.4"]);
  });

  it("is told by steps that lie apart even after a long pause", () => {
    const paused = at(["restart.100", 0], ["restart.200", 36_000_000], ["restart.300", 36_060_000]);
    expect(newestGeneration(paused)).toEqual(["restart.300"]);
  });

  it.each([
    ["rank files that are overwritten each time", written(["state.rank0", "state.rank1"]), "no number"],
    ["parts by number alone, written at once", written(["state.0", "state.1", "state.2"], 20), "within a second"],
    [
      "a file a rank, written one after the other, the last one late",
      at(["restart.0", 0], ["restart.1", 400], ["restart.2", 900], ["restart.3", 2600]),
      "run from the first on without a gap",
    ],
    [
      "a file a rank, the first of which holds more, whatever the time between",
      at(["dump_1.h5", 0, 900], ["dump_2.h5", 60_000, 1000], ["dump_0.h5", 120_000, 9000]),
      "run from the first on",
    ],
    ["two files of a rank", written(["model-0", "optim-0", "model-1", "optim-1"], 5_000), "run from the first on"],
    [
      "two generations of two parts each, by number alone",
      at(["out.10", 0], ["out.11", 1500], ["out.12", 600_000], ["out.13", 601_500]),
      "close together for the time between",
    ],
    ["two names without a number", written(["model.bin", "optim.bin"]), "no number"],
    ["a copy beside numbered ones", written(["ckpt-1.pt", "ckpt-2.pt", "ckpt-last.pt"]), "not all of them do"],
    ["two numbers that fall and rise", written(["a-1-5", "a-2-4", "a-1-6", "a-3-1"]), "several numbers"],
    [
      "generations written in between each other",
      [...at(["x-1.pt", 1], ["y-2.pt", 2], ["y-1.pt", 5_000], ["x-2.pt", 9_000])],
      "later than",
    ],
  ])("cannot be told of %s", (_, files, why) => {
    expect(newestGeneration(files)).toEqual({ why: expect.stringContaining(why) });
  });
});
