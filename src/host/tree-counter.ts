import type { ProcessRef } from "../core/index.ts";
import { clockTicksPerSecond, hasEnded, type ProcessStat, readIo, readStat } from "./proc.ts";
import { walkTree } from "./tree.ts";

export interface TreeTotals {
  readonly userMs: number;
  readonly systemMs: number;
  readonly readBytes: number;
  readonly writtenBytes: number;
  /** Resident memory of the living, summed up; pages that they share count in each. */
  readonly residentBytes: number;
  /** Living processes, without zombies. */
  readonly processes: number;
}

/**
 * Adds up what a tree of processes has used, over all that have come and gone, from looks at /proc. No total ever goes down.
 *
 * The kernel adds the time of a child that has been waited for to its parent's children times, with what that child had taken
 * over itself. So of each process seen alive (or as zombie) count `own + children`:
 *
 *     used = Σ over processes there now (own + children) + kept
 *
 * A child that is waited for between two looks leaves the first sum and enters its parent's `children`: counted once, and in
 * full, however short it lived. What nobody took over must be kept: the child of a parent that ignores SIGCHLD, an orphan that
 * went to init, a root. For each process A that was there at both looks, let L be the last seen `own + children` of those
 * that went and whose nearest ancestor still there is A, and G the growth of A's `children`. L was taken over as far as G
 * reaches; `kept` grows by max(0, L − G). Without such an ancestor it grows by L. Both err downwards only: by what a
 * process used after its last look when nobody took it over, and by unseen children that G also holds.
 *
 * Children of this very process (the application, which the runner waits for) end with their final figure: `kept` grows
 * by max(L, G) with G of this process. G then also holds other commands that this process waited for in the same interval.
 *
 * Bytes go the same way (the kernel hands them on alike), with the growth of A's whole counter as G.
 */
export class TreeCounter {
  #known: ReadonlyMap<number, Seen> = new Map();
  #kept: Vector = [0, 0, 0, 0];
  #used: Vector = [0, 0, 0, 0];
  #reaper: Seen | null = null;

  /** Looks at the roots, at all below them, and at all that were seen before and live on. */
  look(roots: readonly (Pick<ProcessRef, "pid" | "startTicks"> | number)[]): TreeTotals {
    const now = this.#walk(roots);
    const own = readStat(process.pid);
    const reaper = own === null ? null : seenNow(own);
    this.#keepWhatWent(now, reaper);
    this.#known = now;
    this.#reaper = reaper;
    const sum: Vector = [...this.#kept];
    let residentBytes = 0;
    let processes = 0;
    for (const seen of now.values()) {
      addTo(sum, seen.total);
      residentBytes += seen.residentBytes;
      if (seen.living) processes++;
    }
    this.#used = this.#used.map((value, at) => Math.max(value, sum[at] ?? 0)) as Vector;
    const [userTicks, systemTicks, readBytes, writtenBytes] = this.#used;
    const tickMs = 1000 / clockTicksPerSecond();
    return {
      userMs: userTicks * tickMs,
      systemMs: systemTicks * tickMs,
      readBytes,
      writtenBytes,
      residentBytes,
      processes,
    };
  }

  #walk(roots: readonly (Pick<ProcessRef, "pid" | "startTicks"> | number)[]): ReadonlyMap<number, Seen> {
    const now = new Map<number, Seen>();
    const wanted = new Map<number, number | null>();
    for (const [pid, seen] of this.#known) wanted.set(pid, seen.startTicks);
    for (const root of roots) {
      if (typeof root === "number") wanted.set(root, null);
      else wanted.set(root.pid, root.startTicks);
    }
    walkTree(wanted.keys(), (stat) => {
      const startTicks = wanted.get(stat.pid) ?? null;
      // The pid is a later process's. If that one belongs to the tree, the next look finds it below its parent.
      if (startTicks !== null && startTicks !== stat.startTicks) return false;
      if (stat.pid === process.pid) return true;
      const before = this.#known.get(stat.pid);
      now.set(stat.pid, seenNow(stat, before?.startTicks === stat.startTicks ? before : null));
      return true;
    });
    return now;
  }

  #keepWhatWent(now: ReadonlyMap<number, Seen>, reaper: Seen | null): void {
    const lost = new Map<number, Vector>();
    for (const [pid, seen] of this.#known) {
      if (isThere(now, pid, seen)) continue;
      const heir = this.#heirOf(seen, now);
      const sum = lost.get(heir) ?? [0, 0, 0, 0];
      addTo(sum, seen.total);
      lost.set(heir, sum);
    }
    for (const [heir, sum] of lost) {
      if (heir === process.pid) {
        const growth = minus(reaper?.handedOn, this.#reaper?.handedOn);
        // Our own bytes grow for other reasons than theirs: only times are taken from our counter.
        addTo(this.#kept, [Math.max(sum[0], growth[0]), Math.max(sum[1], growth[1]), sum[2], sum[3]]);
      } else {
        const growth = minus(now.get(heir)?.handedOn, this.#known.get(heir)?.handedOn);
        addTo(this.#kept, sum.map((value, at) => Math.max(0, value - (growth[at] ?? 0))) as Vector);
      }
    }
  }

  /** The nearest ancestor, as last seen, that is still there; this process where it is the parent; 0: none. */
  #heirOf(gone: Seen, now: ReadonlyMap<number, Seen>): number {
    for (let parent = gone.parent, steps = 0; steps < 10_000; steps++) {
      if (parent === process.pid) return parent;
      const known = this.#known.get(parent);
      if (known === undefined) return 0;
      if (isThere(now, parent, known)) return parent;
      parent = known.parent;
    }
    return 0;
  }
}

/** User ticks, system ticks, bytes read, bytes written. */
type Vector = [number, number, number, number];

interface Seen {
  readonly startTicks: number;
  readonly parent: number;
  /** Own and of children waited for. */
  readonly total: Vector;
  /** The part that grows when a child is waited for. */
  readonly handedOn: Vector;
  readonly residentBytes: number;
  readonly living: boolean;
}

function seenNow(stat: ProcessStat, before: Seen | null = null): Seen {
  const io = readIo(stat.pid);
  // Where it may not be read any more (the process changed its user), what was last seen stands.
  const readBytes = io?.readBytes ?? before?.total[2] ?? 0;
  const writtenBytes = io?.writtenBytes ?? before?.total[3] ?? 0;
  return {
    startTicks: stat.startTicks,
    parent: stat.parent,
    total: [stat.userTicks + stat.childUserTicks, stat.systemTicks + stat.childSystemTicks, readBytes, writtenBytes],
    handedOn: [stat.childUserTicks, stat.childSystemTicks, readBytes, writtenBytes],
    residentBytes: stat.residentBytes,
    living: !hasEnded(stat),
  };
}

function isThere(now: ReadonlyMap<number, Seen>, pid: number, before: Seen): boolean {
  return now.get(pid)?.startTicks === before.startTicks;
}

function addTo(sum: Vector, more: Vector): void {
  for (const at of [0, 1, 2, 3] as const) sum[at] += more[at];
}

function minus(one: Vector | undefined, other: Vector | undefined): Vector {
  if (one === undefined || other === undefined) return [0, 0, 0, 0];
  return [one[0] - other[0], one[1] - other[1], one[2] - other[2], one[3] - other[3]];
}
