/** The rows of the golden tree, made from its table: nothing here is random. */
import type { IrisRows, SampleRow } from "../double/rows.ts";
import { type GoldenLeaf, LEAVES, ROOT } from "./table.ts";

const RUNNING = 3;
const SUCCEEDED = 4;
const PREEMPTED = 10;

export function goldenRows(): IrisRows {
  const leaves = LEAVES.map((leaf) => ({ leaf, jobId: `${ROOT}/${leaf.id}/train_lm` }));
  const stateOf = ({ afterLastMs }: GoldenLeaf): number => (afterLastMs === null ? RUNNING : SUCCEEDED);
  return {
    jobs: [
      { job_id: ROOT, parent_job_id: null, state: RUNNING },
      ...leaves.flatMap(({ leaf, jobId }) => [
        { job_id: `${ROOT}/${leaf.id}`, parent_job_id: ROOT, state: stateOf(leaf) },
        { job_id: jobId, parent_job_id: `${ROOT}/${leaf.id}`, state: stateOf(leaf) },
      ]),
    ],
    tasks: leaves.map(({ leaf, jobId }) => ({
      task_id: `${jobId}/0`,
      job_id: jobId,
      task_index: 0,
      state: stateOf(leaf),
      started_at_ms: Date.parse(leaf.startedAt),
      finished_at_ms: leaf.afterLastMs === null ? null : endOf(leaf) + leaf.afterLastMs,
    })),
    attempts: leaves.flatMap(({ leaf, jobId }) =>
      timesOf(leaf).map(({ startedAtMs, finishedAtMs }, attempt) => {
        const isLast = attempt === leaf.attempts.length - 1;
        return {
          task_id: `${jobId}/0`,
          attempt_id: attempt,
          state: isLast ? stateOf(leaf) : PREEMPTED,
          started_at_ms: startedAtMs,
          finished_at_ms: isLast && leaf.afterLastMs === null ? null : finishedAtMs,
        };
      }),
    ),
    samples: leaves.flatMap(({ leaf, jobId }) => samplesOf(leaf, `${jobId}/0`)),
  };
}

function timesOf(leaf: GoldenLeaf) {
  let atMs = Date.parse(leaf.startedAt) + leaf.beforeFirstMs;
  return leaf.attempts.map(([leadInMs, spanMs, tailMs], attempt) => {
    const startedAtMs = atMs;
    const firstAtMs = startedAtMs + leadInMs;
    const finishedAtMs = firstAtMs + spanMs + tailMs;
    atMs = finishedAtMs + (leaf.gapsMs[attempt] ?? 0);
    return { startedAtMs, firstAtMs, spanMs, finishedAtMs };
  });
}

function endOf(leaf: GoldenLeaf): number {
  return timesOf(leaf).at(-1)?.finishedAtMs ?? 0;
}

function samplesOf(leaf: GoldenLeaf, taskId: string): SampleRow[] {
  const spannedMs = leaf.attempts.reduce((sum, [, spanMs]) => sum + spanMs, 0);
  const meanMillicores = (leaf.cpuSec * 1_000_000) / spannedMs;
  return timesOf(leaf).flatMap(({ firstAtMs, spanMs }, attempt) => {
    const atMs = momentsOf(spanMs).map((ms) => firstAtMs + ms);
    const millicores = readings(atMs.length, meanMillicores);
    return atMs.map((ts, at) => ({
      task_id: taskId,
      attempt_id: attempt,
      worker_id: `worker-${attempt % 3}`,
      ts,
      cpu_millicores: millicores[at] ?? 0,
      memory_mb: 900 + (at % 40),
      disk_mb: 0,
      memory_peak_mb: 1_000 + attempt,
    }));
  });
}

/** About every 7 s, never evenly, in long attempts with a hole of a minute; the first at 0, the last at the end. */
function momentsOf(spanMs: number): number[] {
  const intervals = Math.max(2, Math.round(spanMs / 7_000));
  const moments = Array.from({ length: intervals + 1 }, (_, at) => {
    const evenMs = Math.round((at * spanMs) / intervals);
    return at === 0 || at === intervals ? evenMs : evenMs + ((at * 7919) % 1201) - 600;
  });
  const middle = moments.length >> 1;
  return moments.length < 500 ? moments : moments.toSpliced(middle, 8);
}

/** Whole numbers that go up and down in pairs, with exactly this mean to the last of them. */
function readings(count: number, mean: number): number[] {
  const whole = Math.floor(mean);
  const above = Math.round((mean - whole) * count);
  const waves = Array.from({ length: count }, (_, at) => {
    const isPaired = at < count - (count % 2);
    return isPaired ? (at % 2 === 0 ? 1 : -1) * ((at >> 1) % Math.min(300, whole)) : 0;
  });
  return waves.map((wave, at) => whole + wave + (at < above ? 1 : 0));
}
