/** Our own attempts and tasks in the states that every source speaks of. The same map is written down in docs/usage.md. */
import type { AttemptRecords, Decision, TaskState, Verdict } from "../core/index.ts";

const BY_VERDICT: Readonly<Record<Verdict, TaskState>> = {
  completed: "succeeded",
  checkpointed: "preempted",
  "window-ended": "preempted",
  preempted: "preempted",
  stalled: "failed",
  failed: "failed",
  "out-of-memory": "failed",
  "node-failed": "worker_failed",
  cancelled: "killed",
  "never-ran": "killed",
};

export function attemptState({ settled, started, go, exited }: AttemptRecords): TaskState {
  if (settled !== null) return BY_VERDICT[settled.verdict];
  if (go?.what === "withdrawn") return "killed";
  if (go?.what === "start") return exited === null ? "running" : "preempted";
  return started === null ? "pending" : "building";
}

/** Of a task: what it stands on, and its newest attempt that ran. */
export function taskState(
  decision: Decision | null,
  newest: Verdict | null,
  open: readonly AttemptRecords[],
): TaskState {
  if (decision?.kind === "finish") return "succeeded";
  if (decision?.kind === "stop") return newest !== null && BY_VERDICT[newest] === "failed" ? "failed" : "killed";
  return open.some(({ go, exited }) => go?.what === "start" && exited === null) ? "running" : "pending";
}
