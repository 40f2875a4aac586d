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
