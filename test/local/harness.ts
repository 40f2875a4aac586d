/** A project with one job on the local scheduler, in a folder of its own, run by a bundle built for the tests. */
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, afterEach } from "vitest";
import { advance, openWorld, type World } from "../../src/chain/index.ts";
import type { AttemptRecords, JobSpec, Outcome, ProcessRef, Settled } from "../../src/core/index.ts";
import { blockingFolder, findMembers, readCommandLine, signalMembers } from "../../src/host/index.ts";
import {
  attemptNumbers,
  attemptPlace,
  createHome,
  createSpec,
  createStop,
  type JobPlace,
  jobPlace,
  readAttempt,
  readTask,
  type TaskPlace,
  taskPlace,
} from "../../src/journal/index.ts";
import { type LocalRecord, parseLocalRef, readLocalRecord } from "../../src/schedulers/index.ts";
import { jobSpec } from "../support/job-spec.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** A quick counter: every wait is short. */
export const SPEC: JobSpec = jobSpec({
  name: "count",
  command: { kind: "argv", argv: ["bash", "app.sh"] },
  checkpoint: { path: "state.txt", progress: { kind: "number" } },
  marginMs: 1_000,
  backoffFirstMs: 50,
  backoffMaxMs: 500,
  sampleIntervalMs: 200,
  killWaitMs: 1_500,
  timing: {
    proofWaitMs: 20_000,
    doubtfulTwiceMs: 1_000,
    nodesBackMs: 1_000,
    heartbeatSilentMs: 5_000,
    fenceMs: 60_000,
    unclearMs: 5_000,
    pollMs: 300,
  },
});

/**
 * Steps of 50 ms to TOTAL. Each writes a line into a log of its own with attempt, pid and the time before and after the step; the
 * checkpoint is the number of the last step. TERM: save and leave with 99.
 */
export const COUNTER = `
n=0; [ -e state.txt ] && read -r n <state.txt
trap 'stop=1' TERM
say() { printf '%s %s %s %s %s\\n' "$STINT_ATTEMPT" "$$" "$1" "$2" "$n" >>log.txt; }
while (( n < \${MAX_ITER:-1000} )); do
  a=$EPOCHREALTIME
  sleep "\${STEP:-0.05}" & wait $! || [ -n "$stop" ] || wait
  n=$((n + 1))
  say "$a" "$EPOCHREALTIME"
  # TERM to the whole group may end the mv: then once more.
  until echo "$n" >state.tmp && mv state.tmp state.txt; do :; done
  if [ -n "$stop" ]; then wait; exit 99; fi
done
exit 0
`;

let bundle: Promise<string> | null = null;

/** The runner as one file, built once for each file of tests. */
export function runnerBundle(): Promise<string> {
  bundle ??= (async () => {
    const path = join(mkdtempSync(join(tmpdir(), "stint-runner-")), "runner.mjs");
    await build({
      absWorkingDir: ROOT,
      entryPoints: ["src/runner/main.ts"],
      outfile: path,
      bundle: true,
      platform: "node",
      target: "node20",
      format: "esm",
      define: { __STINT_VERSION__: '"0.0.0-test"' },
      alias: { yaml: "./node_modules/yaml/browser/index.js" },
      logLevel: "error",
    });
    return path;
  })();
  return bundle;
}

afterAll(async () => {
  if (bundle !== null) rmSync(dirname(await bundle), { recursive: true, force: true });
});

const cleanups: (() => void | Promise<void>)[] = [];

const projects: Project[] = [];

