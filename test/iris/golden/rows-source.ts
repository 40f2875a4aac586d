/** Rows of Iris as a source of usage without any server, for many changes of one tree. */
import { jobTree, type SampleSpan, SpanBuilder, taskStateOf } from "../../../src/core/index.ts";
import type { UsageSource } from "../../../src/usage/index.ts";
import type { IrisRows, SampleRow } from "../double/rows.ts";

export function rowsSource(rows: IrisRows): UsageSource {
  return {
    kind: "iris",
    name: "rows",
    firstAttempt: 0,
    nowMs: async () => Date.parse("2026-12-01T00:00:00Z"),
    tree: async (root) =>
      jobTree(
        root,
        rows.jobs.map(({ job_id, parent_job_id, state, is_reservation_holder = 0 }) => ({
          jobId: job_id,
          parentJobId: parent_job_id,
          state: taskStateOf(state),
          user: null,
          isReservationHolder: is_reservation_holder !== 0,
          requestedCpuMillicores: null,
        })),
      ),
    tasks: async () =>
      rows.tasks.map((task) => ({
        taskId: task.task_id,
        jobId: task.job_id,
        state: taskStateOf(task.state),
        startedAtMs: task.started_at_ms,
        finishedAtMs: task.finished_at_ms,
      })),
    attempts: async () =>
      rows.attempts.map((attempt) => ({
        taskId: attempt.task_id,
        attempt: attempt.attempt_id,
        state: taskStateOf(attempt.state),
        startedAtMs: attempt.started_at_ms,
        finishedAtMs: attempt.finished_at_ms,
      })),
    spans: async () => spansOf(rows.samples),
    close: async () => {},
  };
}

function spansOf(samples: readonly SampleRow[]): SampleSpan[] {
  const builders = new Map<string, { readonly row: SampleRow; readonly builder: SpanBuilder }>();
  for (const row of samples) {
    const key = `${row.task_id}:${row.attempt_id}`;
    const one = builders.get(key) ?? { row, builder: new SpanBuilder() };
    builders.set(key, one);
    const { ts: atMs, cpu_millicores: cpuMillicores } = row;
    one.builder.add({ atMs, elapsedMs: 0, counterCpuMs: null, cpuMillicores, memoryPeakBytes: null });
  }
  return [...builders.values()].flatMap(({ row, builder }) => {
    const figures = builder.figures();
    const of = { taskId: row.task_id, attempt: row.attempt_id, integral: null, hosts: null };
    return figures === null ? [] : [{ ...figures, ...of }];
  });
}
