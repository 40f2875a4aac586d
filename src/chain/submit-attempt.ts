/** What a claimed attempt is handed in with. */
import {
  type Claim,
  hasNotBegun,
  type JobSpec,
  type Ref,
  refOf,
  refsOf,
  taskIndices,
  type View,
} from "../core/index.ts";
import {
  type AttemptPlace,
  attemptPlace,
  readEnvironment,
  readTask,
  type TaskPlace,
  taskPlace,
} from "../journal/index.ts";
import type { Submission } from "../schedulers/index.ts";
import { type Claimed, handIn } from "./hand-in.ts";
import { brokenNodes } from "./runtime-fault.ts";
import type { World } from "./world.ts";

/** The attempt as something that is handed in. */
export function claimedAttempt({ folder, number }: AttemptPlace): Claimed {
  return { folder, what: `attempt ${number}` };
}

/** The job that was accepted just now; null: none. */
export async function submitAttempt(
  world: World,
  task: TaskPlace,
  spec: JobSpec,
  view: View,
  number: number,
): Promise<Ref | null> {
  const place = attemptPlace(task, number);
  return handIn(world, claimedAttempt(place), (script) => prepare(world, place, spec, view, script));
}

async function prepare(
  world: World,
  place: AttemptPlace,
  spec: JobSpec,
  view: View,
  script: string,
): Promise<Submission | null> {
  const lower = view.open.filter((a) => a.number < place.number && (a.claim !== null || a.started !== null));
  const unknown = lower.find((a) => refOf(a) === null && a.go?.what !== "withdrawn");
  if (unknown !== undefined) {
    // afterany needs every lower id: with the one below alone, cancelling it would start this one beside a living one.
    const before = world.memory.refusals.get(place.folder);
    const againAtMs = world.clock.monotonicMs() + 200;
    const error = `waits for the scheduler id of attempt ${unknown.number}`;
    world.memory.refusals.set(place.folder, { error, transient: true, count: before?.count ?? 0, againAtMs });
    return null;
  }
  await world.folder.replace(script, world.script(place, spec));
  const claim = view.open.find((a) => a.number === place.number)?.claim ?? null;
  return {
    script,
    attemptFolder: place.folder,
    jobName: spec.name,
    arrayIndex: spec.tasks?.kind === "array" ? place.task.index : null,
    spec: await avoidingBrokenNodes(world, place, spec),
    after: lower.flatMap(refsOf),
    ...(await beginning(world, place, spec, view)),
    notBeforeMs: notBefore(claim, spec, view, world.clock.nowMs()),
    environment: await readEnvironment(world.folder, place.task.job),
  };
}

/** Never further away than the longest back-off: the clock may have been set back since, or been another machine's. */
function notBefore(claim: Claim | null, spec: JobSpec, view: View, nowMs: number): number | null {
  const decided = claim?.notBeforeMs ?? null;
  const waited = decided === null ? null : Math.min(decided, nowMs + spec.backoffMaxMs);
  const wished = hasNotBegun(view) ? (spec.untilFirstRun?.beginAtMs ?? null) : null;
  return waited === null || wished === null ? (waited ?? wished) : Math.max(waited, wished);
}

/** The user's wishes about the beginning: a job keeps them where none before it has begun. */
async function beginning(
  world: World,
  place: AttemptPlace,
  spec: JobSpec,
  view: View,
): Promise<Pick<Submission, "dependency" | "hold">> {
  const wishes = spec.untilFirstRun;
  if (wishes === undefined || !hasNotBegun(view)) return {};
  // Released once is released: a successor, what is submitted in place of a job, or a task that begins behind one which has run,
  // does not wait for another word. What it depends on counts for each task: it may be the element of an array with its index.
  const isFirstJob = view.settled?.record.evidence.ref == null && view.open.every((a) => a.number >= place.number);
  const hold = wishes.hold && isFirstJob && !(await anotherRan(world, place.task, spec));
  return { dependency: wishes.dependency, hold };
}

/** Looked at once in a while: of a thousand tasks that are submitted one after the other each would read all others. */
async function anotherRan(world: World, { job, index }: TaskPlace, { tasks, timing }: JobSpec): Promise<boolean> {
  const nowMs = world.clock.monotonicMs();
  const known = world.memory.ran.get(job.folder);
  if (known !== undefined && (known.any || nowMs - known.atMs < timing.pollMs)) return known.any;
  let any = false;
  for (const other of taskIndices(tasks)) {
    any = other !== index && !hasNotBegun(await readTask(world.folder, taskPlace(job, other)));
    if (any) break;
  }
  world.memory.ran.set(job.folder, { any, atMs: nowMs });
  return any;
}

/** Nodes where the last attempts could not start their runner are excluded beside those that the user has excluded. */
async function avoidingBrokenNodes(world: World, place: AttemptPlace, spec: JobSpec): Promise<JobSpec> {
  if (spec.scheduler !== "slurm") return spec;
  const broken = await brokenNodes(world.folder, place);
  if (broken.length === 0) return spec;
  const own = spec.slurm.exclude;
  return { ...spec, slurm: { ...spec.slurm, exclude: [...(own === null ? [] : [own]), ...broken].join(",") } };
}
