import { type JobSpec, specForTask } from "../core/index.ts";
import type { Folder } from "../host/index.ts";
import { type AttemptPlace, placeOfAttemptFolder, readSpec } from "../journal/index.ts";

/** The attempt whose folder this is, with the newest specification of its task. Throws one clear line. */
export async function openAttempt(
  folder: Folder,
  attemptFolder: string,
): Promise<{ readonly place: AttemptPlace; readonly spec: JobSpec }> {
  const place = placeOfAttemptFolder(attemptFolder);
  if (place === null) throw new Error(`${attemptFolder} is no folder of an attempt`);
  const found = await readSpec(folder, place.task.job);
  if (found === null) throw new Error(`${place.task.job.folder}/spec is empty: there is nothing to run`);
  return { place, spec: specForTask(found.revision.spec, place.task.index) };
}
