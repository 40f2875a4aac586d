/**
 * Where everything lies in the job folder (design §4). Paths only: nothing here touches a file. They are put together by hand:
 * all parts are clean, and `join` is slow where thousands of jobs are read.
 */

/** One job: its id `/user/name[/child…]` and its folder. */
export interface JobPlace {
  readonly id: string;
  readonly folder: string;
  /** Folders of its ancestors, nearest first: their stops count too. */
  readonly ancestors: readonly string[];
  /** The `.stint` folder that holds it. */
  readonly stintFolder: string;
}

export interface TaskPlace {
  readonly job: JobPlace;
  readonly index: number;
  readonly id: string;
  readonly folder: string;
}

export interface AttemptPlace {
  readonly task: TaskPlace;
  readonly number: number;
  readonly folder: string;
}

/** `/ann/sim/fit` below `.stint` → `jobs/ann/sim/children/fit`. */
export function jobPlace(stintFolder: string, id: string): JobPlace {
  const [user = "", name = "", ...children] = id.split("/").slice(1);
  let folder = `${stintFolder}/jobs/${user}/${name}`;
  const ancestors: string[] = [];
  for (const child of children) {
    ancestors.unshift(folder);
    folder = `${folder}/children/${child}`;
  }
  return { id, folder, ancestors, stintFolder };
}

export function taskPlace(job: JobPlace, index: number): TaskPlace {
  return { job, index, id: `${job.id}/${index}`, folder: `${job.folder}/tasks/${index}` };
}

export function attemptPlace(task: TaskPlace, number: number): AttemptPlace {
  return { task, number, folder: `${task.folder}/attempts/${padded(number)}` };
}

/** The copy of a batch script. Its name is the script's own, and its folder's the content's: another content is another copy. */
export function scriptCopy(job: JobPlace, script: { readonly name: string; readonly sha256: string }): string {
  return `${job.folder}/batch/${script.sha256.slice(0, 16)}/${script.name}`;
}

/** Numbers in names have at least four digits, so that `ls` sorts them. */
export function padded(number: number): string {
  return String(number).padStart(4, "0");
}

/** The number of an attempt's folder; null for foreign names. */
export function attemptNumberOf(name: string): number | null {
  return /^\d{4,9}$/.test(name) ? Number(name) : null;
}

/** The number of a record in `stops/` or `spec/`; null for foreign names. */
export function recordNumberOf(name: string): number | null {
  const match = /^(\d{4,9})\.json$/.exec(name);
  return match ? Number(match[1]) : null;
}

/** Place of the attempt whose folder this is, or null when the path has another shape. */
export function placeOfAttemptFolder(folder: string): AttemptPlace | null {
  const match = /^(.+)\/tasks\/(\d+)\/attempts\/(\d{4,9})$/s.exec(folder);
  const job = match === null ? null : placeOfJobFolder(match[1] ?? "");
  return job === null || match === null ? null : attemptPlace(taskPlace(job, Number(match[2])), Number(match[3]));
}

/** Place of the job whose folder this is, or null when the path has another shape. A job may be called `jobs` or `children`. */
export function placeOfJobFolder(folder: string): JobPlace | null {
  const match = /^(.*?)\/jobs\/([^/]+\/[^/]+(?:\/children\/[^/]+)*)$/s.exec(folder);
  if (match === null) return null;
  const [user = "", name = "", ...below] = (match[2] ?? "").split("/");
  const children = below.filter((_, at) => at % 2 === 1);
  return jobPlace(match[1] ?? "", `/${[user, name, ...children].join("/")}`);
}
