/** Environments as plain data: a variable may have any name. */

/**
 * What is set in it. Names are never assigned one by one: `kept["__proto__"] = …` makes no variable, `Object.fromEntries` does.
 * `isKept`: which names; default all.
 */
export function definedVariables(
  environment: Readonly<Record<string, string | undefined>>,
  isKept: (name: string) => boolean = () => true,
): Readonly<Record<string, string>> {
  const set = Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(set.filter(([name]) => isKept(name)));
}

/** What a runner exports for its application: facts of one attempt, which no other one may take for its own. */
export const OF_AN_ATTEMPT: readonly string[] = [
  "STINT_JOB_ID",
  "STINT_JOB_FOLDER",
  "STINT_TASK_ID",
  "STINT_TASK_INDEX",
  "STINT_TASK_COUNT",
  "STINT_ATTEMPT",
  "STINT_DEADLINE",
  "STINT_RESUME",
  "STINT_MARK",
  "STINT_MARK_JOB",
];

/** Those, and what the scheduler `local` tells its own processes. */
export function isOfAnAttempt(name: string): boolean {
  return name.startsWith("STINT_LOCAL_") || OF_AN_ATTEMPT.includes(name);
}
