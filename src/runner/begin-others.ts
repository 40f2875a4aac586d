/**
 * In the background of a run: tasks of the same job that may begin and that nobody has begun, since their mover died, or since the
 * scheduler had said "not now". The end of a task begins others at once; this is for a job whose tasks all take long.
 */
import { advanceJob } from "../chain/index.ts";
import { hasTaskPlan } from "../core/index.ts";
import { isSubmittersTurn } from "./mover.ts";
import type { Body } from "./ports.ts";

/** Far from the start, when all others of a large job may be starting too. */
const FIRST_MS = 60_000;
const LONGEST_PAUSE_MS = 30 * 60_000;
/** Tasks that have begun together do not all look together: no common factor with `FIRST_MS`. */
const APART_MS = 7_919;

export interface OthersBegun {
  /** No more are begun: resolves when a submit that is under way has its answer. */
  end(): Promise<void>;
}

export function beginOthers(ports: Body): OthersBegun {
  const ending = new AbortController();
  let round: Promise<void> = Promise.resolve();
  void loop(ports, ending.signal, (now) => {
    round = now;
  });
  return {
    end: () => {
      ending.abort();
      return round;
    },
  };
}

async function loop(ports: Body, ending: AbortSignal, onRound: (now: Promise<void>) => void): Promise<void> {
  const { world, place, spec } = ports;
  // Where there is a submitter it is at it, and this body watches over that one.
  if (!hasTaskPlan(spec) || isSubmittersTurn(ports)) return;
  let againMs: number | null = null;
  const firstMs = FIRST_MS + ((place.task.index * APART_MS) % FIRST_MS);
  for (let pauseMs = firstMs; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
    // A claim whose maker cannot be seen is gone on with by whoever has watched it for long enough: this must be the same process.
    await world.clock.sleep(againMs === null ? pauseMs : Math.min(pauseMs, Math.max(FIRST_MS, againMs)));
    if (ending.aborted || ports.leaving()) return;
    const leftMs = (ports.limitAtMs ?? Number.POSITIVE_INFINITY) - world.clock.monotonicMs();
    const beginning = { withinMs: Math.min(FIRST_MS, leftMs), keeps: true, signal: ending };
    const round = advanceJob(world, place.task.job, beginning).then(
      ({ lookAgainMs }) => {
        againMs = lookAgainMs;
      },
      // Other tasks must not hurt the one that runs.
      (error: unknown) => world.log(`other tasks: ${error instanceof Error ? error.message : String(error)}`),
    );
    onRound(round);
    await round;
  }
}
