/** What is left of an attempt without its shepherd: found by mark, session and descent, and ended. */
import type { ProcessRef } from "../../core/index.ts";
import {
  doubtsAbout,
  findMembers,
  type Member,
  type MemberQuery,
  readCommandLine,
  sweep,
  termAll,
} from "../../host/index.ts";
import { markQuery } from "./environment.ts";

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
    mark: markQuery(mark),
    cgroup: null,
    exclude,
  };
}

/**
 * The attempt's process that runs this command of the bundle, e.g. `body`; also while it is still becoming it. Known by mark and
 * role: a project that was moved since, or is reached by a link, has another path.
 */
export function memberRunning(members: readonly Member[], command: "body" | "shepherd", mark: string): Member | null {
  return (
    members.find(({ pid }) => {
      const words = readCommandLine(pid) ?? [];
      return words.at(-2) === command && isFolderOf(mark, words.at(-1) ?? "");
    }) ?? null
  );
}

/** Whether a path leads to the folder of the attempt with this mark (`<job uuid>/<task>/<attempt>`), wherever the job lies. */
export function isFolderOf(mark: string, path: string): boolean {
  const [, task, attempt] = mark.split("/");
  const match = /\/tasks\/(\d+)\/attempts\/(\d+)$/.exec(path);
  return match !== null && Number(match[1]) === Number(task) && Number(match[2]) === Number(attempt);
}

/**
 * Processes that may be the attempt's and cannot be proved to be: the session of an application that has ended had their number,
 * but such a number is given away again. Nobody ends them; while they live the attempt is not proved over.
 */
export function doubtfulMembers(query: OrphanQuery): readonly number[] {
  return doubtsAbout(queryOf(query));
}

/** TERM to all, KILL to what is left after `graceMs`. Pids that nothing could end. */
export async function endOrphans(query: OrphanQuery, graceMs: number): Promise<readonly number[]> {
  const find = () => findMembers(queryOf(query));
  const members = find();
  if (members.length > 0) termAll(members, query.application);
  const left = await sweep({ find, graceMs: members.length > 0 ? graceMs : 0 });
  return left.map(({ pid }) => pid);
}
