import { type CgroupCpu, cgroupCpu, cgroupMemory } from "./cgroup.ts";
import { type Clock, realClock } from "./clock.ts";
import { findMembers, type Member, type MemberQuery } from "./members.ts";
import { TreeCounter } from "./tree-counter.ts";

export interface Usage {
  /** CPU time used so far by the attempt; never goes down. `cpuMs` = user + system. */
  readonly cpuMs: number;
  readonly cpuUserMs: number;
  readonly cpuSystemMs: number;
  /** Where the CPU time comes from: the group counts all and exactly, the tree what was seen (see `TreeCounter`). */
  readonly cpuFrom: "cgroup" | "tree";
  /** Now: the group's without its inactive file cache, else the resident sizes added up. */
  readonly memoryBytes: number;
  readonly memoryPeakBytes: number;
  /** The peak is that of the samples, not the kernel's: there may have been a higher one between them. */
  readonly peakIsLowerBound: boolean;
  /** Bytes read from and sent to storage, of the tree. 0 for what stays in memory or is another user's. */
  readonly readBytes: number;
  readonly writtenBytes: number;
  /** Living processes, without zombies. */
  readonly processes: number;
}

export interface MeterOptions {
  /** What makes the attempt; `roots` and `cgroup` count at each sample, `session` and `mark` at each thorough look. */
  readonly query: MemberQuery;
  /** A thorough look at the whole machine for members that left the tree; default every 30 s. */
  readonly thoroughEveryMs?: number;
  readonly clock?: Clock;
}

/**
 * What an attempt uses. Made right after the application was started; a group's CPU time counts from then on. Each sample
 * reads /proc synchronously: about 0.1 ms for each process of the tree.
 */
export class TreeMeter {
  readonly #options: MeterOptions;
  readonly #clock: Clock;
  readonly #counter = new TreeCounter();
  readonly #cgroupAtStart: CgroupCpu | null;
  #cgroupCpu: CgroupCpu | null = null;
  #sampledPeakBytes = 0;
  #kernelPeakBytes: number | null = null;
  #strays: readonly Member[] = [];
  #thoroughAtMs: number;

  constructor(options: MeterOptions) {
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    const { cgroup, roots } = options.query;
    this.#cgroupAtStart = cgroup === null ? null : cgroupCpu(cgroup);
    this.#thoroughAtMs = this.#clock.monotonicMs();
    // Whatever ends before the first sample must have been seen once.
    this.#counter.look(roots);
  }

  /** One row. `thorough`: look at the whole machine now, as at the end of an attempt. */
  sample(thorough = false): Usage {
    const { query, thoroughEveryMs = 30_000 } = this.#options;
    const nowMs = this.#clock.monotonicMs();
    if (thorough || nowMs - this.#thoroughAtMs >= thoroughEveryMs) {
      this.#thoroughAtMs = nowMs;
      this.#strays = findMembers(query, "thorough");
    }
    const tree = this.#counter.look([...query.roots, ...this.#strays]);
    const memory = query.cgroup === null ? null : cgroupMemory(query.cgroup);
    const memoryBytes = memory?.currentBytes ?? tree.residentBytes;
    this.#sampledPeakBytes = Math.max(this.#sampledPeakBytes, memoryBytes);
    this.#kernelPeakBytes = Math.max(this.#kernelPeakBytes ?? 0, memory?.peakBytes ?? 0) || null;
    const cpu = this.#readCgroupCpu() ?? tree;
    return {
      cpuMs: Math.round(cpu.userMs + cpu.systemMs),
      cpuUserMs: Math.round(cpu.userMs),
      cpuSystemMs: Math.round(cpu.systemMs),
      cpuFrom: cpu === tree ? "tree" : "cgroup",
      memoryBytes,
      memoryPeakBytes: this.#kernelPeakBytes ?? this.#sampledPeakBytes,
      peakIsLowerBound: this.#kernelPeakBytes === null,
      readBytes: tree.readBytes,
      writtenBytes: tree.writtenBytes,
      processes: tree.processes,
    };
  }

  /** Since the meter was made; the last answer stands once the group is gone. */
  #readCgroupCpu(): CgroupCpu | null {
    const start = this.#cgroupAtStart;
    const now = start === null || this.#options.query.cgroup === null ? null : cgroupCpu(this.#options.query.cgroup);
    if (start !== null && now !== null) {
      const before = this.#cgroupCpu;
      this.#cgroupCpu = {
        userMs: Math.max(before?.userMs ?? 0, now.userMs - start.userMs),
        systemMs: Math.max(before?.systemMs ?? 0, now.systemMs - start.systemMs),
      };
    }
    return this.#cgroupCpu;
  }
}
