/** What is looked at before a submit makes anything: the name, what it stands for, and the checkpoint. */
import { readCheckpoint, spaceFor } from "../../checkpoint/index.ts";
import { type JobSpec, progressOf, totalReached } from "../../core/index.ts";
import { type JobPlace, jobPlace } from "../../journal/index.ts";
import { samePurpose } from "../../spec/index.ts";
import { StintError } from "./errors.ts";
import { shortName } from "./job-name.ts";
import { type JobOnFile, readJob } from "./job-on-file.ts";
import type { Project } from "./project.ts";
import type { SubmitResult } from "./submit-job.ts";

/** What would make a new job pointless from the start. Null: nothing is against it. Throws StintError `checkpoint`. */
export async function checkBeforeStart(place: JobPlace, spec: JobSpec): Promise<SubmitResult | null> {
  if (spec.checkpoint === null) return null;
  const { reading } = await readCheckpoint(spec.checkpoint, spec.cwd);
  if (reading.kind === "invalid")
    throw new StintError("checkpoint", `the checkpoint ${spec.checkpoint.path} cannot be used: ${reading.why}`, {
      hint: "mend it, remove it to begin anew, or name another with --checkpoint",
    });
  if (reading.kind === "value" && spec.total !== null && totalReached(progressOf(reading, null), spec.total))
    return { kind: "total-reached", job: place.id, progress: reading.value, total: spec.total };
  const [trouble] = (await spaceFor(spec.checkpoint, spec.cwd)).filter((finding) => finding.severity === "error");
  if (trouble === undefined) return null;
  const full = trouble.kind === "no-space" || trouble.kind === "no-inodes";
  throw new StintError(full ? "storage" : "checkpoint", trouble.text);
}

/** First of `name`, `name.2`, `name.3` … that is not taken. */
export async function freePlace(project: Project, id: string): Promise<JobPlace> {
  for (let number = 1; ; number++) {
    const place = jobPlace(project.stintFolder, number === 1 ? id : `${id}.${number}`);
    if ((await readJob(project.folder, place)) === null) return place;
  }
}

/** Throws StintError `command-differs` where the name stands for other work. */
export function requireSamePurpose(project: Project, place: JobPlace, onFile: JobSpec, now: JobSpec): void {
  const same = samePurpose(onFile, now);
  if (same.same) return;
  const name = shortName(project, place.id);
  throw new StintError("command-differs", `${name} is another job: ${same.differs}`, {
    hint: `choose another name with --name, or make a new job ${name}.2 with --again`,
  });
}

/** Settings that were given now and differ from those on file: they change nothing, and that must be said. */
export function settingsNotice(project: Project, there: JobOnFile, now: JobSpec): string | null {
  const keys = (Object.keys(now) as (keyof JobSpec)[]).filter(
    (key) => !NOT_A_WISH.has(key) && JSON.stringify(now[key]) !== JSON.stringify(there.spec[key]),
  );
  if (keys.length === 0) return null;
  const words = keys.map((key) => key.replace(/Ms$/, "")).join(", ");
  return `${words}: what is on file stands; change it with: stint resume ${shortName(project, there.place.id)} --limit …`;
}

const NOT_A_WISH: ReadonlySet<keyof JobSpec> = new Set(["version", "node", "runtime", "mode", "name"]);
