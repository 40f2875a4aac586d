import { COUNTER } from "../local/harness.ts";

/** A deed: stands still until the test makes the file `on`, or TERM comes. Then the attempt goes on, or saves and ends with 99. */
export const WAIT = 'until [ -e on ] || [ -n "$stop" ]; do sleep 0.1; done';

/** A deed: the work is done, whatever is left to the total. So no attempt before it has an end of its own to hurry against. */
export const FINISH = 'echo "$MAX_ITER" >state.tmp && mv state.tmp state.txt && exit 0';

/**
 * The counter of the local tests, which does something else in some of its steps: `{ "2.5": "exit 7" }` is attempt 2 in its
 * fifth step, saved already; `{ "*.3": … }` every attempt.
 */
export function counterThat(deeds: Readonly<Record<string, string>>): string {
  const cases = Object.entries(deeds).map(([when, what]) => `${when}) ${what} ;;`);
  const marked = '  if [ -n "$stop" ]; then wait; exit 99; fi\n';
  if (!COUNTER.includes(marked)) throw new Error("the counter looks different by now");
  return COUNTER.replace(
    marked,
    () => `  own=$((own + 1))\n  case $STINT_ATTEMPT.$own in\n  ${cases.join("\n  ")}\n  esac\n${marked}`,
  );
}
