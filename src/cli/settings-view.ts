/** The specification of a job as lines: each value with its origin. */
import { type Command, formatDuration, type ProgressRule, type SpecRevision } from "../core/index.ts";
import { commandText } from "../spec/index.ts";
import { table } from "./terminal.ts";

export function settingLines(number: number, revision: SpecRevision): readonly string[] {
  const rows = flat("", revision.spec).map(([field, value]) => {
    const key = keyOf(field);
    return [key, value, revision.origins[key] ?? originOfPart(key, revision)];
  });
  return [`settings, revision ${number}, by ${revision.by}`, ...table(["SETTING", "VALUE", "FROM"], rows)];
}

/** Fields of the record and the names of settings differ where a field has a unit in its name. */
const KEYS: Readonly<Record<string, string>> = {
  savedExitCodes: "saved-exits",
  checkpointEvery: "checkpoint.every",
  "output.stdout": "output",
  "output.stderr": "error",
  "slurm.memory": "slurm.mem",
  backoffFirst: "backoff.first",
  backoffMax: "backoff.max",
};

function keyOf(field: string): string {
  // The names of variables are the user's own.
  if (field.startsWith("env.")) return field;
  const plain = field.replace(/Ms$/, "");
  return KEYS[plain] ?? plain.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `env.OMP_NUM_THREADS` and what stands under no name of its own. */
function originOfPart(key: string, { origins }: SpecRevision): string {
  if (key === "version" || key === "node" || key === "runtime") return "this installation";
  return origins[key.split(".")[0] ?? ""] ?? "";
}

function flat(prefix: string, value: object): [string, string][] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]): [string, string][] => {
    const field = prefix === "" ? name : `${prefix}.${name}`;
    const special = SPECIAL[field];
    if (special !== undefined && inner !== null) return [[field, special(inner)]];
    if (inner !== null && typeof inner === "object" && !Array.isArray(inner)) return flat(field, inner);
    if (inner === null || (Array.isArray(inner) && inner.length === 0)) return [[field, "-"]];
    if (field.endsWith("Ms") && typeof inner === "number") return [[field, formatDuration(inner)]];
    return [[field, Array.isArray(inner) ? inner.join(" ") : String(inner)]];
  });
}

const SPECIAL: Readonly<Record<string, (value: unknown) => string>> = {
  command: (value) => commandText(value as Command),
  "checkpoint.progress": (value) => progressRuleText(value as ProgressRule),
};

function progressRuleText(rule: ProgressRule): string {
  switch (rule.kind) {
    case "number":
      return "number";
    case "json":
      return `json:${rule.path}`;
    case "pattern":
      return `pattern:${rule.pattern}`;
    case "files":
      return `files:${rule.glob}`;
  }
}
