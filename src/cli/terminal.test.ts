import { expect, test } from "vitest";
import { csv, table, widthOf } from "./terminal.ts";

test("columns fit their widest cell, colours take no room, and a column of nothing is left out", () => {
  const rows = [
    ["a", "\x1b[31mstranded\x1b[0m", "", "why not"],
    ["longer", "over", "", ""],
  ];
  expect(table(["JOB", "STATE", "ETA", "WHY"], rows)).toEqual([
    "JOB     STATE     WHY",
    "a       \x1b[31mstranded\x1b[0m  why not",
    "longer  over",
  ]);
});

test("csv quotes what must be quoted", () => {
  expect(
    csv(
      ["a", "b"],
      [
        ["x,y", 'say "hi"'],
        [null, 3],
      ],
    ),
  ).toBe('a,b\n"x,y","say ""hi"""\n,3');
});

test("a width that nobody has set is none", () => {
  expect([widthOf(0, undefined), widthOf(undefined, 0), widthOf(0, 132), widthOf(40, 132)]).toEqual([80, 80, 132, 40]);
});
