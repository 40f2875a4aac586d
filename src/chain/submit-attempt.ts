/** Handing a claimed attempt to the scheduler, and finding it again when nobody knows whether that worked. */
import { join } from "node:path";
import {
  type Claim,
  hasNotBegun,
  type JobSpec,
  RECORD_VERSION,
  type Ref,
  refOf,
  refsOf,
  type SchedulerName,
  type Submitted,
  taskIndices,
  type View,
} from "../core/index.ts";
import {
  type AttemptPlace,
  attemptPlace,
  createRecord,
  readEnvironment,
  readTask,
  type TaskPlace,
  taskPlace,
} from "../journal/index.ts";
import type { Submission } from "../schedulers/index.ts";
import { brokenNodes } from "./runtime-fault.ts";
import type { World } from "./world.ts";

/** Waits between submits of the same number after a clear refusal: 1 s, doubling to 5 min. */
const REFUSAL_FIRST_MS = 1_000;
const REFUSAL_MAX_MS = 300_000;

export async function submitAttempt(
  world: World,
  task: TaskPlace,
  spec: JobSpec,
  view: View,
  number: number,
): Promise<void> {
  const place = attemptPlace(task, number);
  if (world.memory.submitting.has(place.folder)) return;
  world.memory.submitting.add(place.folder);
  try {
    await hand(world, place, spec, view);
  } finally {
    world.memory.submitting.delete(place.folder);
  }
}

/** Of an attempt or a submitter: what its job was submitted with, and is known by. */
export function scriptPath({ folder }: { readonly folder: string }): string {
  return join(folder, "script.sh");
}

async function hand(world: World, place: AttemptPlace, spec: JobSpec, view: View): Promise<void> {
  const accepted = world.memory.accepted.get(place.folder);
  if (accepted !== undefined) return putOnFile(world, place, accepted);
  const lower = view.open.filter((a) => a.number < place.number && (a.claim !== null || a.started !== null));
  const unknown = lower.find((a) => refOf(a) === null && a.go?.what !== "withdrawn");
  if (unknown !== undefined) {
    // afterany needs every lower id: with the one below alone, cancelling it would start this one beside a living one.
    const before = world.memory.refusals.get(place.folder);
    const againAtMs = world.clock.monotonicMs() + 200;
    const error = `waits for the scheduler id of attempt ${unknown.number}`;
    world.memory.refusals.set(place.folder, { error, transient: true, count: before?.count ?? 0, againAtMs });
    return;
  }
  const script = scriptPath(place);
  await world.folder.replace(script, world.script(place, spec));
  const claim = view.open.find((a) => a.number === place.number)?.claim ?? null;
  const answer = await world.scheduler.submit({
    script,
    attemptFolder: place.folder,
    jobName: spec.name,
    arrayIndex: spec.tasks?.kind === "array" ? place.task.index : null,
    spec: await avoidingBrokenNodes(world, place, spec),
    after: lower.flatMap(refsOf),
    ...(await beginning(world, place, spec, view)),
    notBeforeMs: notBefore(claim, spec, view, world.clock.nowMs()),
    environment: await readEnvironment(world.folder, place.task.job),
  });
  switch (answer.kind) {
    case "accepted":
      world.memory.refusals.delete(place.folder);
      // Remembered first: a record that can't be written now must not make a second job of it.
      world.memory.accepted.set(place.folder, answer);
      return putOnFile(world, place, answer);
    case "refused": {
      const count = world.memory.refusals.get(place.folder)?.count ?? 0;
      const againMs = Math.min(REFUSAL_MAX_MS, REFUSAL_FIRST_MS * 2 ** Math.min(count, 20));
      refuse(world, place, answer.error, answer.transient, againMs);
      return;
    }
    case "unclear":
      world.log(`submit of attempt ${place.number} got no clear answer: ${answer.error}`);
      world.memory.unclear.add(place.folder);
      return;
  }
}

async function putOnFile(world: World, place: AttemptPlace, job: Parameters<typeof recordSubmitted>[2]): Promise<void> {
  await recordSubmitted(world, place, job, "claimer");
  world.memory.accepted.delete(place.folder);
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

async function anotherRan(world: World, { job, index }: TaskPlace, { tasks }: JobSpec): Promise<boolean> {
  for (const other of taskIndices(tasks))
    if (other !== index && !hasNotBegun(await readTask(world.folder, taskPlace(job, other)))) return true;
  return false;
}

/** Nodes where the last attempts could not start their runner are excluded beside those that the user has excluded. */
async function avoidingBrokenNodes(world: World, place: AttemptPlace, spec: JobSpec): Promise<JobSpec> {
  if (spec.scheduler !== "slurm") return spec;
  const broken = await brokenNodes(world.folder, place);
  if (broken.length === 0) return spec;
  const own = spec.slurm.exclude;
  return { ...spec, slurm: { ...spec.slurm, exclude: [...(own === null ? [] : [own]), ...broken].join(",") } };
}

function refuse(world: World, place: AttemptPlace, error: string, transient: boolean, againMs: number): void {
  const count = (world.memory.refusals.get(place.folder)?.count ?? 0) + 1;
  world.log(`attempt ${place.number} not submitted: ${error}`);
  world.memory.refusals.set(place.folder, { error, transient, count, againAtMs: world.clock.monotonicMs() + againMs });
}

/** Looks for a job with the attempt's script and puts it on file. */
export async function adopt(world: World, place: AttemptPlace): Promise<"none" | "unreachable" | "adopted"> {
  const found = await world.scheduler.find(scriptPath(place));
  if (found === "none" || found === "unreachable") return found;
  await recordSubmitted(world, place, found, "adopted");
  return "adopted";
}

/** Links `submitted`; the job itself or an adopter may have been first. */
export async function recordSubmitted(
  world: World,
  place: AttemptPlace,
  job: { readonly ref: Ref; readonly cluster: string | null; readonly id: string },
  by: Submitted["by"],
): Promise<void> {
  const record: Submitted = {
    version: RECORD_VERSION,
    nonce: world.nonce(),
    atMs: world.clock.nowMs(),
    scheduler: schedulerOf(job.ref),
    cluster: job.cluster,
    id: job.id,
    ref: job.ref,
    by,
  };
  const { mine } = await createRecord(world.folder, join(place.folder, "submitted.json"), record);
  if (mine) world.log(`attempt ${place.number} is ${job.ref}`);
}

function schedulerOf(ref: Ref): SchedulerName {
  return ref.startsWith("slurm/") ? "slurm" : "local";
}
