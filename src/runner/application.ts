/** A started application with all of its processes: signals, the look for who is left, the sweep, what it used. */
import {
  clockTicksPerSecond,
  findMembers,
  type Application as HostApplication,
  type Member,
  type MemberQuery,
  readChildren,
  readStat,
  signalMembers,
  sinceStartMs,
  sweep,
  TreeMeter,
  termAll,
} from "../host/index.ts";
import type { Application, ApplicationExit, Usage } from "./ports.ts";
import { Sampler } from "./sampler.ts";

type Started = Extract<HostApplication, { kind: "started" }>;

export interface ApplicationOptions {
  /** How members are recognised beside the first process and its session. */
  readonly query: Omit<MemberQuery, "roots" | "session">;
  /** Commands that this process starts for itself live in the attempt's control group and are no members. */
  readonly ownCommandsApart: boolean;
  readonly termTo: "all" | "main";
  /** Sends TERM to the tasks of all steps of the job; "no-step": there is none. Null: the scheduler has no steps. */
  readonly warn: (() => Promise<"sent" | "no-step">) | null;
  /** The application as a whole is a step; else it may start some by itself. */
  readonly isStep: boolean;
  readonly sampleEveryMs: number;
  /** Kills for want of memory in the attempt's control group, so far; null: nobody counts them. */
  readonly oomKills: () => number | null;
  readonly log: (line: string) => void;
  /** Nothing of the application is left, or nothing that can be ended. */
  readonly onSwept: () => void;
}

export class RunningApplication implements Application {
  readonly exit: Promise<ApplicationExit>;
  readonly #started: Started;
  readonly #options: ApplicationOptions;
  readonly #query: MemberQuery;
  readonly #sampler: Sampler;
  #mainEnded = false;
  /** On this boot's clock of process starts. */
  #mainEndedTicks: number | null = null;
  /** What the last look said. */
  #someLeft = true;

  constructor(started: Started, options: ApplicationOptions) {
    this.#started = started;
    this.#options = options;
    const query: MemberQuery = {
      ...options.query,
      roots: [started.ref],
      session: started.ref.pid,
      // Read anew at each look.
      get excludeTrees() {
        return options.ownCommandsApart ? ownCommands(started.ref.pid) : [];
      },
    };
    // Orphans of the application are this process's children, since it is their subreaper; it is no member itself.
    this.#query = {
      ...query,
      roots: [started.ref, process.pid],
      sinceTicks: started.ref.startTicks,
      get excludeTrees() {
        return query.excludeTrees ?? [];
      },
    };
    this.#sampler = new Sampler(new TreeMeter({ query }), started.startedMonotonicMs, options.sampleEveryMs);
    this.exit = started.exit.then(({ code, signal }) => {
      this.#mainEnded = true;
      const ranMs = sinceStartMs(started.ref);
      this.#mainEndedTicks =
        ranMs === null ? null : started.ref.startTicks + Math.floor((ranMs / 1000) * clockTicksPerSecond());
      return { exitCode: code, signal };
    });
  }

  term(): void {
    const { warn, isStep, termTo } = this.#options;
    const mainOnly = termTo === "main" && !this.#mainEnded;
    if (warn === null || (mainOnly && !isStep)) {
      this.#signal(mainOnly);
      return;
    }
    const members = isStep ? [] : this.#find();
    if (!isStep && !members.some(isStepLauncher)) {
      this.#signal(false);
      return;
    }
    // srun answers a TERM of its own, and one that timeout hands on, by killing the step: the scheduler must bring it.
    signalMembers(besideSteps(members), "SIGTERM");
    const failed = (why: string): void => {
      this.#options.log(`TERM through the scheduler: ${why}`);
      this.#signal(false);
    };
    warn().then(
      (answer) => {
        if (answer === "no-step") failed("there is no step");
      },
      (error: unknown) => failed(error instanceof Error ? error.message : String(error)),
    );
  }

  /** As `term`, where the scheduler itself has told the steps. */
  termBesideSteps(): void {
    const members = this.#find();
    if (members.some(isStepLauncher)) signalMembers(besideSteps(members), "SIGTERM");
    else this.term();
  }

  #signal(mainOnly: boolean): void {
    const { ref } = this.#started;
    if (mainOnly) signalMembers([ref], "SIGTERM");
    else termAll(this.#find(), ref);
  }

  freeze(): void {
    signalMembers(this.#find(), "SIGSTOP");
  }

  thaw(): void {
    signalMembers(this.#find(), "SIGCONT");
  }

  anyLeft(): boolean {
    this.#someLeft = this.#find().length > 0;
    return this.#someLeft;
  }

  async sweep(): Promise<readonly number[]> {
    // What is about to be killed is counted before.
    if (this.#someLeft) this.#sampler.sample(true);
    const left = await sweep({ find: () => this.#find(), graceMs: 0 });
    this.#sampler.end();
    this.#options.onSwept();
    return left.map(({ pid }) => pid);
  }

  takeSamples(): string {
    return this.#sampler.take();
  }

  usage(): Usage {
    const { cpuUserMs, cpuSystemMs, memoryPeakBytes, peakIsLowerBound } = this.#sampler.last;
    // Nothing seen is not nothing used: it was over before the first look.
    const peak = memoryPeakBytes > 0 ? memoryPeakBytes : null;
    const oomKills = this.#options.oomKills();
    return { cpuUserMs, cpuSystemMs, memoryPeakBytes: peak, memoryPeakIsLowerBound: peakIsLowerBound, oomKills };
  }

  #find(): readonly Member[] {
    return findMembers({ ...this.#query, sessionLedUntilTicks: this.#mainEndedTicks });
  }
}

/** What the runner runs for itself: no member, though a child. Whoever else is one is an orphan that it has adopted. */
const OWN_COMMANDS: ReadonlySet<string> = new Set(["sbatch", "squeue", "sacct", "scancel", "scontrol", "sinfo"]);

function ownCommands(application: number): readonly number[] {
  const self = readStat(process.pid);
  const children = self === null ? null : readChildren(self);
  return (children ?? []).filter((pid) => pid !== application && OWN_COMMANDS.has(readStat(pid)?.comm ?? ""));
}

function isStepLauncher({ pid }: Member): boolean {
  return readStat(pid)?.comm === "srun";
}

/** Without srun, without `timeout`, which hands on what it gets, and without the tasks of steps, which are told by the scheduler. */
function besideSteps(members: readonly Member[]): readonly Member[] {
  return members.filter(({ pid }) => {
    const comm = readStat(pid)?.comm;
    return comm !== "srun" && comm !== "timeout" && !isTaskOfStep(pid);
  });
}

/** Between it and this process, or the first one, there is a slurmstepd. */
function isTaskOfStep(pid: number): boolean {
  for (
    let stat = readStat(pid);
    stat !== null && stat.pid > 1 && stat.pid !== process.pid;
    stat = readStat(stat.parent)
  )
    if (stat.comm === "slurmstepd") return true;
  return false;
}
