/** The real world of each job that this process works on: one per job, since a driver must remember what it watched. */
import { join } from "node:path";
import { type JobSpec, taskIndices } from "../../core/index.ts";
import { type AttemptPlace, attemptPlace, type JobPlace, taskPlace } from "../../journal/index.ts";
import { sbatchArguments } from "../../slurm/index.ts";
import { openWorld, scriptFor } from "../open-world.ts";
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
  const { folder, task } = firstAttempt(place, spec);
  const script = join(folder, "script.sh");
  if (spec.scheduler === "local") return ["/bin/sh", script];
  const { name: jobName, slurm, limitMs } = spec;
  const arrayIndex = spec.tasks?.kind === "array" ? task.index : null;
  const job = { script, attemptFolder: folder, jobName, arrayIndex, slurm, limitMs, delayMs: null, after: [] };
  return ["sbatch", ...sbatchArguments(job)];
}

function firstAttempt(place: JobPlace, spec: JobSpec): AttemptPlace {
  return attemptPlace(taskPlace(place, taskIndices(spec.tasks)[0] ?? 0), 1);
}

function debugLog(line: string): void {
  if ((process.env.STINT_DEBUG ?? "") !== "") process.stderr.write(`stint debug: ${line}\n`);
}
