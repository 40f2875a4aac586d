/** Which tasks a job has: `--tasks N`, or `--array` in Slurm's notation. */

export interface TaskPlan {
  /** `array`: each is a one-element array of Slurm, with SLURM_ARRAY_TASK_ID. */
  readonly kind: "tasks" | "array";
  /** Slurm's notation in its shortest form, ascending: it stays readable in the record, however many they are. */
  readonly indices: string;
  /** At most so many at a time; null: all. */
  readonly parallel: number | null;
}

/** A bound of ours: every task is a chain with a folder of its own. */
export const MOST_TASKS = 10_000;
/** Slurm's own bound on MaxArraySize. */
const HIGHEST_INDEX = 4_000_000;

export type ParsedArray =
  | { readonly kind: "array"; readonly indices: readonly number[]; readonly parallel: number | null }
  | { readonly kind: "error"; readonly error: string };

/** Reads `1-10:2,15%3` as sbatch does: in any order, repeated ones count once. Refuses what sbatch refuses, and more than 10,000 tasks. */
export function parseArray(text: string): ParsedArray {
  const [, list = "", throttle] = /^\[?([^%\]]*)\]?(?:%(.*))?$/.exec(text.trim()) ?? [];
  const error = (why: string): ParsedArray => ({ kind: "error", error: `"${text}" is no array: ${why}` });
  if (list === "") return error("expected indices such as 0-99, 1-10:2,15 or 0-99%5");
  if (throttle !== undefined && !/^[1-9]\d{0,8}$/.test(throttle))
    return error("behind % stands how many tasks may run at a time, at least 1");
  const indices = new Set<number>();
  for (const part of list.split(",")) {
    const [, first = "", last = first, step = "1"] = /^(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?$/.exec(part) ?? [];
    if (first === "") return error(`"${part}" is neither N nor N-M nor N-M:STEP`);
    const [from, to, by] = [Number(first), Number(last), Number(step)];
    if (to < from) return error(`${part} ends below its beginning`);
    if (by < 1) return error(`the step in ${part} must be at least 1`);
    if (to > HIGHEST_INDEX) return error(`${to} is above the highest index that Slurm knows, ${HIGHEST_INDEX}`);
    if ((to - from) / by >= MOST_TASKS) return error(tooMany());
    for (let index = from; index <= to; index += by) indices.add(index);
    if (indices.size > MOST_TASKS) return error(tooMany());
  }
  return {
    kind: "array",
    indices: [...indices].sort((a, b) => a - b),
    parallel: throttle === undefined ? null : Number(throttle),
  };
}

function tooMany(): string {
  return `a job has at most ${MOST_TASKS} tasks; cut it into several jobs`;
}

/** The shortest that can be said of ascending indices: runs of three and more as N-M, with their step where it is not 1. */
export function formatIndices(indices: readonly number[]): string {
  const parts: string[] = [];
  for (let at = 0; at < indices.length; ) {
    const first = indices[at] ?? 0;
    const step = (indices[at + 1] ?? first) - first;
    let end = at;
    while (end + 1 < indices.length && (indices[end + 1] ?? 0) - (indices[end] ?? 0) === step) end += 1;
    const long = end - at >= 2;
    parts.push(long ? `${first}-${indices[end]}${step === 1 ? "" : `:${step}`}` : String(first));
    at = long ? end + 1 : at + 1;
  }
  return parts.join(",");
}

/** 0 to `count` − 1. */
export function countedTasks(count: number, parallel: number | null): TaskPlan {
  return { kind: "tasks", indices: count === 1 ? "0" : count === 2 ? "0,1" : `0-${count - 1}`, parallel };
}

const known = new Map<string, readonly number[]>();

/** The indices in order: a task begins after those before it. A job without a plan has one task, 0. */
export function taskIndices(plan: TaskPlan | null | undefined): readonly number[] {
  if (plan == null) return ONE;
  const there = known.get(plan.indices);
  if (there !== undefined) return there;
  const parsed = parseArray(plan.indices);
  // What is on file was written by us: one that cannot be read was edited.
  if (parsed.kind === "error") throw new RangeError(parsed.error);
  if (known.size > 100) known.clear();
  known.set(plan.indices, parsed.indices);
  return parsed.indices;
}

const ONE: readonly number[] = [0];
