import { hasChildLists, type ProcessStat, readChildren, readPids, readStat } from "./proc.ts";

/**
 * Visits processes and all of their descendants, zombies too, each once and parents first. `visit` answers whether
 * to go on below it. A child that is born, or changes its parent, while the walk is under way may be missed.
 */
export function walkTree(starts: Iterable<number>, visit: (stat: ProcessStat) => boolean): void {
  const childrenOf = hasChildLists() ? readChildren : childrenByParent(readAllStats());
  const seen = new Set<number>(starts);
  // A Set hands out what is added while it is walked.
  for (const pid of seen) {
    const stat = readStat(pid);
    if (stat === null || !visit(stat)) continue;
    for (const child of childrenOf(stat) ?? []) seen.add(child);
  }
}

/** Every process that can be seen, in one pass over /proc. */
export function readAllStats(): ReadonlyMap<number, ProcessStat> {
  const all = new Map<number, ProcessStat>();
  for (const pid of readPids()) {
    const stat = readStat(pid);
    if (stat !== null) all.set(pid, stat);
  }
  return all;
}

/** The children of each process as one pass over /proc saw them. */
export function childrenByParent(all: ReadonlyMap<number, ProcessStat>): (stat: ProcessStat) => readonly number[] {
  const children = new Map<number, number[]>();
  for (const { pid, parent } of all.values()) {
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [pid]);
    else siblings.push(pid);
  }
  return (stat) => children.get(stat.pid) ?? [];
}
