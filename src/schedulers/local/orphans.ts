/** What is left of an attempt without its shepherd: found by mark, session and descent, and ended. */
import type { ProcessRef } from "../../core/index.ts";
import { findMembers, type Member, type MemberQuery, readCommandLine, sweep, termAll } from "../../host/index.ts";
import { MARK } from "./environment.ts";

export interface OrphanQuery {
  readonly mark: string;
  /** The application's first process, leader of its session; null: not known. */
  readonly application: ProcessRef | null;
  readonly exclude?: readonly number[];
  readonly roots?: readonly number[];
}

/** How an attempt's processes are recognised. */
export function queryOf({ mark, application, exclude = [], roots = [] }: OrphanQuery): MemberQuery {
  return {
    roots: application === null ? roots : [application, ...roots],
    session: application?.pid ?? null,
    mark: { name: MARK, value: mark },
    cgroup: null,
    exclude,
  };
}

/** The attempt's process that runs this command of the bundle, e.g. `body`; also while it is still becoming it. */
export function memberRunning(members: readonly Member[], command: string, attemptFolder: string): Member | null {
  return (
    members.find(({ pid }) => {
      const words = readCommandLine(pid) ?? [];
      return words.at(-2) === command && words.at(-1) === attemptFolder;
    }) ?? null
  );
}

/** TERM to all, KILL to what is left after `graceMs`. Pids that nothing could end. */
export async function endOrphans(query: OrphanQuery, graceMs: number): Promise<readonly number[]> {
  const find = () => findMembers(queryOf(query));
  const members = find();
  if (members.length > 0) termAll(members, query.application);
  const left = await sweep({ find, graceMs: members.length > 0 ? graceMs : 0 });
  return left.map(({ pid }) => pid);
}
