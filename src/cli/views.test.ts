import { expect, test } from "vitest";
import { attemptRow } from "../../test/support/attempt-row.ts";
import { chainStatus } from "../../test/support/chain-status.ts";
import { attemptLines } from "./attempts-view.ts";
import { jobLines } from "./status-view.ts";
import { cpuSpan, ranText, waitedText } from "./words.ts";

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

const TERMINAL = { colour: (text: string) => text };

test("why a job stands and why its checkpoint is invalid are told apart", () => {
  const job = chainStatus({ progress: { state: "invalid", why: "the file is empty" } });
  expect(jobLines([job], () => "sim", TERMINAL).at(-1)).toContain(
    "  it is not over, and nobody will move it; checkpoint invalid: the file is empty → stint resume sim",
  );
});

test("a time of which only a bound is known says so", () => {
  const known = chainStatus({ ranMs: 16_000, waitedMs: 3_000 });
  expect([ranText(known), waitedText(known)]).toEqual(["16s", "3s"]);
  const bound = { ...known, ranIsLowerBound: true };
  expect([ranText(bound), waitedText(bound), ranText({ ...bound, ranMs: null })]).toEqual(["≥ 16s", "≤ 3s", ""]);
});
