/** Making and ending the submitter of a chain from a command. */
import type { JobSpec, Seen, SubmitterBasis } from "../../core/index.ts";
import { type JobPlace, readSubmitters } from "../../journal/index.ts";
import { stillOwn, submitterIdentities } from "../job-identity.ts";
import { ensureSubmitter, withdrawSubmitters } from "../submitters.ts";
import type { World } from "../world.ts";
import { StintError } from "./errors.ts";
import { shortName } from "./job-name.ts";
import { isAtRest, readJobTasks } from "./job-on-file.ts";
import { worldOf } from "./job-world.ts";
import type { Project } from "./project.ts";

export interface RequireOptions {
  readonly basis: SubmitterBasis;
  readonly patienceMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly onWait?: ((why: string) => void) | undefined;
}

/**
 * In mode submitter: sees that one lives or is queued. Where the scheduler says "not now" to the end of the patience, that is
 * told and no error: the attempt on its way will make one. Throws StintError `refused-by-scheduler` (1) for a lasting no.
 */
export async function requireSubmitter(
  project: Project,
  place: JobPlace,
  spec: JobSpec,
  { basis, patienceMs, signal, onWait }: RequireOptions,
): Promise<void> {
  if (spec.mode !== "submitter") return;
  const world = await worldOf(project, place, spec);
  const endAtMs = world.clock.monotonicMs() + patienceMs;
  for (;;) {
    const tasks = (await readJobTasks(project.folder, place)) ?? [];
    if (tasks.every(isAtRest)) return;
    const ensured = await ensureSubmitter(world, place, { spec, basis, believe: false });
    if (ensured.kind === "there" || ensured.kind === "not-needed") return;
    const why = ensured.kind === "refused" ? ensured.error : ensured.why;
    if (ensured.kind === "refused" && !ensured.transient)
      throw new StintError(
        "refused-by-scheduler",
        `the scheduler refuses the submitter of ${shortName(project, place.id)}: ${why}`,
        { hint: "correct it (--submitter-limit, --submitter-mem, --submitter-partition …), or leave --mode out" },
      );
    onWait?.(`no submitter yet: ${why}`);
    const leftMs = endAtMs - world.clock.monotonicMs();
    if (leftMs <= 0 || signal?.aborted === true) return;
    await world.clock.sleep(Math.max(20, Math.min(ensured.lookAgainMs, leftMs, 1_000)));
  }
}

/** A submitter that lives sees the end of its chain by itself; this much later it is ended. */
const LEAVE_MS = 10_000;
const LIVES: ReadonlySet<Seen["kind"]> = new Set(["active", "unreachable"]);

/** After the end of a chain: what is queued is taken back; with `wait` until nothing of the submitters is left. */
export async function endSubmitters(
  world: World,
  place: JobPlace,
  spec: JobSpec,
  { wait }: { readonly wait: boolean },
): Promise<void> {
  if (spec.mode !== "submitter") return;
  await withdrawSubmitters(world, place);
  const endAtMs = world.clock.monotonicMs() + LEAVE_MS;
  for (let killed = false; wait && !killed; ) {
    const living = (await readSubmitters(world.folder, place)).filter((one) => one.started !== null && !one.ended);
    const own = submitterIdentities(place, living);
    const refs = [...own.keys()];
    if (refs.length === 0) return;
    // One that was killed can't say that it has ended.
    const seen = await world.scheduler.observe(refs, own);
    if (refs.every((ref) => !LIVES.has(seen.get(ref)?.kind ?? "absent"))) return;
    killed = world.clock.monotonicMs() >= endAtMs;
    if (killed) await world.scheduler.withdraw(await stillOwn(world, own));
    else await world.clock.sleep(300);
  }
}
