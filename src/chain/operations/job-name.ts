/** From what a person types to a job: `sim`, `sim/0`, `/ann/sim`, `last`. */
import { join } from "node:path";
import type { SpecRevision } from "../../core/index.ts";
import { formatJobId, parseJobId, quoteShell } from "../../core/index.ts";
import { findJobs, type JobPlace, jobPlace, readRecord } from "../../journal/index.ts";
import { nearest } from "../../spec/index.ts";
import { StintError } from "./errors.ts";
import type { Project } from "./project.ts";

/**
 * The job that `text` names, which must be there. `last` is the newest submitted one. Throws StintError `usage` for what
 * cannot be a name and `no-such-job` with the nearest names.
 */
export async function findJob(project: Project, text: string): Promise<JobPlace> {
  if (text === "last") return newestJob(project);
  const parsed = parseJobId(text, project.user);
  if (parsed.kind === "error") throw new StintError("usage", parsed.error);
  const id = formatJobId(parsed.job);
  const place = jobPlace(project.stintFolder, id);
  if ((await project.folder.read(join(place.folder, "home.json"))) === null)
    throw new StintError("no-such-job", `no job ${text} in ${project.stintFolder}${await suggestion(project, id)}`);
  if (parsed.kind === "task" && parsed.index !== 0)
    throw new StintError(
      "no-such-job",
      `${shortName(project, id)} has one task, ${shortName(project, id)}/0; there is no task ${parsed.index}`,
    );
  return place;
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
