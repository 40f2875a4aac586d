import { expect, test } from "vitest";
import { attemptRow } from "../../test/support/attempt-row.ts";
import { attemptLines } from "./attempts-view.ts";
import { cpuSpan } from "./words.ts";

test("an attempt that was taken back is not shown as queued", () => {
  expect(attemptLines([attemptRow()])).toEqual(["ATTEMPT  VERDICT", "2        queued"]);
  expect(attemptLines([attemptRow({ withdrawn: "stopped", why: "stopped" })])).toEqual([
    "ATTEMPT  VERDICT    WHY",
    "2        withdrawn  stopped",
  ]);
});

test("CPU time below a second is told in milliseconds", () => {
  expect([null, 0, 12, 999.4, 1_000, 12_400].map(cpuSpan)).toEqual(["", "0s", "12ms", "999ms", "1s", "12s"]);
});
