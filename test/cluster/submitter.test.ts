/** Mode submitter on a real Slurm: a small job moves the chain, hands over, dies, comes twice; never two applications. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, type TestContext } from "vitest";
import type { AttemptRecords, SubmitterRecords } from "../../src/core/index.ts";
import { blockingFolder, signalMembers } from "../../src/host/index.ts";
import {
  attemptNumbers,
  attemptPlace,
  type JobPlace,
  jobPlace,
  readAttempt,
  readSubmitters,
  taskPlace,
} from "../../src/journal/index.ts";
import { expectNothingLost } from "../local/exactly-once.ts";
import { COUNTER, type Step } from "../local/harness.ts";
import { type Cluster, cluster, type Ended, until } from "./cluster.ts";
import { callsSince, callsToController } from "./controller-calls.ts";

const CLI = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const found = await cluster();
const unavailable = "unavailable" in found ? found.unavailable : null;
const files = blockingFolder();

/** A folder of the test's user with one job in mode submitter, moved by its own jobs alone. */
class Submitted {
  readonly #slurm: Cluster;
  readonly folder: string;
  readonly job: JobPlace;

  constructor(slurm: Cluster, name: string) {
    if (!existsSync(CLI)) throw new Error(`${CLI} is not there: npm run build`);
    this.#slurm = slurm;
    this.folder = slurm.userFolder("submitter");
    this.job = jobPlace(join(this.folder, ".stint"), `/${slurm.user.name}/${name}`);
    writeFileSync(join(this.folder, "app.sh"), COUNTER);
  }

  static async submit(slurm: Cluster, t: TestContext, name: string, words: readonly string[]): Promise<Submitted> {
    const made = new Submitted(slurm, name);
    t.onTestFinished(async () => {
      if (process.env.KEEP !== undefined) console.log(made.folder);
      await made.stint(["cancel", name]);
      if (process.env.KEEP === undefined) rmSync(made.folder, { recursive: true, force: true, maxRetries: 5 });
    });
    const common = ["--name", name, "--mode", "submitter", "--checkpoint", "state.txt", "--sample-interval", "0.5s"];
    const { exitCode, stderr } = await made.stint(["submit", ...common, ...words, "--", "bash", "app.sh"]);
    expect(exitCode, stderr).toBe(0);
    return made;
  }

  stint(args: readonly string[]): Promise<Ended> {
    return this.#slurm.runAsUser(process.execPath, [CLI, ...args], { cwd: this.folder, timeoutMs: 120_000 });
  }

  get name(): string {
    return this.job.id.split("/").at(-1) ?? "";
  }

  async status(): Promise<Status> {
    return JSON.parse((await this.stint(["status", this.name, "--json"])).stdout).job;
  }

  submitters(): Promise<readonly SubmitterRecords[]> {
    return readSubmitters(files, this.job, "all");
  }

  /** The submitter of that number, with its job begun. */
  started(number: number, timeoutMs = 60_000): Promise<NonNullable<SubmitterRecords["started"]>> {
    const look = async () => (await this.submitters()).find((one) => one.number === number)?.started;
    return until(`submitter ${number} has started`, look, { timeoutMs });
  }

  async attempts(): Promise<readonly AttemptRecords[]> {
    const task = taskPlace(this.job, 0);
    const numbers = await attemptNumbers(files, task);
    return Promise.all(numbers.map((number) => readAttempt(files, attemptPlace(task, number))));
  }

  steps(): readonly Step[] {
    const path = join(this.folder, "log.txt");
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    return lines.map((line) => {
      const [attempt = 0, pid = 0, from = 0, to = 0, step = 0] = line.split(" ").map(Number);
      return { attempt, pid, from, to, step };
    });
  }

  untilSteps(count: number): Promise<true> {
    return until(`${count} steps`, () => (this.steps().length >= count ? true : null));
  }

  /** Waits for the end without moving anything; then nothing of it is in the queue. */
  async untilFinished(timeoutMs = 150_000): Promise<void> {
    try {
      await until("its end", async () => ((await this.last())?.settled?.decision.kind === "finish" ? true : null), {
        timeoutMs,
      });
      await this.untilQueueEmpty();
    } catch (error) {
      throw new Error(`${String(error)}\n${this.story()}`);
    }
  }

