import type { ProcessRef } from "../core/index.ts";
import { pidsInCgroup } from "./cgroup.ts";
import { hasEnded, type ProcessStat, readEnvironment, readStat, showsEnvironment } from "./proc.ts";
import { childrenByParent, readAllStats, walkTree } from "./tree.ts";

/** What an attempt's processes have in common. */
export interface MemberQuery {
  /** Members themselves, with all below them. A ref whose pid has been taken by a later process is passed over. */
  readonly roots: readonly (ProcessRef | number)[];
  /** The session that the application was started in (its first process's pid; that process should be among the roots). */
  readonly session: number | null;
  /** When the session's leader was surely still there, the latest known, in clock ticks from boot: who is in the session and began before is ours. */
  readonly sessionLedUntilTicks?: number | null;
  /** The variable that every process of the attempt has inherited, e.g. `STINT_MARK`. Its value is the attempt's alone. */
  readonly mark: {
    readonly name: string;
    readonly value: string;
    /**
     * The mark is worth nothing in a process where `now` has another value than `origin` tells of the attempt: a job that the
     * attempt has submitted inherits the mark and gets an id of its own. Where `origin` is missing the mark stands alone.
     */
    readonly anchor?: { readonly now: string; readonly origin: string };
  } | null;
  /** Variables that must stand beside the mark, e.g. SLURM_JOB_ID: a job submitted from inside inherits the mark too. */
  readonly alsoEnv?: Readonly<Record<string, string>>;
  /** Who began before (clock ticks from boot) is neither a member of the session nor marked: whoever knows spares a look at each. */
  readonly sinceTicks?: number;
  /** The attempt's control group, a path as in /proc/PID/cgroup. */
  readonly cgroup: string | null;
  /** Never members; what is below them may be. */
  readonly exclude: readonly number[];
  /** Never members, with all below them, e.g. a command that the runner started for itself. */
  readonly excludeTrees?: readonly number[];
}

export interface Member {
  readonly pid: number;
  readonly startTicks: number;
  readonly state: string;
  readonly processGroup: number;
  /** By what it was recognised; where several hold, the first in this order. */
  readonly how: "root" | "cgroup" | "session" | "mark" | "descendant";
}

/**
 * The living processes of an attempt: those of its control group, the roots, the members of the session, those with the mark
 * in their environment, and all descendants of any of these.
 *
 * - `thorough` looks at every process of the machine; `tree` only below the roots and in the control group, for
 *   moments when milliseconds count.
 * - A process that carries the mark's name with another value, or other values beside it, belongs to another attempt and is
 *   no member, nor is anything below it, however it was reached (roots are taken at their word).
 * - The session counts while its leader lives. Afterwards its number may be given away, though not as long as anybody is in
 *   it: so all of it counts if one living process of it is ours by another sign (control group, mark, descent, a start
 *   before the leader's end), and else nobody: a later session of that number is a stranger's. See doubtsAbout.
 * - Zombies are no members: they hold nothing. Neither are pid 1, this process, and those excluded.
 * - Each look is one pass: a process that forks while it runs may be missed, so look until two answers are empty.
 */
export function findMembers(query: MemberQuery, form: "tree" | "thorough" = "thorough"): readonly Member[] {
  const roots = query.roots.map(pidOfRoot).filter((pid) => pid !== null);
  const inCgroup = query.cgroup === null ? [] : pidsInCgroup(query.cgroup);
  const search = new Search(query, roots, inCgroup);
  const starts = new Set([...roots, ...inCgroup]);
  if (form === "tree") {
    walkTree(starts, (stat) => search.descend(stat));
  } else {
    const all = readAllStats();
    const childrenOf = childrenByParent(all);
    search.judgeSession(all.values());
    for (const stat of all.values()) if (search.recognise(stat)) starts.add(stat.pid);
    // A Set hands out what is added while it is walked.
    for (const pid of starts) {
      const stat = all.get(pid) ?? readStat(pid);
      if (stat === null || !search.descend(stat)) continue;
      for (const child of childrenOf(stat)) starts.add(child);
      if (search.provesSession(stat))
        for (const other of all.values()) if (search.recognise(other)) starts.add(other.pid);
    }
  }
  return [...search.found.values()];
}

