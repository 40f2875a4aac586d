/** The states of jobs, tasks and attempts by Iris' names and numbers, in which every source of usage speaks. */

/** In the order of Iris' numbers: the index is the number on the wire and in its tables. Jobs use 0 to 8. */
export const TASK_STATES = [
  "unspecified",
  "pending",
  "building",
  "running",
  "succeeded",
  "failed",
  "killed",
  "worker_failed",
  "unschedulable",
  "assigned",
  "preempted",
  "cosched_failed",
  "missing",
] as const;

export type TaskState = (typeof TASK_STATES)[number];

const TERMINAL: ReadonlySet<TaskState> = new Set([
  "succeeded",
  "failed",
  "killed",
  "worker_failed",
  "unschedulable",
  "preempted",
  "cosched_failed",
]);

/** Nothing of it will run any more, so that it should have an end. */
export function isTerminal(state: TaskState): boolean {
  return TERMINAL.has(state);
}

/** A number that no version of Iris is known to use is `unspecified`. */
export function taskStateOf(number: number): TaskState {
  return TASK_STATES[number] ?? "unspecified";
}

export function taskStateNumber(state: TaskState): number {
  return TASK_STATES.indexOf(state);
}