afterEach(async ({ task }) => {
  const made = projects.splice(0);
  if (task.result?.state === "fail") for (const project of made) console.log(project.story());
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

export class Project {
  readonly folder: string;
  readonly job: JobPlace;
  readonly task: TaskPlace;
  readonly spec: JobSpec;
  readonly uuid: string;
  readonly files = blockingFolder();

  private constructor(folder: string, spec: JobSpec, uuid: string) {
    this.folder = folder;
    this.spec = spec;
    this.uuid = uuid;
    this.job = jobPlace(join(folder, ".stint"), `/tester/${spec.name}`);
    this.task = taskPlace(this.job, 0);
  }

  /** Makes all that a submit makes. `script`: the text of app.sh. */
  static async make(script: string, changes: Partial<JobSpec> = {}): Promise<Project> {
    const folder = mkdtempSync(join(tmpdir(), "stint-local-"));
    const spec: JobSpec = { ...SPEC, cwd: folder, ...changes };
    const project = new Project(folder, spec, randomUUID());
    cleanups.push(() => project.remove());
    projects.push(project);
    writeFileSync(join(folder, "app.sh"), script);
    chmodSync(join(folder, "app.sh"), 0o755);
    const { files, job, task, uuid } = project;
    const runtime = join(job.stintFolder, "runtime", spec.runtime);
    mkdirSync(runtime, { recursive: true });
    copyFileSync(await runnerBundle(), join(runtime, "runner.mjs"));
    await createHome(files, job, uuid, Date.now());
    await createSpec(files, job, 1, {
      version: 1,
      nonce: randomUUID(),
      atMs: Date.now(),
      by: "tester",
      spec,
      origins: {},
    });
    const env = { PATH: process.env.PATH ?? "", HOME: folder, LANG: "C" };
    writeFileSync(join(job.folder, "env.json"), JSON.stringify({ version: 1, env }));
    await files.makeFolder(task.folder);
    writeFileSync(join(task.folder, "reserve"), "x".repeat(64 * 1024));
    return project;
  }

  world(): Promise<World> {
    return openWorld(this.job, this.spec, { folder: this.files });
  }

  async advance(): Promise<Outcome> {
    return advance(await this.world(), this.task);
  }

  async stop(kind: "drain" | "cancel" | "resume"): Promise<void> {
    await createStop(this.files, this.job, {
      version: 1,
      nonce: randomUUID(),
      atMs: Date.now(),
      kind,
      by: "tester",
    });
  }

  /** Drives the chain as an attached command would, until it is over or held. */
  async driveToEnd(withinMs = 60_000): Promise<Outcome> {
    const world = await this.world();
    return eventually(
      "the end of the chain",
      async () => {
        const outcome = await advance(world, this.task);
        return outcome.kind === "over" || outcome.kind === "held" ? outcome : null;
      },
      withinMs,
    );
  }

  /**
   * Waits for the end without ever moving the chain: only its own processes do. The settlement that says how the work went: one that
   * was queued above it and not needed only repeats its decision.
   */
  async watchToEnd(withinMs = 60_000): Promise<Settled> {
    return eventually(
      "the end of the chain by itself",
      async () => {
        const { settled, open } = await readTask(this.files, this.task);
        if (settled === null || open.length > 0) return null;
        const { kind } = settled.record.decision;
        if (kind === "continue" || kind === "retry") return null;
        const ran = (await this.attempts()).findLast(
          (one) => one.settled !== null && one.settled.verdict !== "never-ran",
        );
        const told = ran?.settled ?? settled.record;
        return told.decision.kind === kind ? told : settled.record;
      },
      withinMs,
    );
  }

  /** The decision that ended the chain; null: it goes on. */
  async ending(): Promise<Settled["decision"] | null> {
    const { settled } = await readTask(this.files, this.task);
    const decision = settled?.record.decision ?? null;
    return decision === null || decision.kind === "continue" || decision.kind === "retry" ? null : decision;
  }

  async attempts(): Promise<AttemptRecords[]> {
    const numbers = await attemptNumbers(this.files, this.task);
    return Promise.all(numbers.map((number) => readAttempt(this.files, attemptPlace(this.task, number))));
  }

  attemptFolder(number: number): string {
    return attemptPlace(this.task, number).folder;
  }

  async localRecord(number: number): Promise<LocalRecord | null> {
    return readLocalRecord(this.files, this.attemptFolder(number));
  }

  /** Waits until the attempt's application has gone `steps` steps. */
  async untilSteps(steps: number): Promise<void> {
    await eventually(`${steps} steps`, () => this.steps().length >= steps);
  }

  async runnerOf(number: number): Promise<ProcessRef> {
    return eventually(`the runner of attempt ${number}`, async () => {
      const { started } = await readAttempt(this.files, attemptPlace(this.task, number));
      return started?.body ?? null;
    });
  }

  async shepherdOf(number: number): Promise<ProcessRef> {
    return eventually(`the shepherd of attempt ${number}`, async () => {
      const { submitted, claim } = await readAttempt(this.files, attemptPlace(this.task, number));
      const local = submitted === null ? null : parseLocalRef(submitted.ref);
      return local === null || claim === null ? null : { ...claim.by, ...local };
    });
  }

  /** Steps as the application logged them. */
  steps(): Step[] {
    if (!existsSync(join(this.folder, "log.txt"))) return [];
    return readFileSync(join(this.folder, "log.txt"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => {
        const [attempt, pid, from, to, step] = line.split(" ").map(Number);
        return { attempt: attempt ?? 0, pid: pid ?? 0, from: from ?? 0, to: to ?? 0, step: step ?? 0 };
      });
  }

  /** What our own processes have said, for a test that failed. */
  story(): string {
    const lines: string[] = [];
    for (let number = 1; existsSync(this.attemptFolder(number)); number++) {
      lines.push(`attempt ${number}: ${readdirSync(this.attemptFolder(number)).join(" ")}`);
      for (const name of ["runner.log", "scheduler.log", "stderr.log"]) {
        const path = join(this.attemptFolder(number), name);
        if (existsSync(path)) lines.push(...readFileSync(path, "utf8").trimEnd().split("\n"));
      }
    }
    return lines.join("\n");
  }

  /** Processes of any attempt of this job. */
  processes(): readonly number[] {
    const found: number[] = [];
    for (let number = 1; number <= 40; number++)
      found.push(
        ...findMembers({
          roots: [],
          session: null,
          mark: { name: "STINT_MARK", value: `${this.uuid}/0/${number}` },
          cgroup: null,
          exclude: [],
        }).map(({ pid }) => pid),
      );
    return found;
  }

  /** Ends what a failed test has left, by its marks, then removes the folder. */
  private async remove(): Promise<void> {
    if (process.env.KEEP !== undefined) console.log(this.folder);
    await this.stop("cancel");
    for (let round = 0; round < 100 && this.processes().length > 0; round++) {
      for (const pid of this.processes()) kill(pid, "SIGKILL");
      await pause(20);
    }
    if (process.env.KEEP === undefined) rmSync(this.folder, { recursive: true, force: true });
  }
}

export interface Step {
  readonly attempt: number;
  readonly pid: number;
  /** Epoch seconds. */
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

/** SIGKILL and the like to exactly that process. */
export function signal(ref: ProcessRef, name: NodeJS.Signals): void {
  const { sent } = signalMembers([ref], name);
  if (sent.length === 0) throw new Error(`process ${ref.pid} (${readCommandLine(ref.pid)?.join(" ")}) is not there`);
}

function kill(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone by itself.
  }
}

/** Asks again every 20 ms until the answer is neither null nor false. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | null | false> | T | null | false,
  withinMs = 20_000,
): Promise<T> {
  const endAtMs = Date.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== null && answer !== false) return answer;
    if (Date.now() > endAtMs) throw new Error(`waited in vain for: ${what}`);
    await pause(20);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
