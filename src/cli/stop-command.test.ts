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
  expect(stoppedWords(kind, { tasks: null, ...status })).toBe(words);
});

test("of several tasks one that was held or over before does not speak for the others", () => {
  const tasks = { total: 3, running: 0, waiting: 0, held: 1, stranded: 0, finished: 1, stopped: 1 };
  expect(stoppedWords("cancel", { tasks, state: "held", decision: "hold", reason: "1 held, 2 stopped" })).toBe(
    `cancelled; ${REST}`,
  );
  const finished = { ...tasks, held: 0, stopped: 0, finished: 3 };
  expect(stoppedWords("drain", { tasks: finished, state: "over", decision: "finish", reason: "finished" })).toBe(
    `it had finished already; ${REST}`,
  );
});
