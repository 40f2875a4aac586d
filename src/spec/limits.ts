/** What must hold between settings. Each fault is one line with the origins of both sides. */
import type { JobSpec, SubmitterOptions } from "../core/index.ts";
import { formatDuration, namesTask, taskIndices } from "../core/index.ts";
import { settings } from "./option-table.ts";
import type { Picker } from "./picker.ts";

/** A window must be left between the start and the margin before the limit. */
export function limitErrors(picker: Picker, spec: JobSpec, submitter: SubmitterOptions): readonly string[] {
  const errors: string[] = [];
  if (spec.limitMs !== null && spec.marginMs !== "auto" && spec.marginMs >= spec.limitMs) {
    errors.push(windowError(picker, "", spec.marginMs, spec.limitMs));
  }
  if (spec.mode === "submitter" && submitter.limitMs !== null && submitter.marginMs >= submitter.limitMs) {
    errors.push(windowError(picker, "submitter.", submitter.marginMs, submitter.limitMs));
  }
  if (spec.backoffMaxMs < spec.backoffFirstMs) {
    errors.push(
      `backoff.max ${formatDuration(spec.backoffMaxMs)} is shorter than backoff.first ${formatDuration(spec.backoffFirstMs)}`,
    );
  }
  if (spec.mode === "submitter" && spec.scheduler === "local") {
    errors.push(
      `mode submitter (${picker.origins.mode}) needs the scheduler slurm: on local every attempt has a shepherd that moves the chain; use self or attached`,
    );
  }
  errors.push(...unknownToLocal(picker, spec));
  return errors;
}

/** To begin all the same would be to begin too early. */
function unknownToLocal(picker: Picker, { scheduler, untilFirstRun }: JobSpec): readonly string[] {
  if (scheduler !== "local" || untilFirstRun === undefined) return [];
  const { dependency, hold } = untilFirstRun;
  return [
    ...(dependency === null
      ? []
      : [
          `dependency ${dependency} (${picker.origins["slurm.dependency"]}) cannot be waited for on local; wait with stint wait JOB, then submit`,
        ]),
    ...(hold ? [`hold (${picker.origins["slurm.hold"]}) is not possible on local; submit when it may begin`] : []),
  ];
}

/** Progress is read from the checkpoint: what speaks of progress needs one. */
export function missingPartErrors(picker: Picker, spec: JobSpec): readonly string[] {
  if (spec.checkpoint !== null) return [];
  const asked = [
    spec.total === null ? null : `total (${picker.origins.total})`,
    picker.given(settings.progress) ? "checkpoint.progress" : null,
  ].filter((name) => name !== null);
  if (asked.length === 0) return [];
  return [
    `${asked.join(" and ")} cannot be read without a checkpoint; name it with --checkpoint PATH (checkpoint.path)`,
  ];
}

/** Each task has a checkpoint of its own. Whether two of them are one file by a link, submit looks. */
export function taskErrors(picker: Picker, spec: JobSpec): readonly string[] {
  const { tasks = null, checkpoint } = spec;
  const errors: string[] = [];
  if (picker.given(settings.tasks) && picker.given(settings.array))
    errors.push(`tasks (${picker.origins.tasks}) and array (${picker.origins.array}) exclude each other`);
  if (tasks === null) {
    if (picker.given(settings.parallel))
      errors.push(`parallel (${picker.origins.parallel}) needs several tasks: --tasks N, or --array`);
    return errors;
  }
  if (checkpoint !== null && taskIndices(tasks).length > 1 && !namesTask(checkpoint.path) && !namesTask(spec.cwd))
    errors.push(
      `all tasks would have one checkpoint, ${checkpoint.path} (${picker.origins["checkpoint.path"]}): write {task} into its path, as in state-{task}.txt`,
    );
  return errors;
}

function windowError(picker: Picker, section: string, marginMs: number, limitMs: number): string {
  const margin = `${section}margin ${formatDuration(marginMs)} (${picker.origins[`${section}margin`]})`;
  const limit = `${section}limit ${formatDuration(limitMs)} (${picker.origins[`${section}limit`]})`;
  return `${margin} is not below ${limit}: no time would be left to compute; choose a shorter margin or a longer limit`;
}
