/** A project with one job on the real Slurm, owned by the test's user and run by a bundle built for the tests. */
import { randomBytes, randomUUID } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { ChainStatus } from "../../src/chain/index.ts";
import type { Accounting, AttemptRecords, JobSpec, Outcome, Settled, Started, Stop } from "../../src/core/index.ts";
import { blockingFolder, findMembers, type Member } from "../../src/host/index.ts";
import {
  attemptNumbers,
  attemptPlace,
  type JobPlace,
  jobPlace,
  readAccounting,
  readAttempt,
  readTask,
  type TaskPlace,
  taskPlace,
} from "../../src/journal/index.ts";
import { runnerBundle, SPEC, type Step } from "../local/harness.ts";
import type { DriverRequest } from "./chain-driver.ts";
import { type Cluster, type Ended, until } from "./cluster.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CLI = join(ROOT, "dist/cli/main.js");

/** Windows of `WINDOW_MS`: Slurm's limits are whole minutes, so the margin is what is left of one. */
export const WINDOW_MS = 8_000;
export const TIMING: JobSpec["timing"] = {
  proofWaitMs: 90_000,
  doubtfulTwiceMs: 2_000,
  nodesBackMs: 6_000,
  heartbeatSilentMs: 6_000,
  fenceMs: 3_000,
  unclearMs: 10_000,
  pollMs: 1_000,
};
const ON_SLURM: Partial<JobSpec> = {
  scheduler: "slurm",
  limitMs: 60_000,
  marginMs: 60_000 - WINDOW_MS,
  ahead: 2,
  runtime: "test",
  timing: TIMING,
};

export interface ProjectOptions {
  readonly slurm: Cluster;
  /** Files of the project folder by name; executable. */
  readonly files: Readonly<Record<string, string>>;
  /** Given the project folder. */
  readonly spec?: (folder: string) => Partial<JobSpec>;
  /** Of the attempts, over the test user's own. Given the project folder. */
  readonly environment?: (folder: string) => Readonly<Record<string, string>>;
  /** Name of the project folder's last part. */
  readonly name?: string;
  /** Called with what must be done when the test is over. */
  readonly onFinished: (cleanup: () => Promise<void>) => void;
}

export class SlurmProject {
  readonly slurm: Cluster;
  readonly folder: string;
  readonly spec: JobSpec;
  readonly job: JobPlace;
  readonly task: TaskPlace;
  readonly uuid = randomUUID();
  readonly #files = blockingFolder();
  readonly #driver: string;
  /** What is removed in the end: the project folder, or the one around it. */
  readonly #top: string;

  private constructor(slurm: Cluster, top: string, folder: string, driver: string, changes: Partial<JobSpec>) {
    this.slurm = slurm;
    this.#top = top;
    this.folder = folder;
    this.#driver = driver;
    this.spec = { ...SPEC, ...ON_SLURM, name: `t-${randomBytes(4).toString("hex")}`, cwd: folder, ...changes };
    this.job = jobPlace(join(folder, ".stint"), `/${slurm.user.name}/${this.spec.name}`);
    this.task = taskPlace(this.job, 0);
  }