/**
 * Living processes in a session of the attempt's number that nothing shows to be ours, after its leader's end: left by the
 * application with another environment, or a stranger's. They are no members, and whoever wants to say that nothing is left cannot.
 */
export function doubtsAbout(query: MemberQuery): readonly number[] {
  if (query.session === null) return [];
  const members = new Set(findMembers(query).map(({ pid }) => pid));
  const search = new Search(query, [], []);
  return [...readAllStats().values()]
    .filter((stat) => search.isDoubtful(stat) && !members.has(stat.pid))
    .map(({ pid }) => pid);
}

function pidOfRoot(root: ProcessRef | number): number | null {
  if (typeof root === "number") return root;
  return readStat(root.pid)?.startTicks === root.startTicks ? root.pid : null;
}

type Belonging = "ours" | "foreign" | "unmarked";

/** An exec is over long before this many looks with a short sleep between: who shows nothing in any of them has nothing. */
const EMPTY_LOOKS = 12;
const NAP_MS = 1;
const NAP = new Int32Array(new SharedArrayBuffer(4));

class Search {
  readonly found = new Map<number, Member>();
  readonly #query: MemberQuery;
  readonly #roots: ReadonlySet<number>;
  readonly #cgroup: ReadonlySet<number>;
  readonly #excluded: ReadonlySet<number>;
  readonly #excludedTrees: ReadonlySet<number>;
  /** The session's number, as long as its processes are ours. */
  #session: number | null = null;
  /** The number, while nothing shows yet whose session it is. */
  #unprovedSession: number | null = null;
  /** No member of the session is older than this. */
  readonly #sessionStartTicks: number;
  readonly #belongings = new Map<number, Belonging>();

  constructor(query: MemberQuery, roots: readonly number[], inCgroup: readonly number[]) {
    this.#query = query;
    this.#roots = new Set(roots);
    this.#cgroup = new Set(inCgroup);
    this.#excluded = new Set([1, process.pid, ...query.exclude]);
    const excludedTrees = new Set<number>();
    if ((query.excludeTrees ?? []).length > 0) {
      walkTree(query.excludeTrees ?? [], (stat) => {
        excludedTrees.add(stat.pid);
        return true;
      });
    }
    this.#excludedTrees = excludedTrees;
    const leader = query.roots.find((root) => typeof root !== "number" && root.pid === query.session);
    this.#sessionStartTicks = typeof leader === "object" ? leader.startTicks : 0;
    const holder = query.session === null ? null : readStat(query.session);
    if (holder === null) this.#unprovedSession = query.session;
    else if (typeof leader === "object" && holder.startTicks === leader.startTicks) this.#session = query.session;
    // Else the number is a later process's: that could not be while anybody was left in our session.
  }

