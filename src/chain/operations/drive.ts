/** Moving a chain on from a command: until somebody else carries it, or it has come to rest. */
import type { Outcome } from "../../core/index.ts";
import type { TaskPlace } from "../../journal/index.ts";
import type { Scheduler, SubmitAnswer } from "../../schedulers/index.ts";
import { advance } from "../advance.ts";
import type { World } from "../world.ts";

export interface DriveOptions {
  /** Give up waiting after this long, in ms; the chain may then be stranded. */
  readonly patienceMs: number;
  /** Is an application at work, so that its own body moves the chain on? Then there is nothing left to do. */
  readonly isRunning?: () => Promise<boolean>;
  readonly signal?: AbortSignal;
  /** Each new reason to wait. */
  readonly onWait?: (why: string) => void;
}

export type Driven =
  | Outcome
  /** A clear and lasting no of the scheduler to an attempt, in its own words. */
  | { readonly kind: "refused"; readonly error: string; readonly attempt: number };

/** Longest pause between two looks while a person waits. */
const LONGEST_PAUSE_MS = 2_000;

/** Calls `advance` until a living attempt moves the chain, the chain rests, or the patience is over (then `waiting`). */
export async function driveUntilGoing(world: World, task: TaskPlace, options: DriveOptions): Promise<Driven> {
  const noted = noteRefusals(world);
  const endAtMs = world.clock.monotonicMs() + options.patienceMs;
  let told = "";
  for (;;) {
    const outcome = await advance(noted.world, task);
    if (outcome.kind !== "waiting") return outcome;
    const refusal = noted.lasting();
    if (refusal !== null) return { kind: "refused", error: refusal, attempt: outcome.attempt };
    if ((await options.isRunning?.()) === true) return { kind: "going", attempt: outcome.attempt };
    if (outcome.why !== told) options.onWait?.(outcome.why);
    told = outcome.why;
    if (options.signal?.aborted === true || world.clock.monotonicMs() >= endAtMs) return outcome;
    await world.clock.sleep(Math.max(10, Math.min(outcome.lookAgainMs, LONGEST_PAUSE_MS)));
  }
}

/** The same world with a scheduler that remembers a refusal for good. */
function noteRefusals(world: World): { readonly world: World; lasting(): string | null } {
  const inner = world.scheduler;
  let last: SubmitAnswer | null = null;
  const scheduler: Scheduler = {
    name: inner.name,
    async submit(submission) {
      last = await inner.submit(submission);
      return last;
    },
    find: (script) => inner.find(script),
    observe: (refs) => inner.observe(refs),
    withdraw: (refs) => inner.withdraw(refs),
    kill: (ref) => inner.kill(ref),
    warn: (ref, signal) => inner.warn(ref, signal),
    here: (environment) => inner.here(environment),
    ...(inner.delay === undefined ? {} : { delay: inner.delay.bind(inner) }),
  };
  return {
    world: { ...world, scheduler },
    lasting: () => (last?.kind === "refused" && !last.transient ? last.error : null),
  };
}
