/** The specification of a job as lines: each value with its origin. */
import {
  type Command,
  formatDuration,
  type JobSpec,
  type Origins,
  type ProgressRule,
  type TaskPlan,
} from "../core/index.ts";
import { commandText, optionTable } from "../spec/index.ts";
import { table } from "./terminal.ts";
import { momentInZone } from "./words.ts";

/** Each setting of a job: its key, its value, where that came from. */
export function settingLines(spec: JobSpec, origins: Origins): readonly string[] {
  const rows = flat("", spec).map(([field, value]) => {
    const key = field === "tasks" && spec.tasks?.kind === "array" ? "array" : keyOf(field);
    return [key, typeof value === "string" ? value : spanText(key, value.ms, spec, origins), originOf(key, origins)];
  });
  return table(["SETTING", "VALUE", "FROM"], rows);
}

/** A default as the table of settings has it, else as short as it can be said. */
function spanText(key: string, ms: number, spec: JobSpec, origins: Origins): string {
  const setting = optionTable.find((one) => one.key === key);
  const byDefault = setting?.default ?? null;
  const text = typeof byDefault === "object" ? (byDefault?.[spec.scheduler] ?? null) : byDefault;
  if (setting !== undefined && text !== null && origins[key] === "default") {
    const read = setting.kind.read({ form: "text", text });
    // Another version may have had another default.
    if (read.ok && read.value === ms) return text;
  }
  return ms >= 2 * DAY_MS && ms % DAY_MS === 0 ? `${ms / DAY_MS}d` : formatDuration(ms);
}

const DAY_MS = 86_400_000;

/** Fields of the record and the names of settings differ where a field has a unit in its name. */
const KEYS: Readonly<Record<string, string>> = {
  savedExitCodes: "saved-exits",
  checkpointEvery: "checkpoint.every",
  "output.stdout": "output",
  "output.stderr": "error",
  "slurm.memory": "slurm.mem",
  "untilFirstRun.beginAt": "begin",
  "untilFirstRun.dependency": "slurm.dependency",
  "untilFirstRun.hold": "slurm.hold",
  "submitter.memory": "submitter.mem",
  backoffFirst: "backoff.first",
  backoffMax: "backoff.max",
  allocationEndAt: "allocation-end",
};

function keyOf(field: string): string {
  // The names of variables are the user's own.
  if (field.startsWith("env.")) return field;
  const plain = field.replace(/Ms$/, "");
  return KEYS[plain] ?? plain.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `env.OMP_NUM_THREADS` and what stands under no name of its own. */
function originOf(key: string, origins: Origins): string {
  const own = origins[key];
  if (own !== undefined) return own;
  if (key === "version" || key === "node" || key === "runtime") return "this installation";
  return origins[key.split(".")[0] ?? ""] ?? "";
}

type Value = string | { readonly ms: number };

function flat(prefix: string, value: object): [string, Value][] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]): [string, Value][] => {
    const field = prefix === "" ? name : `${prefix}.${name}`;
    const special = SPECIAL[field];
    if (special !== undefined && inner !== null) return [[field, special(inner)]];
    if (inner !== null && typeof inner === "object" && !Array.isArray(inner)) return flat(field, inner);
    // Most jobs are in no allocation.
    if (inner === null && field.startsWith("allocation")) return [];
    if (inner === null || (Array.isArray(inner) && inner.length === 0)) return [[field, "-"]];
    if (field.endsWith("Ms") && typeof inner === "number") return [[field, { ms: inner }]];
    return [[field, Array.isArray(inner) ? inner.join(" ") : String(inner)]];
  });
}

const SPECIAL: Readonly<Record<string, (value: unknown) => string>> = {
  tasks: (value) => tasksText(value as TaskPlan),
  command: (value) => commandText(value as Command),
  "untilFirstRun.beginAtMs": (value) => new Date(value as number).toISOString(),
  "checkpoint.progress": (value) => progressRuleText(value as ProgressRule),
  allocationEndAtMs: (value) => momentInZone(value as number),
};

function tasksText({ indices, parallel }: TaskPlan): string {
  return parallel === null ? indices : `${indices}, ${parallel} at a time`;
}

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