  /** Looks for a sign that a session without its leader is still ours. */
  judgeSession(all: Iterable<ProcessStat>): void {
    const until = this.#query.sessionLedUntilTicks ?? -1;
    for (const stat of all) {
      if (!this.#inUnprovedSession(stat)) continue;
      if (this.#cgroup.has(stat.pid) || stat.startTicks <= until || this.#belonging(stat) === "ours") {
        this.#proveSession();
        return;
      }
    }
  }

  /** True when this member shows that the session is ours, which was not known before. */
  provesSession(member: ProcessStat): boolean {
    if (!this.found.has(member.pid) || !this.#inUnprovedSession(member)) return false;
    this.#proveSession();
    return true;
  }

  isDoubtful(stat: ProcessStat): boolean {
    return this.#inUnprovedSession(stat) && !this.#excluded.has(stat.pid) && this.#belonging(stat) === "unmarked";
  }

  #proveSession(): void {
    this.#session = this.#unprovedSession;
    this.#unprovedSession = null;
  }

  #inUnprovedSession(stat: ProcessStat): boolean {
    if (this.#unprovedSession === null || stat.session !== this.#unprovedSession || hasEnded(stat)) return false;
    return stat.startTicks >= this.#sessionStartTicks;
  }

  /** Session or mark: what makes a process a member wherever it stands. */
  recognise(stat: ProcessStat): boolean {
    if (hasEnded(stat) || stat.startTicks < (this.#query.sinceTicks ?? 0)) return false;
    if (this.#cgroup.has(stat.pid) || this.#roots.has(stat.pid)) return false;
    return this.#inSession(stat) || this.#belonging(stat) === "ours";
  }

  /** Notes a process that was reached from a root, the group, or another member; answers whether to look below it. */
  descend(stat: ProcessStat): boolean {
    const isRoot = this.#roots.has(stat.pid);
    if (this.#excludedTrees.has(stat.pid)) return false;
    if (!isRoot && !this.#excluded.has(stat.pid) && this.#certainBelonging(stat) === "foreign") return false;
    if (!hasEnded(stat) && !this.#excluded.has(stat.pid)) {
      const { pid, startTicks, state, processGroup } = stat;
      this.found.set(pid, { pid, startTicks, state, processGroup, how: this.#how(stat) });
    }
    return true;
  }

  /**
   * In the middle of an exec a process shows no environment for a moment, and would pass for unmarked: by descent alone it
   * is taken only when it shows one without the mark, or shows none again and again (`env -i`).
   */
  #certainBelonging(stat: ProcessStat): Belonging {
    const first = this.#belonging(stat);
    if (first !== "unmarked" || stat.virtualBytes === 0 || this.#query.mark === null) return first;
    let belonging: Belonging = first;
    for (let looks = 0; looks < EMPTY_LOOKS; looks++) {
      // Shown before and after: what was read between is no gap of an exec, which takes longer than these reads.
      const before = showsEnvironment(stat.pid);
      belonging = this.#readBelonging(stat);
      if (belonging !== "unmarked" || (before && showsEnvironment(stat.pid))) break;
      Atomics.wait(NAP, 0, 0, NAP_MS);
    }
    this.#belongings.set(stat.pid, belonging);
    return belonging;
  }

  #how(stat: ProcessStat): Member["how"] {
    if (this.#roots.has(stat.pid)) return "root";
    if (this.#cgroup.has(stat.pid)) return "cgroup";
    if (this.#inSession(stat)) return "session";
    return this.#belongings.get(stat.pid) === "ours" ? "mark" : "descendant";
  }

  #inSession(stat: ProcessStat): boolean {
    return this.#session !== null && stat.session === this.#session && stat.startTicks >= this.#sessionStartTicks;
  }

  #belonging(stat: ProcessStat): Belonging {
    const known = this.#belongings.get(stat.pid);
    if (known !== undefined) return known;
    const belonging = this.#readBelonging(stat);
    this.#belongings.set(stat.pid, belonging);
    return belonging;
  }

  #readBelonging(stat: ProcessStat): Belonging {
    const { mark, alsoEnv } = this.#query;
    // No memory of its own: a kernel thread, which has no environment.
    if (mark === null || stat.virtualBytes === 0) return "unmarked";
    const read = readEnvironment(stat.pid);
    if (read === "unreadable") return "unmarked";
    const value = read(mark.name);
    if (value === null) return "unmarked";
    if (value !== mark.value) return "foreign";
    let complete = true;
    for (const [name, wanted] of Object.entries(alsoEnv ?? {})) {
      const beside = read(name);
      if (beside !== null && beside !== wanted) return "foreign";
      if (beside === null) complete = false;
    }
    if (!complete || mark.anchor === undefined) return complete ? "ours" : "unmarked";
    const origin = read(mark.anchor.origin);
    return origin === null || origin === (read(mark.anchor.now) ?? "") ? "ours" : "unmarked";
  }
}
