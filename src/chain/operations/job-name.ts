/** From what a person types to a job: `sim`, `sim/7`, `/ann/sim`, `last`. */
import { join } from "node:path";
import type { SpecRevision } from "../../core/index.ts";
import { formatJobId, parseJobId, quoteShell, taskIndices } from "../../core/index.ts";
import { findJobs, type JobPlace, jobPlace, readRecord, readSpec } from "../../journal/index.ts";
import { nearest } from "../../spec/index.ts";
import { StintError } from "./errors.ts";
import { hasTasks, type JobOnFile } from "./job-on-file.ts";
import type { Project } from "./project.ts";

/** A job, and one of its tasks where that was named. */
export interface Target {
  readonly place: JobPlace;
  /** Null: the whole job, or the only task of one that has no others. */
  readonly task: number | null;
}

/**
 * The job that `text` names, which must be there. `last` is the newest submitted one. Throws StintError `usage` for what
 * cannot be a name, or names one task of several, and `no-such-job` with the nearest names.
 */
export async function findJob(project: Project, text: string): Promise<JobPlace> {
  const { place, task } = await findTarget(project, text);
  if (task === null) return place;
  const name = shortName(project, place.id);
  throw new StintError("usage", `${name}/${task} is one task of ${name}, and this is about whole jobs: name ${name}`);
}

/** The same with the task, as in `sim/7` or `last/7`. */
export async function findTarget(project: Project, text: string): Promise<Target> {
  const last = /^last(?:\/(\d{1,9}))?$/.exec(text);
  if (last !== null) return withTask(project, await newestJob(project), last[1] === undefined ? null : Number(last[1]));
  const parsed = parseJobId(text, project.user);
  if (parsed.kind === "error") throw new StintError("usage", parsed.error);
  const id = formatJobId(parsed.job);
  const place = jobPlace(project.stintFolder, id);
  if ((await project.folder.read(join(place.folder, "home.json"))) === null)
    throw new StintError("no-such-job", `no job ${text} in ${project.stintFolder}${await suggestion(project, id)}`);
  return withTask(project, place, parsed.kind === "task" ? parsed.index : null);
}

/** That task of the job. Throws StintError `no-such-job` where it has none of that index. */
export async function withTask(project: Project, place: JobPlace, index: number | null): Promise<Target> {
  const tasks = (await readSpec(project.folder, place))?.revision.spec.tasks ?? null;
  if (index === null || (tasks === null && index === 0)) return { place, task: null };
  if (taskIndices(tasks).includes(index)) return { place, task: index };
  const name = shortName(project, place.id);
  const there = tasks === null ? `${name} has one task, ${name}/0` : `the tasks of ${name} are ${tasks.indices}`;
  throw new StintError("no-such-job", `${there}; there is no task ${index}`);
}

/** What a person types for it. */
export function targetName(
  project: Project,
  { place, task }: { readonly place: Pick<JobPlace, "id">; readonly task: number | null },
): string {
  return task === null ? shortName(project, place.id) : `${shortName(project, place.id)}/${task}`;
}

/** The same for what was read of it. */
export function nameOf(project: Project, job: JobOnFile): string {
  return targetName(project, { place: job.place, task: hasTasks(job) ? job.task.index : null });
}

/** Throws StintError `usage` where a job has several tasks and none was named. */
export async function requireOneTask(project: Project, { place, task }: Target, command: string): Promise<void> {
  const tasks = (await readSpec(project.folder, place))?.revision.spec.tasks ?? null;
  if (task !== null || tasks === null) return;
  const name = shellName(project, place.id);
  const [first] = taskIndices(tasks);
  throw new StintError(
    "usage",
    `which task? stint ${command} ${name}/${first}; the tasks of ${name} are ${tasks.indices}`,
  );
}

/** The id without `/user/` where it is the current user's. */
export function shortName(project: Project, id: string): string {
  const own = `/${project.user}/`;
  return id.startsWith(own) ? id.slice(own.length) : id;
}

/** The same as a word of a command that a person may copy into a shell. */
export function shellName(project: Project, id: string): string {
  return quoteShell(shortName(project, id));
}

async function newestJob(project: Project): Promise<JobPlace> {
  let newest: { readonly place: JobPlace; readonly atMs: number } | null = null;
  for (const place of await findJobs(project.folder, project.stintFolder)) {
    const atMs = await submittedAtMs(project, place);
    if (atMs !== null && (newest === null || atMs >= newest.atMs)) newest = { place, atMs };
  }
  if (newest === null) throw new StintError("no-such-job", `no job in ${project.stintFolder} yet`);
  return newest.place;
}

async function submittedAtMs(project: Project, place: JobPlace): Promise<number | null> {
  try {
    return (await readRecord<SpecRevision>(project.folder, join(place.folder, "spec", "0001.json")))?.atMs ?? null;
  } catch {
    // A job that cannot be read is not what `last` means; `status` names it.
    return null;
  }
}

async function suggestion(project: Project, id: string): Promise<string> {
  const ids = (await findJobs(project.folder, project.stintFolder)).map((place) => place.id);
  if (ids.length === 0) return ", which holds no job";
  const near = nearest(id, ids);
  const shown = near !== null ? [near] : ids.slice(-5);
  const names = shown.map((one) => shortName(project, one)).join(", ");
  return near !== null
    ? `, did you mean ${names}?`
    : `; there ${ids.length === 1 ? "is" : "are"}: ${names}${ids.length > 5 ? ", …" : ""}`;
}
