/** After the patience of a command is over: was anything handed over, and if not, why not? */
import { refOf } from "../../core/index.ts";
import { attemptPlace, type JobPlace, readTask, taskPlace } from "../../journal/index.ts";
import { adopt } from "../submit-attempt.ts";
import type { World } from "../world.ts";
import type { Driven } from "./drive.ts";
import { StintError } from "./errors.ts";
import { shortName } from "./job-name.ts";
import type { Project } from "./project.ts";

/**
 * Throws StintError where no attempt that may still run is known to the scheduler: `unreachable` (4) when it cannot be asked,
 * `not-finished` (75) when it has said "not now" all the time. The claim stays on file, so that typing the same again goes on.
 */
export async function requireHandedOver(
  world: World,
  project: Project,
  place: JobPlace,
  driven: Driven,
): Promise<void> {
  if (driven.kind !== "waiting") return;
  const task = taskPlace(place, 0);
  const { open } = await readTask(world.folder, task);
  if (open.some((a) => a.go?.what !== "withdrawn" && refOf(a) !== null)) return;
  const claimed = open.find((a) => a.go === null && a.claim !== null);
  const found = claimed === undefined ? "none" : await adopt(world, attemptPlace(task, claimed.number));
  if (found === "adopted") return;
  const name = shortName(project, place.id);
  const isUnreachable = found === "unreachable";
  const words = isUnreachable ? "the scheduler cannot be asked" : "the scheduler has not taken it yet";
  throw new StintError(
    isUnreachable ? "unreachable" : "not-finished",
    `${name} is not on its way, ${words}: ${driven.why}`,
    { hint: `nothing of it is queued; try again with: stint resume ${name}` },
  );
}
