/** The records that submit and resume put into a job folder beside the attempts. */
import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { type JobSpec, type Origins, RECORD_VERSION, type SpecRevision, type Stop } from "../../core/index.ts";
import { realClock, thisMachine } from "../../host/index.ts";
import { createRecord, type JobPlace, taskPlace } from "../../journal/index.ts";
import { environmentForJob } from "./job-environment.ts";
import type { Project, Where } from "./project.ts";

/** To be freed when the disk is full, so that the end of an attempt can still be put on file. */
const RESERVE_BYTES = 64 * 1024;

/** The environment that every attempt starts from; what is there stays. */
export async function ensureEnvironment(
  project: Project,
  place: JobPlace,
  request: Pick<Where, "environment"> & { readonly spec: JobSpec },
): Promise<void> {
  await createRecord(project.folder, join(place.folder, "env.json"), {
    version: RECORD_VERSION,
    nonce: randomUUID(),
    atMs: realClock.nowMs(),
    env: environmentForJob(request.environment, request.spec.scheduler),
  });
}

/** Real, incompressible bytes: zeros may take no room at all. */
export async function ensureReserve(project: Project, place: JobPlace): Promise<void> {
  const task = taskPlace(place, 0);
  const path = join(task.folder, "reserve");
  if ((await project.folder.identity(path)) !== null) return;
  await project.folder.makeFolder(task.folder);
  await project.folder.replace(path, randomBytes(RESERVE_BYTES / 2).toString("hex"));
}

export function revisionOf(project: Project, spec: JobSpec, origins: Origins): SpecRevision {
  return {
    version: RECORD_VERSION,
    nonce: randomUUID(),
    atMs: realClock.nowMs(),
    by: personHere(project),
    spec,
    origins,
  };
}

/** Who does something, for the record. */
export function personHere(project: Project): string {
  return `${project.user}@${thisMachine().host}`;
}

export function resumeStop(project: Project, note: string | null): Stop {
  return {
    version: RECORD_VERSION,
    nonce: randomUUID(),
    atMs: realClock.nowMs(),
    kind: "resume",
    by: personHere(project),
    ...(note === null ? {} : { note }),
  };
}
