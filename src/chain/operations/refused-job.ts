/** A job that the scheduler refuses for good: what has not run is taken back, with the reason on file. */
import { quoteShell } from "../../core/index.ts";
import { createStop, type JobPlace, type TaskPlace } from "../../journal/index.ts";
import { type Driven, driveUntilGoing } from "./drive.ts";
import { StintError } from "./errors.ts";
import { shortName } from "./job-name.ts";
import { attemptsOf, readJobTasks } from "./job-on-file.ts";
import { resumeStop } from "./job-records.ts";
import { forgetWorld, worldOf } from "./job-world.ts";
import type { Project } from "./project.ts";

/**
 * After a lasting no nothing will ever run: the claim is withdrawn, and the same name may be typed again, corrected. Where other
 * tasks of the job have run or run now, they are left alone. Throws StintError `refused-by-scheduler` for what is refused.
 */
export async function requireAccepted(
  project: Project,
  task: TaskPlace,
  driven: Driven,
  isResume = false,
): Promise<void> {
  if (driven.kind !== "refused") return;
  const place = task.job;
  const name = shortName(project, place.id);
  const tasks = (await readJobTasks(project.folder, place)) ?? [];
  const begun = tasks.some((one) => attemptsOf(one) > 0 || one.state.open.some(({ go }) => go?.what === "start"));
  if (!begun) await takeBackUnrun(project, place, driven.error);
  const corrected = `correct it with: stint resume ${quoteShell(name)} --partition … (or --limit, --mem …)`;
  const again = "nothing runs; correct it and submit again under the same name";
  const hint = begun
    ? corrected
    : isResume
      ? `${corrected}, or submit it again, corrected, under the same name`
      : again;
  throw new StintError("refused-by-scheduler", `the scheduler refuses ${name}: ${driven.error}`, { hint });
}

/** A job of which nothing has run yet is drained, with the reason on file: all of its tasks. */
export async function takeBackUnrun(project: Project, place: JobPlace, why: string): Promise<void> {
  const tasks = (await readJobTasks(project.folder, place)) ?? [];
  const [first] = tasks;
  if (first === undefined || tasks.some((task) => attemptsOf(task) > 0)) return;
  await createStop(project.folder, place, { ...resumeStop(project, why), kind: "drain" });
  const world = await worldOf(project, place, first.spec);
  const endAtMs = world.clock.monotonicMs() + TAKE_BACK_MS;
  for (const { task, state } of tasks) {
    // Of several tasks one that was never claimed is over by the stop itself.
    if (tasks.length > 1 && state.open.length === 0) continue;
    await driveUntilGoing(world, task, { patienceMs: Math.max(0, endAtMs - world.clock.monotonicMs()) });
  }
  forgetWorld(place);
}

const TAKE_BACK_MS = 5_000;