  static async make(options: ProjectOptions): Promise<SlurmProject> {
    const { slurm, files, spec = () => ({}), environment = () => ({}), name, onFinished } = options;
    // First what may fail: no folder is there yet that would be left behind.
    const [runnerFile, driverFile] = await Promise.all([runnerBundle(), driverBundle()]);
    const top = slurm.userFolder("chain");
    const folder = name === undefined ? top : join(top, name);
    if (name !== undefined) await slurm.runAsUser("mkdir", ["--", folder]);
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(folder, name), text);
      chmodSync(join(folder, name), 0o755);
    }
    // The bundles lie in a folder of this process's own user; the nodes need copies that theirs may read.
    const runner = join(folder, "runner.mjs");
    const driver = join(folder, "driver.mjs");
    copyFileSync(runnerFile, runner);
    copyFileSync(driverFile, driver);
    const project = new SlurmProject(slurm, top, folder, driver, spec(folder));
    onFinished(() => project.#remove());
    const { uuid } = project;
    const ofAttempts = { ...slurm.environment, ...environment(folder) };
    await project.#ask({ verb: "make", uuid, spec: project.spec, environment: ofAttempts, runner });
    return project;
  }

  advance(): Promise<Outcome> {
    return this.#ask({ verb: "advance" }) as Promise<Outcome>;
  }

  /** Advances until the chain is over or held. */
  drive(withinMs = 60_000): Promise<Outcome> {
    return this.#ask({ verb: "drive", withinMs }) as Promise<Outcome>;
  }

  async stop(kind: Stop["kind"]): Promise<void> {
    await this.#ask({ verb: "stop", kind });
  }

  /** The command line, typed in the project folder by the test user. */
  stint(args: readonly string[]): Promise<Ended> {
    if (!existsSync(CLI)) throw new Error(`${CLI} is not there: npm run build`);
    return this.slurm.runAsUser(process.execPath, [CLI, ...args], { cwd: this.folder });
  }

  /** What `stint status` says of the job. */
  async status(): Promise<ChainStatus> {
    const { stdout, stderr } = await this.stint(["status", this.spec.name, "--json"]);
    if (stdout === "") throw new Error(`stint status: ${stderr}`);
    return JSON.parse(stdout).job;
  }

  /** What became of each attempt whose application was allowed to start, in words: `failed retry`. */
  async ends(): Promise<readonly string[]> {
    return (await this.ran()).map(({ settled }) =>
      settled === null ? "open" : `${settled.verdict} ${settled.decision.kind}`,
    );
  }

  /** Waits until each of the attempts has a job that Slurm holds as waiting. */
  async untilPending(...numbers: readonly number[]): Promise<readonly string[]> {
    return until(`attempts ${numbers.join(", ")} are pending`, async () => {
      const ids = await Promise.all(numbers.map(async (number) => (await this.attempt(number)).submitted?.id ?? ""));
      const pending = await this.#inQueue(["-t", "pending"]);
      return ids.every((id) => pending.includes(id)) ? ids : null;
    });
  }

  /** Waits for the end without ever moving the chain: only its own jobs do. */
  watchToEnd(withinMs = 90_000): Promise<Settled> {
    return until(
      "the end of the chain by itself",
      async () => {
        const { settled, open } = await readTask(this.#files, this.task);
        if (settled === null || open.length > 0) return null;
        const { kind } = settled.record.decision;
        return kind === "continue" || kind === "retry" ? null : settled.record;
      },
      { timeoutMs: withinMs },
    );
  }

  async attempts(): Promise<AttemptRecords[]> {
    const numbers = await attemptNumbers(this.#files, this.task);
    return Promise.all(numbers.map((number) => this.attempt(number)));
  }

  /** Those whose application was allowed to start, and did. */
  async ran(): Promise<AttemptRecords[]> {
    return (await this.attempts()).filter(({ go }) => go?.what === "start");
  }

  attempt(number: number): Promise<AttemptRecords> {
    return readAttempt(this.#files, attemptPlace(this.task, number));
  }

  accountOf(number: number): Promise<Accounting | null> {
    return readAccounting(this.#files, attemptPlace(this.task, number));
  }

  attemptFolder(number: number): string {
    return attemptPlace(this.task, number).folder;
  }

  started(number: number): Promise<Started> {
    return until(`attempt ${number} has its body`, async () => (await this.attempt(number)).started);
  }

  /** Text of a file of an attempt; empty while it is not there. */
  textOf(number: number, name: string): string {
    const path = join(this.attemptFolder(number), name);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  async untilFile(name: string): Promise<void> {
    await until(`there is ${name}`, () => (existsSync(join(this.folder, name)) ? true : null));
  }

  /** Steps as the application logged them. */
  steps(): Step[] {
    const path = join(this.folder, "log.txt");
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => {
      const [attempt = 0, pid = 0, from = 0, to = 0, step = 0] = line.split(" ").map(Number);
      return { attempt, pid, from, to, step };
    });
  }

  stepsOf(number: number): Step[] {
    return this.steps().filter(({ attempt }) => attempt === number);
  }

  async untilSteps(number: number, count: number): Promise<void> {
    await until(`${count} steps of attempt ${number}`, () => (this.stepsOf(number).length >= count ? true : null), {
      everyMs: 50,
    });
  }

  /** Processes of an attempt's application: they carry its mark. */
  processes(number: number): readonly Member[] {
    const mark = { name: "STINT_MARK", value: `${this.uuid}/0/${number}` };
    return findMembers({ roots: [], session: null, mark, cgroup: null, exclude: [] });
  }

  /** KILL, at once: to the application's processes, to the runner and its guardian, or to all of them. */
  async kill(number: number, what: "application" | "runner" | "all"): Promise<void> {
    const { body, guardian } = await this.started(number);
    const runner = what === "application" ? [] : [guardian?.pid, body.pid];
    const application = what === "runner" ? [] : this.processes(number).map(({ pid }) => pid);
    for (const pid of [...runner, ...application]) {
      if (pid === undefined) continue;
      try {
        process.kill(pid, "SIGKILL");
      } catch (error) {
        // A short-lived one may have ended by itself, or with one of the others.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  }

  /** Ids of this job's jobs that Slurm holds as waiting or running. */
  async queued(): Promise<readonly string[]> {
    return this.#inQueue([]);
  }

  /** A name may hold what squeue takes for a list, so it is not asked for by name. */
  async #inQueue(states: readonly string[]): Promise<readonly string[]> {
    const { stdout } = await this.slurm.runAsUser("squeue", [
      "-h",
      ...states,
      "-u",
      this.slurm.user.name,
      "-o",
      "%i %j",
    ]);
    return stdout.split("\n").flatMap((line) => {
      const at = line.indexOf(" ");
      return line.slice(at + 1) === this.spec.name ? [line.slice(0, at)] : [];
    });
  }

  async untilQueueEmpty(): Promise<void> {
    await until("nothing of the chain is in the queue", async () => ((await this.queued()).length === 0 ? true : null));
  }

  /** State by job id, in the words of accounting. */
  async accounting(ids: readonly string[]): Promise<Readonly<Record<string, string>>> {
    const args = ["-X", "-D", "-P", "-n", `--jobs=${ids.join(",")}`, "--format=JobIDRaw,State"];
    const { stdout } = await this.slurm.runAsUser("sacct", args);
    return Object.fromEntries(
      stdout
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => line.split("|")),
    );
  }

  /** Slurm itself ends the job of the attempt so soon. */
  async endByLimit(number: number, inMs: number): Promise<void> {
    const id = await this.jobId(number);
    const end = new Date(Date.now() + inMs).toISOString().slice(0, 19);
    const environment = { TZ: "UTC" };
    const args = ["update", `JobId=${id}`, `EndTime=${end}`];
    const { exitCode, stderr } = await this.slurm.runAsUser("scontrol", args, { environment });
    if (exitCode !== 0) throw new Error(stderr);
  }

  async jobId(number: number): Promise<string> {
    const { submitted } = await this.attempt(number);
    if (submitted === null) throw new Error(`attempt ${number} has no job`);
    return submitted.id;
  }

  async #ask(request: RequestOf<DriverRequest>): Promise<unknown> {
    const whole = { ...request, stintFolder: this.job.stintFolder, id: this.job.id };
    const args = [this.#driver, JSON.stringify(whole)];
    const { exitCode, stdout, stderr } = await this.slurm.runAsUser(process.execPath, args, { timeoutMs: 150_000 });
    if (exitCode !== 0) throw new Error(`${request.verb} ended with ${exitCode}: ${stderr}`);
    return JSON.parse(stdout);
  }

  /** What our own processes have said, for a test that failed. */
  async story(): Promise<string> {
    const lines: string[] = [];
    for (const number of await attemptNumbers(this.#files, this.task)) {
      lines.push(`attempt ${number}: ${readdirSync(this.attemptFolder(number)).join(" ")}`);
      for (const name of ["runner.log", "scheduler.log", "stderr.log"]) {
        const text = this.textOf(number, name).trimEnd();
        if (text !== "") lines.push(`  ${name}:`, ...text.split("\n").map((line) => `    ${line}`));
      }
    }
    return lines.join("\n");
  }

  /** Ends what a failed test has left. */
  async #remove(): Promise<void> {
    if (process.env.KEEP !== undefined) console.log(this.folder);
    await this.stop("cancel");
    // Cancelled ones may still have had time to queue a successor.
    await until("the queue is empty", async () => {
      const left = await this.queued();
      if (left.length > 0) await this.slurm.runAsUser("scancel", left);
      return left.length === 0 ? true : null;
    });
    if (process.env.KEEP === undefined) rmSync(this.#top, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A request without what every request has; a union stays one. */
type RequestOf<T> = T extends unknown ? Omit<T, "stintFolder" | "id"> : never;

let bundle: Promise<string> | null = null;

/** chain-driver.ts as one file, built once for each process of the tests. */
function driverBundle(): Promise<string> {
  bundle ??= (async () => {
    const folder = mkdtempSync(join(tmpdir(), "stint-driver-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    const outfile = join(folder, "driver.mjs");
    await build({
      absWorkingDir: ROOT,
      entryPoints: ["test/cluster/chain-driver.ts"],
      outfile,
      bundle: true,
      platform: "node",
      target: "node20",
      format: "esm",
      define: { __STINT_VERSION__: '"0.0.0-test"' },
      alias: { yaml: "./node_modules/yaml/browser/index.js" },
      logLevel: "error",
    });
    return outfile;
  })();
  return bundle;
}
