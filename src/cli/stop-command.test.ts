import { expect, test } from "vitest";
import { stoppedWords } from "./stop-command.ts";

const REST = "nothing of it runs any more";

test.each([
  ["cancel", { state: "over", decision: "stop", reason: "cancelled" }, `cancelled; ${REST}`],
  ["cancel", { state: "over", decision: "stop", reason: "drained" }, `drained; ${REST}`],
  ["drain", { state: "over", decision: "stop", reason: "drained: the disk was full" }, `drained; ${REST}`],
  ["cancel", { state: "held", decision: "hold", reason: "exit 3" }, `it was held already: exit 3; ${REST}`],
  ["cancel", { state: "over", decision: "finish", reason: "finished" }, `it had finished already; ${REST}`],
  [
    "drain",
    { state: "over", decision: "stop", reason: "exit 76: nothing more to gain" },
    `it was over already: exit 76: nothing more to gain; ${REST}`,
  ],
] as const)("the word after %s follows the decision on file: %j", (kind, status, words) => {
  expect(stoppedWords(kind, status)).toBe(words);
});
