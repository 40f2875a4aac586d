/** The real world of each job that this process works on: one per job, since a driver must remember what it watched. */
import { join } from "node:path";
import { type JobSpec, taskIndices } from "../../core/index.ts";
import { realClock } from "../../host/index.ts";
import {
  type AttemptPlace,
  attemptPlace,
  type JobPlace,
  submitterPlace,
  type TaskPlace,
  taskPlace,
} from "../../journal/index.ts";
import { sbatchArguments } from "../../slurm/index.ts";
import { openWorld, scriptFor, submitterScriptFor } from "../open-world.ts";
import { submitterJob, submitterName } from "../submitters.ts";
import type { World } from "../world.ts";
import type { Project } from "./project.ts";

const worlds = new Map<string, Promise<World>>();

/** Throws JournalError (`copied`, `missing` …) where the job folder cannot be used. */
export function worldOf(project: Project, place: JobPlace, spec: JobSpec): Promise<World> {
  const there = worlds.get(place.folder);
  if (there !== undefined) return there;
  const opened = openWorld(place, spec, { folder: project.folder, log: debugLog });
  worlds.set(place.folder, opened);
  // What failed may work when it is asked for again.
  opened.catch(() => worlds.delete(place.folder));
  return opened;
}

/** After the job's settings changed, or the job is gone. */
export function forgetWorld(place: JobPlace): void {
  worlds.delete(place.folder);
}

/** The script of the first attempt of the first task, without a job folder being there. */
export function firstScript(place: JobPlace, spec: JobSpec): string {
  return scriptFor(firstAttempt(place, spec), spec);
}

/** The command that hands the first attempt over, word by word, without a job folder being there. */
export function firstHandOver(place: JobPlace, spec: JobSpec): readonly string[] {
  const { folder } = firstAttempt(place, spec);
  return spec.scheduler === "local" ? ["/bin/sh", join(folder, "script.sh")] : handOver(place, spec, 1);
}

/** The same for the successors that are kept queued behind it. */
export function successorHandOvers(place: JobPlace, spec: JobSpec): readonly (readonly string[])[] {
  if (spec.scheduler === "local") return [];
  return Array.from({ length: spec.ahead }, (_, index) => handOver(place, spec, index + 2));
}

function handOver(place: JobPlace, spec: JobSpec, number: number): readonly string[] {
  const { folder, task } = attemptPlace(firstTask(place, spec), number);
  // Successors are queued when the first one runs.
  const wishes = number === 1 ? spec.untilFirstRun : undefined;
  const beginAtMs = wishes?.beginAtMs ?? null;
  return sbatchOf(folder, spec.name, spec, {
    arrayIndex: spec.tasks?.kind === "array" ? task.index : null,
    delayMs: beginAtMs === null ? null : beginAtMs - realClock.nowMs(),
    dependency: wishes?.dependency ?? null,
    hold: wishes?.hold === true,
    after: Array.from({ length: number - 1 }, (_, index) => `JOB${index + 1}`),
  });
}

function firstTask(place: JobPlace, spec: JobSpec): TaskPlace {
  return taskPlace(place, taskIndices(spec.tasks)[0] ?? 0);
}

function firstAttempt(place: JobPlace, spec: JobSpec): AttemptPlace {
  return attemptPlace(firstTask(place, spec), 1);
}

/** The same for the first submitter, and its script; null: the job is in another mode. */
export function firstSubmitter(
  place: JobPlace,
  spec: JobSpec,
): { readonly handOver: readonly string[]; readonly script: string } | null {
  if (spec.submitter === undefined) return null;
  const submitter = submitterPlace(place, 1);
  const handOver = sbatchOf(submitter.folder, submitterName(spec), submitterJob(spec, spec.submitter));
  return { handOver, script: submitterScriptFor(submitter, spec) };
}

/** `beginning`: when it may begin; default: at once. */
function sbatchOf(
  folder: string,
  jobName: string,
  { slurm, limitMs }: JobSpec,
  beginning: Partial<Parameters<typeof sbatchArguments>[0]> = {},
): readonly string[] {
  const job = { script: join(folder, "script.sh"), attemptFolder: folder, jobName, slurm, limitMs };
  const atOnce = { delayMs: null, dependency: null, hold: false, after: [] };
  return ["sbatch", ...sbatchArguments({ ...job, ...atOnce, ...beginning })];
}

function debugLog(line: string): void {
  if ((process.env.STINT_DEBUG ?? "") !== "") process.stderr.write(`stint debug: ${line}\n`);
}
