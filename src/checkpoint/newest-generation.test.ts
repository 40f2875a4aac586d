import { describe, expect, it } from "vitest";
import { newestGeneration } from "./newest-generation.ts";

/** Each name written `everyMs` after the one before. */
function written(names: readonly string[], everyMs = 60_000) {
  return names.map((name, index) => ({ name, writtenMs: 1_000_000 + index * everyMs }));
}

describe("the newest generation", () => {
  it.each([
    [["restart.100", "restart.200"], ["restart.200"]],
    [["restart.99", "restart.100"], ["restart.100"]],
    // A program that goes round through a few names: the time decides.
    [["restart.2", "restart.3", "restart.1"], ["restart.1"]],
    [["only.bin"], ["only.bin"]],
    [["epoch=0-step=10.ckpt", "epoch=0-step=20.ckpt", "epoch=1-step=30.ckpt"], ["epoch=1-step=30.ckpt"]],
    [
      ["step-1-rank0.pt", "step-1-rank1.pt", "step-2-rank0.pt", "step-2-rank1.pt"],
      ["step-2-rank0.pt", "step-2-rank1.pt"],
    ],
    [
      ["model-1.pt", "optim-1.pt", "model-2.pt", "optim-2.pt"],
      ["model-2.pt", "optim-2.pt"],
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

  it.each([
    ["rank files that are overwritten each time", written(["state.rank0", "state.rank1"]), "no number"],
    ["parts by number alone, written at once", written(["state.0", "state.1", "state.2"], 20), "within a second"],
    ["two names without a number", written(["model.bin", "optim.bin"]), "no number"],
    ["a copy beside numbered ones", written(["ckpt-1.pt", "ckpt-2.pt", "ckpt-last.pt"]), "not all of them do"],
    ["two numbers that fall and rise", written(["a-1-5", "a-2-4", "a-1-6", "a-3-1"]), "several numbers"],
    [
      "generations written in between each other",
      [
        { name: "x-1.pt", writtenMs: 1 },
        { name: "y-2.pt", writtenMs: 2 },
        { name: "y-1.pt", writtenMs: 5_000 },
        { name: "x-2.pt", writtenMs: 9_000 },
      ],
      "later than",
    ],
  ])("cannot be told of %s", (_, files, why) => {
    expect(newestGeneration(files)).toEqual({ why: expect.stringContaining(why) });
  });
});
