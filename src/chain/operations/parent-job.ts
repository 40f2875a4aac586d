/** Children: a submit inside an attempt makes a child of that attempt's job, in the parent's own folder. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { formatJobId, parseJobId, quoteShell, stopInForce } from "../../core/index.ts";
import { findFamily, type JobPlace, jobPlace, readJobStops } from "../../journal/index.ts";
import { StintError } from "./errors.ts";
import { shortName } from "./job-name.ts";
import { type Project, projectForSubmit, type Where } from "./project.ts";

export type ParentHere =
  /** This is inside no attempt. */
  | { readonly kind: "none" }
  | { readonly kind: "parent"; readonly place: JobPlace }
  /** The environment names a job that cannot be found from here. */
  | { readonly kind: "lost"; readonly why: string };

/** The job whose attempt a command is typed in, as STINT_JOB_ID names it. */
export function parentHere(where: Where): ParentHere {
  const named = where.environment.STINT_JOB_ID ?? "";
  if (named === "") return { kind: "none" };
  const parsed = named.startsWith("/") ? parseJobId(named, "") : null;
  if (parsed?.kind !== "job") return { kind: "lost", why: `STINT_JOB_ID=${named} is no job` };
  const place = jobPlace(projectForSubmit(where).stintFolder, formatJobId(parsed.job));
  if (existsSync(join(place.folder, "home.json"))) return { kind: "parent", place };
  return { kind: "lost", why: `STINT_JOB_ID=${named}, and there is no such job in ${place.stintFolder}` };
}

/** Throws StintError `not-finished` where a stop of an ancestor would stop the child as soon as it is made. */
export async function requireParentGoesOn(project: Project, place: JobPlace): Promise<void> {
  if (place.ancestors.length === 0) return;
  const parent = jobPlace(place.stintFolder, place.id.split("/").slice(0, -1).join("/"));
  const stop = stopInForce(await readJobStops(project.folder, parent));
  if (stop === null) return;
  const name = shortName(project, parent.id);
  throw new StintError(
    "not-finished",
    `${shortName(project, place.id)} is not started: ${name} is ${stop === "cancel" ? "cancelled" : "being drained"}, and its children with it`,
    { hint: `it can be started when that goes on: stint resume ${quoteShell(name)}` },
  );
}

/** Children, and theirs, parents first. */
export async function descendantsOf(project: Project, place: JobPlace): Promise<readonly JobPlace[]> {
  return (await findFamily(project.folder, place)).filter(({ id }) => id !== place.id);
}
