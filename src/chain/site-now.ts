/** What the site file of this host says now of the two rules that are not frozen. Small: the runner needs it, too. */
import { existsSync, readFileSync } from "node:fs";
import { siteNow } from "../spec/index.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the site file is looked for: STINT_SITE, else /etc/stint.yaml. */
export function sitePath(environment: Environment): string {
  const named = environment.STINT_SITE ?? "";
  return named === "" ? "/etc/stint.yaml" : named;
}

export interface RulesNow {
  /** 0: none. */
  readonly pollFloorMs: number;
  /** The line that trusts the scheduler's word without cgroup tracking; null: nobody does. */
  readonly trustedBy: string | null;
}

/**
 * How often a controller may be asked is a matter of its health today, and whether its word is trusted must be possible to
 * take back. A file that is not there or cannot be read rules nothing, and trusts nobody.
 */
export function rulesNow(environment: Environment, log: (line: string) => void): RulesNow {
  const path = sitePath(environment);
  let text = "";
  try {
    if (existsSync(path)) text = readFileSync(path, "utf8");
  } catch (error) {
    log(`the site file ${path} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
  const { pollFloorMs, trust } = siteNow(text, path);
  return { pollFloorMs: pollFloorMs?.value ?? 0, trustedBy: trust?.value === "scheduler" ? trust.at : null };
}
