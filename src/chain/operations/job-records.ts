/** The records that submit and resume put into a job folder beside the attempts. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { type JobSpec, type Origins, RECORD_VERSION, type SpecRevision, type Stop } from "../../core/index.ts";
import { realClock, thisMachine } from "../../host/index.ts";
import { createRecord, type JobPlace, type TaskPlace } from "../../journal/index.ts";
import { ensureReserve, reservePath } from "../reserve.ts";
import { StintError } from "./errors.ts";
import { environmentForJob } from "./job-environment.ts";
import type { Project, Where } from "./project.ts";

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

/** Throws StintError `storage` where the disk is full. */
export async function requireReserve(project: Project, task: TaskPlace): Promise<void> {
  await project.folder.makeFolder(task.folder);
  const trouble = await ensureReserve(project.folder, reservePath(task));
  if (trouble !== null) throw new StintError("storage", trouble);
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
