/** A process that may outlive its job: another one can have the name and the path by then (`rm`, then `submit`). */
import { join } from "node:path";
import type { Folder } from "../host/index.ts";
import { checkHome, type JobPlace, JournalError } from "../journal/index.ts";

/** Throws JournalError where the folder is gone, a copy, or by now that of another job than the one with this uuid. */
export async function requireSameJob(folder: Folder, job: JobPlace, uuid: string): Promise<void> {
  const home = await checkHome(folder, job);
  if (home.uuid === uuid) return;
  const why = "this attempt's job was removed, and another one has its name";
  throw new JournalError("missing", job.folder, `${job.folder}: ${why}`);
}

/** The same folder; before each write it is looked at whether the job is still that one: at its home, and read only if touched. */
export function writesForJob(folder: Folder, job: JobPlace, uuid: string): Folder {
  const home = join(job.folder, "home.json");
  let read: string | null = null;
  const check = async () => {
    const stamp = await folder.stamp(home);
    if (stamp !== null && stamp === read) return;
    await requireSameJob(folder, job, uuid);
    // Taken before the reading: what was put there after it has another one.
    read = stamp;
  };
  const checked = <A extends readonly unknown[], R>(action: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      await check();
      return action(...args);
    };
  };
  return {
    ...folder,
    createOnce: checked(folder.createOnce),
    replace: checked(folder.replace),
    append: checked(folder.append),
    makeFolder: checked(folder.makeFolder),
    remove: checked(folder.remove),
  };
}

/** Whether trying again is in vain: the folder is gone, a copy, another job's, or of a newer version, and stays so. */
export function isHopeless(error: unknown): boolean {
  return error instanceof JournalError && error.code !== "damaged";
}
