import type { ProgressRule } from "../core/index.ts";
import { checkGlob } from "./name-glob.ts";
import { parseJsonPath } from "./read-json.ts";
import { checkPattern } from "./read-pattern.ts";

/** Null when the rule can be used; else one line that says what to do. To be asked before a job is accepted. */
export function checkProgressRule(rule: ProgressRule): string | null {
  switch (rule.kind) {
    case "number":
      return null;
    case "json": {
      const steps = parseJsonPath(rule.path);
      return "error" in steps ? steps.error : null;
    }
    case "pattern":
      return checkPattern(rule.pattern);
    case "files":
      return checkGlob(rule.glob);
  }
}
