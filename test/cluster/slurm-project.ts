/** A project with one job on the real Slurm, owned by the test's user and run by a bundle built for the tests. */
import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
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
import { type Cluster, until } from "./cluster.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Windows of `WINDOW_MS`: Slurm's limits are whole minutes, so the margin is what is left of one. */
export const WINDOW_MS = 8_000;
const ON_SLURM: Partial<JobSpec> = {
  scheduler: "slurm",
  limitMs: 60_000,
  marginMs: 60_000 - WINDOW_MS,
  ahead: 2,
  runtime: "test",
  timing: {
    proofWaitMs: 90_000,
    doubtfulTwiceMs: 2_000,
    nodesBackMs: 6_000,
    heartbeatSilentMs: 6_000,
    fenceMs: 3_000,
    unclearMs: 10_000,
    pollMs: 1_000,
  },
};

export interface ProjectOptions {
  readonly slurm: Cluster;
  /** Files of the project folder by name; executable. */
  readonly files: Readonly<Record<string, string>>;
  /** Given the project folder. */
  readonly spec?: (folder: string) => Partial<JobSpec>;
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

  private constructor(slurm: Cluster, folder: string, driver: string, changes: Partial<JobSpec>) {
    this.slurm = slurm;
    this.folder = folder;
    this.#driver = driver;
    this.spec = { ...SPEC, ...ON_SLURM, name: `t-${randomBytes(4).toString("hex")}`, cwd: folder, ...changes };
    this.job = jobPlace(join(folder, ".stint"), `/${slurm.user.name}/${this.spec.name}`);
    this.task = taskPlace(this.job, 0);
  }

  static async make({ slurm, files, spec = () => ({}), onFinished }: ProjectOptions): Promise<SlurmProject> {
    const folder = slurm.userFolder("chain");
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(folder, name), text);
      chmodSync(join(folder, name), 0o755);
    }
    // The bundles lie in a folder of this process's own user; the nodes need copies that theirs may read.
    const runner = join(folder, "runner.mjs");
    const driver = join(folder, "driver.mjs");
    copyFileSync(await runnerBundle(), runner);
    copyFileSync(await driverBundle(), driver);
    const project = new SlurmProject(slurm, folder, driver, spec(folder));
    onFinished(() => project.#remove());
    const { uuid } = project;
    await project.#ask({ verb: "make", uuid, spec: project.spec, environment: slurm.environment, runner });
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

  /** Ids of this job's jobs that Slurm holds as waiting or running. */
  async queued(): Promise<readonly string[]> {
    const { stdout } = await this.slurm.runAsUser("squeue", ["-h", "-n", this.spec.name, "-o", "%i"]);
    return stdout.split("\n").filter((id) => id !== "");
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
    if (process.env.KEEP === undefined) rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
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
