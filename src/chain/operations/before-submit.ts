/** What is looked at before a submit makes anything: the name, what it stands for, and the checkpoint. */
import { jsonRuleWords, readCheckpoint, spaceFor } from "../../checkpoint/index.ts";
import { type JobSpec, progressOf, progressValue, specForTask, taskIndices, totalReached } from "../../core/index.ts";
import { type JobPlace, jobPlace, readFirstSpec } from "../../journal/index.ts";
import { samePurpose } from "../../spec/index.ts";
import type { ChainStatus } from "./chain-status.ts";
import { StintError } from "./errors.ts";
import { shellName, shortName } from "./job-name.ts";
import { type JobOnFile, readJob } from "./job-on-file.ts";
import type { Project } from "./project.ts";
import type { SubmitResult } from "./submit-job.ts";

/** What would make a new job pointless from the start. Null: nothing is against it. Throws StintError `checkpoint`. */
export async function checkBeforeStart(place: JobPlace, spec: JobSpec): Promise<SubmitResult | null> {
  let first: JobSpec | null = null;
  let done: SubmitResult | null = null;
  // Of several tasks those that have reached the total are finished by themselves; all of them: there is nothing to do.
  for (const index of taskIndices(spec.tasks)) {
    const task = specForTask(spec, index);
    done = await checkReading(place, task);
    if (done === null) first ??= task;
  }
  if (first === null) return done;
  await requireSpace(first);
  return null;
}

async function checkReading(place: JobPlace, spec: JobSpec): Promise<SubmitResult | null> {
  if (spec.checkpoint === null) return null;
  const { reading } = await readCheckpoint(spec.checkpoint, spec.cwd);
  if (reading.kind === "invalid")
    throw new StintError("checkpoint", `the checkpoint ${spec.checkpoint.path} cannot be used: ${reading.why}`, {
      hint: checkpointHint(spec.checkpoint, reading.why),
    });
  if (reading.kind === "value" && spec.total !== null && totalReached(progressOf(reading, null), spec.total))
    return { kind: "total-reached", job: place.id, progress: reading.value, total: spec.total };
  return null;
}

/** Where several tasks save, the first speaks for all. */
async function requireSpace(spec: JobSpec): Promise<void> {
  if (spec.checkpoint === null) return;
  const [trouble] = (await spaceFor(spec.checkpoint, spec.cwd)).filter((finding) => finding.severity === "error");
  if (trouble === undefined) return;
  const full = trouble.kind === "no-space" || trouble.kind === "no-inodes";
  throw new StintError(full ? "storage" : "checkpoint", trouble.text);
}

/** What holds results in another form than expected must not be thrown away for it. */
function checkpointHint({ path, progress }: NonNullable<JobSpec["checkpoint"]>, why: string): string {
  const left = "it is left as it is";
  if (progress.kind !== "number") return `${left}; mend it, or read it by another rule (--progress)`;
  if (path.endsWith(".json") && !why.includes("it is JSON"))
    return `${left}; its name says JSON: ${jsonRuleWords(null)}`;
  return why.includes("it is JSON") ? left : `${left}; mend it, or say how it is read with --progress`;
}

/** First of `name`, `name.2`, `name.3` … that is not taken. */
export async function freePlace(project: Project, id: string): Promise<JobPlace> {
  for (let number = 1; ; number++) {
    const place = jobPlace(project.stintFolder, number === 1 ? id : `${id}.${number}`);
    if ((await readJob(project.folder, place)) === null) return place;
  }
}

/**
 * Throws StintError `command-differs` where the name stands for other work than the newest or the first revision on file: what
 * a resume has changed since (how progress is read) makes no other job of the same file or words.
 */
export async function requireSamePurpose(
  project: Project,
  place: JobPlace,
  onFile: JobSpec,
  now: JobSpec,
): Promise<void> {
  const same = samePurpose(onFile, now);
  if (same.same) return;
  const first = await readFirstSpec(project.folder, place);
  if (first !== null && samePurpose(first.spec, now).same) return;
  const name = shortName(project, place.id);
  throw new StintError("command-differs", `${name} is another job: ${same.differs}`, {
    hint: `choose another name with --name, or make a new job ${name}.2 with --again`,
  });
}

/** A higher total for a job that is finished is another job with the same checkpoint. Null: it is not finished, or no more is asked. */
export function furtherAdvice(status: ChainStatus, total: number | null, command: "run" | "submit"): string | null {
  const reached = progressValue(status.progress);
  if (status.decision !== "finish" || total === null || reached === null || total <= reached) return null;
  const of = status.total === null ? "" : ` of ${status.total}`;
  return `it is finished at ${reached}${of}; to compute on: stint ${command} --again … --total ${total}`;
}

/** Settings that were given now and differ from those on file: they change nothing, and that must be said. */
export function settingsNotice(project: Project, there: JobOnFile, now: JobSpec, status: ChainStatus): string | null {
  const further = furtherAdvice(status, now.total, now.mode === "attached" ? "run" : "submit");
  if (further !== null) return further;
  const keys = (Object.keys(now) as (keyof JobSpec)[]).filter(
    (key) => !NOT_A_WISH.has(key) && JSON.stringify(now[key] ?? null) !== JSON.stringify(there.jobSpec[key] ?? null),
  );
  if (keys.length === 0) return null;
  const words = keys.map(settingWord).join(", ");
  if (status.decision === "finish") return `it is finished, and other settings (${words}) need a new job, with --again`;
  return `${words}: what is on file stands; change it with: stint resume ${shellName(project, there.place.id)} --limit …`;
}

/** `killWaitMs` → `kill-wait`, as it is written as an option. */
function settingWord(key: string): string {
  // Which tasks there are is the job's purpose; how many run at a time is a setting.
  if (key === "tasks") return "parallel";
  return key.replace(/Ms$/, "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

const NOT_A_WISH: ReadonlySet<keyof JobSpec> = new Set([
  "version",
  "node",
  "runtime",
  "mode",
  "name",
  "allocationEndAtMs",
  "allocationCpus",
  "allocationId",
]);
