/** What the local scheduler must know of a job's attempts, read from the job folder. */

import { join } from "node:path";
import type { ProcessRef, Ref } from "../core/index.ts";
import type { Folder } from "../host/index.ts";
import {
  type AttemptPlace,
  attemptNumbers,
  attemptPlace,
  type JobPlace,
  placeOfAttemptFolder,
  readAttempt,
  readRecord,
  taskNumbers,
  taskPlace,
} from "../journal/index.ts";
import type { LocalAttempt } from "../schedulers/index.ts";

/** `application.json`: the application's first process, so that its session is known when its runner is gone. */
export interface ApplicationRecord {
  readonly version: number;
  readonly process: ProcessRef;
}

export const APPLICATION_FILE = "application.json";

/** `<job uuid>/<task>/<attempt>`: carried by every process of the attempt in STINT_MARK. */
export function markOf(uuid: string, attempt: AttemptPlace): string {
  return `${uuid}/${attempt.task.index}/${attempt.number}`;
}

/** `own`: the task whose attempts are asked for most; it is looked at first. */
export function localAttempts(
  folder: Folder,
  job: JobPlace,
  uuid: string,
  killWaitMs: number,
  own: number | null = null,
) {
  const places = new Map<Ref, AttemptPlace>();
  const visited = new Set<string>();
  return {
    markOf(attemptFolder: string): string {
      const place = placeOfAttemptFolder(attemptFolder);
      if (place === null) throw new Error(`${attemptFolder} is no attempt of a job`);
      return markOf(uuid, place);
    },

    async attemptOf(ref: Ref): Promise<LocalAttempt | null> {
      const place = places.get(ref) ?? (await search(folder, job, ref, { found: places, visited, own }));
      if (place === null) return null;
      const { claim, started, exited } = await readAttempt(folder, place);
      const application = await readRecord<ApplicationRecord>(folder, join(place.folder, APPLICATION_FILE));
      return {
        folder: place.folder,
        mark: markOf(uuid, place),
        begunBy: started?.ref ?? null,
        machine: started?.body ?? claim?.by ?? null,
        application: application?.process ?? null,
        exited: exited !== null,
        killWaitMs,
      };
    },
  };
}

interface Search {
  /** What it comes by on the way is noted. */
  readonly found: Map<Ref, AttemptPlace>;
  /** Attempts that are settled say nothing new: of a thousand finished tasks none is read twice. */
  readonly visited: Set<string>;
  readonly own: number | null;
}

/** From the newest attempt down: those that anybody asks for are the newest. */
async function search(
  folder: Folder,
  job: JobPlace,
  ref: Ref,
  { found, visited, own }: Search,
): Promise<AttemptPlace | null> {
  const indices = await taskNumbers(folder, job);
  for (const index of [...indices].sort((a, b) => Number(b === own) - Number(a === own))) {
    const task = taskPlace(job, index);
    for (const number of (await attemptNumbers(folder, task)).reverse()) {
      const place = attemptPlace(task, number);
      if (visited.has(place.folder)) continue;
      const { submitted, started, settled } = await readAttempt(folder, place);
      for (const record of [submitted, started]) if (record !== null) found.set(record.ref, place);
      if (settled !== null) visited.add(place.folder);
      if (found.has(ref)) return found.get(ref) ?? place;
    }
  }
  return null;
}
