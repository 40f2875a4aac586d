import { expect, it } from "vitest";
import type { ProgressRule } from "../core/index.ts";
import { checkProgressRule } from "./progress-rule.ts";

it.each<[ProgressRule, RegExp | null]>([
  [{ kind: "number" }, null],
  [{ kind: "json", path: ".run.step" }, null],
  [{ kind: "json", path: "run.step" }, /begins with a dot: \.run\.step/],
  [{ kind: "pattern", pattern: "step (\\d+)" }, null],
  [{ kind: "pattern", pattern: "step \\d+" }, /no group/],
  [{ kind: "files", glob: "restart.*" }, null],
  [{ kind: "files", glob: "out/restart.*" }, /slash/],
])("the rule %j is accepted or refused before a job is", (rule, refusal) => {
  if (refusal === null) expect(checkProgressRule(rule)).toBeNull();
  else expect(checkProgressRule(rule)).toMatch(refusal);
});