  untilQueueEmpty(): Promise<true> {
    return until("an empty queue", async () => ((await this.queued()).length === 0 ? true : null));
  }

  async last(): Promise<AttemptRecords | undefined> {
    return (await this.attempts()).findLast(({ settled }) => settled !== null);
  }

  async queued(): Promise<readonly string[]> {
    const names = `${this.name},${this.name}-submitter`;
    const { stdout } = await this.#slurm.runAsUser("squeue", ["-h", "-n", names, "-o", "%i"]);
    return stdout.split("\n").filter((id) => id !== "");
  }

  story(): string {
    const folder = join(this.job.folder, "submitters");
    return readdirSync(folder)
      .sort()
      .flatMap((number) => [
        `submitter ${number}: ${readdirSync(join(folder, number)).join(" ")}`,
        ...["runner.log", "scheduler.log", "ended.json"].flatMap((name) => {
          const path = join(folder, number, name);
          return existsSync(path) ? [readFileSync(path, "utf8").trimEnd()] : [];
        }),
      ])
      .join("\n");
  }
}

interface Status {
  readonly state: string;
  readonly reason: string | null;
  readonly submitter: { readonly number: number; readonly phase: string; readonly host: string | null } | null;
}

const QUICK = ["--limit", "1m", "--margin", "45s", "--kill-wait", "2s", "--backoff-first", "0.5s"];
/** The least that Slurm knows. It hands over after 23 s: in the middle of the second window of 15 s, whatever lies between them. */
const SHORT = ["--submitter-limit", "1m", "--submitter-margin", "37s", "--submitter-mem", "128M"];
const LONG = ["--submitter-limit", "10m"];

