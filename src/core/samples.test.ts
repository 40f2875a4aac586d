import { expect, test } from "vitest";
import { lastElapsedMs } from "./samples.ts";

const HEADER = "at_ms,elapsed_ms,cpu_ms";

test.each([
  ["the newest row counts", `${HEADER}\n1,7,0\n2,16000,3\n`, 16_000],
  ["cut short: the one before", `${HEADER}\n1,7,0\n2,5007,3\n3,160`, 5_007],
  ["torn in the middle", `${HEADER}\n1,7,0\n2,50\n\n`, 7],
  ["a last row without its end of line", `${HEADER}\n1,7,0\n2,16000,3`, 7],
  ["no row yet", `${HEADER}\n`, null],
  ["nothing", "", null],
  ["other columns", "a,b\n1,2\n", null],
  ["no number", `${HEADER}\n1,-,0\n`, null],
])("%s", (_, csv, ms) => {
  expect(lastElapsedMs(csv)).toBe(ms);
});
