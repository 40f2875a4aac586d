/** After the patience of a command is over: was anything handed over, and if not, why not? */
import { quoteShell } from "../../core/index.ts";
import { attemptPlace, type TaskPlace } from "../../journal/index.ts";
import type { World } from "../world.ts";
import { type Driven, handOver } from "./drive.ts";
import { StintError } from "./errors.ts";
import { shellName, shortName } from "./job-name.ts";
import type { Project } from "./project.ts";

/**
 * Throws StintError where no attempt that may still run is known to the scheduler: `unreachable` (4) when it cannot be asked,
 * `not-finished` (75) when it has said "not now" all the time. The claim stays on file, so that typing the same again goes on.
 */
export async function requireHandedOver(
  world: World,
  project: Project,
  task: TaskPlace,
  driven: Driven,
): Promise<void> {
  if (driven.kind !== "waiting" && driven.kind !== "unreachable") return;
  if (driven.kind === "waiting" && driven.forSlot === true) return;
  if (driven.kind === "unreachable" && driven.handedOver)
    throw new StintError(
      "unreachable",
      `${shortName(project, task.job.id)} does not go on yet, ${world.scheduler.name} cannot be asked: ${driven.why}`,
      { hint: `what was asked for is on file; when it answers again: stint resume ${shellName(project, task.job.id)}` },
    );
  const state = driven.kind === "unreachable" ? "unreachable" : await handOver(world, task);
  if (state !== "known") throw notHandedOver(world, project, task, driven, state === "unreachable");
}

function notHandedOver(
  world: World,
  project: Project,
  task: TaskPlace,
  { why, attempt }: { readonly why: string; readonly attempt: number },
  isUnreachable: boolean,
): StintError {
  const name = shortName(project, task.job.id);
  const own = world.memory.refusals.get(attemptPlace(task, attempt).folder)?.error ?? why;
  if (!isUnreachable)
    return new StintError("not-finished", `${name} is not on its way, the scheduler has not taken it yet: ${own}`, {
      hint: `nothing of it is queued; try again with: stint resume ${quoteShell(name)}`,
    });
  return new StintError("unreachable", `${name} is not on its way, the scheduler cannot be asked: ${own}`, {
    hint: `on file is attempt ${attempt}, without a job that is known; when the scheduler answers: stint resume ${quoteShell(name)}; to run it on this machine: stint cancel ${quoteShell(name)}, stint rm ${quoteShell(name)}, then again with --scheduler local`,
  });
}
