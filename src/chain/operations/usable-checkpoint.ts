/** What a resume looks at before anything is started: a checkpoint that cannot be read is never 0, and one that is gone is no new beginning. */
import { readCheckpoint } from "../../checkpoint/index.ts";
import { type JobSpec, quoteShell, type Reading, stopNumber } from "../../core/index.ts";
import { readOwnStops, stopsOfTask } from "../../journal/index.ts";
import { StintError } from "./errors.ts";
import { nameOf } from "./job-name.ts";
import type { JobOnFile } from "./job-on-file.ts";
import type { Project } from "./project.ts";

/**
 * Throws StintError `checkpoint` (2) where the checkpoint is invalid now, or gone while an attempt had reached something: after
 * a resume the next attempt would take it as it is. `spec`: of that
 * task, as it is to be read from now on.
 */
export async function requireUsableCheckpoint(project: Project, job: JobOnFile, spec: JobSpec): Promise<void> {
  if (spec.checkpoint === null) return;
  const { reading } = await readCheckpoint(spec.checkpoint, spec.cwd);
  const wrong = troubleOf(reading, await reachedBefore(project, job));
  if (wrong === null) return;
  const resume = `stint resume ${quoteShell(nameOf(project, job))}`;
  const { path } = spec.checkpoint;
  throw new StintError(
    "checkpoint",
    wrong.kind === "gone"
      ? `the checkpoint ${path} is gone, yet progress had reached ${wrong.reached}: put it back, or begin anew with: ${resume} --as-it-is`
      : `the checkpoint ${path} cannot be used: ${wrong.why}; mend it, set it aside with: ${resume} --quarantine, or start on it as it is with: ${resume} --as-it-is`,
  );
}

type Trouble = { readonly kind: "invalid"; readonly why: string } | { readonly kind: "gone"; readonly reached: number };

function troubleOf(reading: Reading, reached: number | null): Trouble | null {
  if (reading.kind === "invalid") return reading;
  return reading.kind === "absent" && reached !== null ? { kind: "gone", reached } : null;
}

/** The high-water mark of the newest attempt that ran; null: none, or a person has said since that what was there does not count. */
async function reachedBefore(project: Project, job: JobOnFile): Promise<number | null> {
  const record = job.lastRan?.record ?? null;
  const highWater = record?.carry.highWater ?? null;
  if (record === null || highWater === null) return null;
  const own = stopsOfTask(await readOwnStops(project.folder, job.place), job.task.index);
  const word = own.findLast((stop) => stop.asItIs === true || (stop.kind === "resume" && stop.quarantine != null));
  if (word === undefined) return highWater;
  const numberThen = stopNumber(job.stops) - (own.at(-1)?.number ?? 0) + word.number;
  return numberThen > record.stopNumber ? null : highWater;
}