describe
  .skipIf(unavailable !== null)
  .concurrent(`mode submitter on a real Slurm${unavailable === null ? "" : ` (${unavailable})`}`, () => {
    const slurm = found as Cluster;
    const byCgroup = unavailable === null && slurm.tracking === "cgroup";

    it("goes through window ends and hand-overs of its submitter with one application at a time", async (t) => {
      const total = 480;
      const polls = ["--timing-poll", "5s", "--ahead", "0", "--env", "STEP=0.1"];
      const project = await Submitted.submit(slurm, t, "hand-over", [
        ...QUICK,
        ...SHORT,
        ...polls,
        "--total",
        String(total),
      ]);
      const first = await project.started(1);
      const shown = await project.stint(["status", "hand-over"]);
      expect(shown.stdout).toMatch(/^mover +submitter job \d+ on \S+, (no heartbeat yet|heartbeat \d+ s ago)/m);
      await project.untilFinished();

      expectNothingLost(project.steps(), total);
      const ran = (await project.attempts()).filter(({ go }) => go?.what === "start");
      expect(ran.length).toBeGreaterThanOrEqual(3);
      const submitters = await project.submitters();
      expect(submitters.length).toBeGreaterThanOrEqual(2);
      expect(submitters.map(({ ended }) => ended?.reason)).toEqual([
        ...submitters.slice(1).map(() => "handed-over"),
        // Withdrawn: the chain came to its end just after a hand-over.
        expect.stringMatching(/^(chain-over|withdrawn)$/),
      ]);
      expect(submitters.map(({ claim }) => claim?.basis)).toEqual([
        "first",
        ...submitters.slice(1).map(() => "hand-over"),
      ]);
      // The one before has ended when the next one begins; what ran meanwhile was nobody's but its own.
      for (const [i, { started }] of submitters.entries())
        if (i > 0 && started !== null)
          expect(started.atMs).toBeGreaterThanOrEqual(submitters[i - 1]?.ended?.atMs ?? Number.POSITIVE_INFINITY);
      const pids = submitters.map(({ started }) => started?.process.pid);
      expect(pids[0]).toBe(first.process.pid);
      // Bodies settle themselves and claim nothing.
      for (const { number, claim, settled } of ran) {
        if (number > 1) expect(pids).toContain(claim?.by.pid);
        expect(settled?.evidence.proof.by).toBe("B");
      }
      const inFlight = ran.filter(({ go, exited }) =>
        submitters.some(
          ({ ended }) =>
            ended?.reason === "handed-over" && (go?.atMs ?? Infinity) < ended.atMs && ended.atMs < (exited?.atMs ?? 0),
        ),
      );
      expect(inFlight.length).toBeGreaterThanOrEqual(1);
    });

    it("is replaced by the running attempt when it is cancelled, and the chain goes on", async (t) => {
      const words = [...QUICK, ...LONG, "--timing-poll", "1s", "--ahead", "0", "--total", "300"];
      const project = await Submitted.submit(slurm, t, "cancelled", words);
      const { ref } = await project.started(1);
      await project.untilSteps(20);
      await slurm.runAsUser("scancel", [ref.split("/").at(-1) ?? ""]);
      await project.started(2);
      await project.untilFinished();
      expectNothingLost(project.steps(), 300);
      const submitters = await project.submitters();
      expect(submitters.map(({ claim }) => claim?.basis)).toEqual(["first", "mend"]);
      expect(submitters.map(({ ended }) => ended?.reason)).toEqual(["asked", "chain-over"]);
    });

    it("goes on when it is killed right after an attempt has ended: its body has waited for it", async (t) => {
      const words = [...QUICK, ...LONG, "--timing-poll", "1s", "--ahead", "0", "--total", "320"];
      const project = await Submitted.submit(slurm, t, "killed", words);
      const { process: submitter } = await project.started(1);
      // Stopped, it does nothing from here on, and nobody can tell yet.
      process.kill(submitter.pid, "SIGSTOP");
      await until("the first attempt has ended", async () => (await project.attempts())[0]?.exited);
      process.kill(submitter.pid, "SIGKILL");
      await project.started(2);
      await project.untilFinished();
      expectNothingLost(project.steps(), 320);
      expect((await project.submitters())[0]?.ended).toBeNull();
    });

    it("lets the later one win when two are alive, and no second application starts", async (t) => {
      const silent = ["--timing-poll", "1s", "--timing-heartbeat-silent", "5s"];
      const words = [...QUICK, "--margin", "25s", ...LONG, ...silent, "--ahead", "1", "--total", "900"];
      const project = await Submitted.submit(slurm, t, "twice", words);
      const { process: submitter } = await project.started(1);
      await project.untilSteps(10);
      t.onTestFinished(() => void signalMembers([submitter], "SIGCONT"));
      process.kill(submitter.pid, "SIGSTOP");
      await project.started(2, 90_000);
      process.kill(submitter.pid, "SIGCONT");
      await project.untilFinished();
      expectNothingLost(project.steps(), 900);
      const submitters = await project.submitters();
      expect(submitters[0]?.ended?.reason).toBe("superseded");
      expect(submitters[1]?.claim?.basis).toBe("mend");
    });

    it("leaves the chain to a new number when the site requeues it", async (t) => {
      const words = [...QUICK, ...LONG, "--timing-poll", "1s", "--ahead", "0", "--total", "300"];
      const project = await Submitted.submit(slurm, t, "requeued", words);
      const { ref } = await project.started(1);
      const id = ref.split("/").at(-1) ?? "";
      await project.untilSteps(10);
      await slurm.runAsUser("scontrol", ["update", `JobId=${id}`, "Requeue=1"]);
      const requeued = await slurm.runAsUser("scontrol", ["requeue", id]);
      expect(requeued.exitCode, requeued.stderr).toBe(0);
      await project.started(2, 90_000);
      await project.untilFinished();
      expectNothingLost(project.steps(), 300);
    });

    it("ends with its chain when that is cancelled, also while it is queued", async (t) => {
      const words = [
        "--limit",
        "10m",
        "--margin",
        "10s",
        "--kill-wait",
        "2s",
        ...LONG,
        "--timing-poll",
        "1s",
        "--total",
        "100000",
      ];
      const project = await Submitted.submit(slurm, t, "stopped", words);
      await project.started(1);
      await project.untilSteps(5);
      const cancelled = await project.stint(["cancel", "stopped"]);
      expect(cancelled.exitCode, cancelled.stderr).toBe(0);
      expect((await project.submitters()).map(({ ended }) => ended?.reason)).toEqual(["chain-over"]);
      await project.untilQueueEmpty();

      // Above its partition's limit the next one never starts; a drain takes it back all the same.
      const tooLong = ["--submitter-partition", "short", "--submitter-limit", "10m"];
      const held = await project.stint(["resume", "stopped", ...tooLong]);
      expect(held.exitCode, held.stderr).toBe(0);
      expect((await project.status()).submitter).toMatchObject({ number: 2, phase: "queued" });
      const drained = await project.stint(["drain", "stopped", "--wait"]);
      expect(drained.exitCode, drained.stderr).toBe(0);
      expect((await project.submitters()).map(({ ended }) => ended?.reason)).toEqual(["chain-over", "withdrawn"]);
      await project.untilQueueEmpty();
      const removed = await project.stint(["rm", "stopped"]);
      expect(removed.exitCode, removed.stderr).toBe(0);
    });

    if (byCgroup)
      it("is stranded when submitter and attempt are lost together, and goes on by resume", async (t) => {
        const words = [...QUICK, ...LONG, "--timing-poll", "1s", "--ahead", "0", "--total", "200"];
        const project = await Submitted.submit(slurm, t, "stranded", words);
        const { ref, process: submitter } = await project.started(1);
        await project.untilSteps(10);
        const attempt = (await project.attempts())[0]?.started;
        // Without a word from either: the submitter, and the whole of the attempt with its guardian.
        process.kill(submitter.pid, "SIGKILL");
        for (const pid of [attempt?.guardian?.pid, attempt?.body.pid])
          if (pid !== undefined) process.kill(pid, "SIGKILL");
        const status = await until("it is stranded", async () => {
          const now = await project.status();
          return now.state === "stranded" ? now : null;
        });
        expect(status.submitter).toBeNull();
        expect(ref).toMatch(/^slurm\//);
        const resumed = await project.stint(["resume", "--all"]);
        expect(resumed.exitCode, resumed.stderr).toBe(0);
        await project.untilFinished();
        expectNothingLost(project.steps(), 200);
        expect((await project.submitters()).at(-1)).toMatchObject({
          claim: { basis: "resume" },
          ended: { reason: "chain-over" },
        });
      });

    it("says at once that its submitter is refused, and leaves nothing behind", async (t) => {
      const project = new Submitted(slurm, "refused");
      t.onTestFinished(() => rmSync(project.folder, { recursive: true, force: true }));
      const words = ["--mode", "submitter", "--submitter-partition", "nowhere", "--limit", "10m", "--margin", "10s"];
      const refused = await project.stint(["submit", "--name", "refused", ...words, "--", "bash", "app.sh"]);
      expect(refused.exitCode).toBe(1);
      expect(refused.stderr).toMatch(/the scheduler refuses the submitter of refused: sbatch: .*partition/i);
      await project.untilQueueEmpty();
      expect(await project.status()).toMatchObject({ state: "over" });
    });
  });

describe.skipIf(unavailable !== null)("what mode submitter costs the controller", () => {
  const slurm = found as Cluster;
  it("is one question a poll, whatever the folder is looked at", async (t) => {
    const words = [
      "--limit",
      "10m",
      "--margin",
      "10s",
      "--kill-wait",
      "2s",
      ...LONG,
      "--timing-poll",
      "5s",
      "--ahead",
      "0",
    ];
    const project = await Submitted.submit(slurm, t, "calls", [...words, "--total", "100000"]);
    await project.started(1);
    await project.untilSteps(20);
    const begunMs = performance.now();
    const before = await callsToController(slurm);
    const now = project.steps().length;
    await project.untilSteps(now + 300);
    const calls = callsSince(before, await callsToController(slurm));
    const polls = (performance.now() - begunMs) / 5_000;
    console.log(`${calls.total} calls to the controller in ${polls.toFixed(1)} polls: ${calls.text}`);
    if (slurm.faults !== null) expect(calls.total).toBeLessThanOrEqual(Math.ceil(polls) + 1);
  });
});
