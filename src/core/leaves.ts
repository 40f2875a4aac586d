/** Which jobs of a tree do the work. Ids are compared as they are: `_`, `%` and case mean nothing special. */
import type { JobNode } from "./usage-rows.ts";

export interface JobTree {
  readonly root: string;
  /** All jobs at or below the root, the root's record itself not necessarily among them. */
  readonly jobs: readonly JobNode[];
  /** Ids of the jobs without children, in order of id. */
  readonly leaves: readonly string[];
  /** Ids of jobs with children. */
  readonly inner: readonly string[];
  /** Ids of jobs that only hold machines: they are no leaves, and make no parent an inner job. */
  readonly holders: readonly string[];
  /** Leaves whose chain of parent links does not reach the root, since a record in between is gone: a walk along links loses them. */
  readonly cutOff: readonly string[];
}

/** `/u/a/b` → `/u/a`; null for a root. */
export function parentOf(jobId: string): string | null {
  const at = jobId.lastIndexOf("/");
  return at > 0 && jobId.indexOf("/", 1) < at ? jobId.slice(0, at) : null;
}

/** `/u/a/7` → `/u/a`: the job of a task. Only the last part goes, so that a child called `7` stays a job. */
export function jobOfTask(taskId: string): string {
  return taskId.slice(0, Math.max(0, taskId.lastIndexOf("/")));
}

export function isAtOrBelow(id: string, root: string): boolean {
  return id === root || id.startsWith(`${root}/`);
}

/**
 * The tree below a root. Jobs outside of it are passed over. Whose child a job is, is read from its id: parent links are lost
 * with a parent's record.
 */
export function jobTree(root: string, all: readonly JobNode[]): JobTree {
  const jobs = all.filter(({ jobId }) => isAtOrBelow(jobId, root));
  const working = jobs.filter(({ isReservationHolder }) => !isReservationHolder);
  const parents = new Set(working.flatMap(({ jobId }) => ancestors(jobId, root)));
  const links = new Map(jobs.map(({ jobId, parentJobId }) => [jobId, parentJobId]));
  const leaves = working.map(({ jobId }) => jobId).filter((jobId) => !parents.has(jobId));
  return {
    root,
    jobs,
    leaves: leaves.sort(),
    inner: working.flatMap(({ jobId }) => (parents.has(jobId) ? [jobId] : [])).sort(),
    holders: jobs.flatMap(({ jobId, isReservationHolder }) => (isReservationHolder ? [jobId] : [])).sort(),
    cutOff: leaves.filter((jobId) => !isLinked(jobId, root, links)),
  };
}

function ancestors(jobId: string, root: string): string[] {
  const found: string[] = [];
  for (let id = jobId; id !== root; ) {
    const parent = parentOf(id);
    if (parent === null) break;
    found.push(parent);
    id = parent;
  }
  return found;
}

function isLinked(jobId: string, root: string, links: ReadonlyMap<string, string | null>): boolean {
  const seen = new Set<string>();
  for (let id: string | null = jobId; id !== null && !seen.has(id); id = links.get(id) ?? null) {
    if (id === root) return true;
    seen.add(id);
  }
  return false;
}
