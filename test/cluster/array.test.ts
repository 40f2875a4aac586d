/** Several tasks on a real Slurm: each attempt of an array's task is an array of one element. */
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, type TestContext } from "vitest";
import type { Claim, SubmitterRecords } from "../../src/core/index.ts";
import { type Cluster, cluster, until } from "./cluster.ts";

const CLI = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** Steps of 0.2 s to MAX_ITER; each says which task it is by Slurm's word. TERM: save, and leave with 99. */
const APP = `
n=0; [ -e "$CKPT_PATH" ] && read -r n <"$CKPT_PATH"
trap 'stop=1' TERM
echo "begin $STINT_TASK_INDEX $STINT_ATTEMPT $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_JOB_ID $SLURM_JOB_ID $1" >>events.txt
while (( n < MAX_ITER )); do
  sleep 0.2 & wait $! || wait
  n=$((n + 1))
  until echo "$n" >"$CKPT_PATH.tmp" && mv "$CKPT_PATH.tmp" "$CKPT_PATH"; do :; done
  if [ -n "$stop" ]; then echo "end $STINT_TASK_INDEX $STINT_ATTEMPT" >>events.txt; exit 99; fi
done
echo "end $STINT_TASK_INDEX $STINT_ATTEMPT" >>events.txt
`;

/** Windows of 8 s: Slurm's limits are whole minutes. */
const QUICK = [
  ...["--limit", "1m", "--margin", "52s", "--sample-interval", "0.5s", "--backoff-first", "1s"],
  ...[
    "--timing-poll",
    "1s",
    "--timing-doubtful-twice",
    "2s",
    "--timing-nodes-back",
    "6s",
    "--timing-heartbeat-silent",
    "6s",
  ],
  ...["--timing-unclear", "10s"],
];

const found = await cluster();
const unavailable = "unavailable" in found ? found.unavailable : null;

interface JobJson {
  readonly job: { readonly state: string; readonly tasks: Readonly<Record<string, number>> };
  readonly tasks: readonly {
    readonly task: number;
    readonly state: string;
    readonly ref: string | null;
    readonly reason: string;
  }[];
}

/** So that the queue tells the jobs of tests apart that run at the same time. */
let made = 0;

class TaskProject {
  readonly folder: string;
  readonly name = `tasks${++made}`;
  readonly #slurm: Cluster;

  constructor(slurm: Cluster, t: TestContext) {
    if (!existsSync(CLI)) throw new Error(`${CLI} is not there: npm run build`);
    this.#slurm = slurm;
    this.folder = slurm.userFolder("tasks");
    writeFileSync(join(this.folder, "app.sh"), APP);
    chmodSync(join(this.folder, "app.sh"), 0o755);
    t.onTestFinished(async () => {
      await this.stint("cancel", this.name);
      rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    });
  }

  stint(...args: readonly string[]) {
    return this.#slurm.runAsUser(process.execPath, [CLI, ...args], { cwd: this.folder, timeoutMs: 150_000 });
  }

  submit(total: number, more: readonly string[]) {
    const checkpoint = ["--checkpoint", "s-{task}.txt", "--total", String(total)];
    return this.stint(
      "submit",
      "--name",
      this.name,
      ...QUICK,
      ...checkpoint,
      ...more,
      "--",
      "bash",
      "app.sh",
      "arg-{task}",
    );
  }

  async look(): Promise<JobJson> {
    return JSON.parse((await this.stint("status", this.name, "--json")).stdout) as JobJson;
  }

  events(): readonly (readonly string[])[] {
    const path = join(this.folder, "events.txt");
    if (!existsSync(path)) return [];
    return readFileSync(path, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => line.split(" "));
  }

  get #job(): string {
    return join(this.folder, ".stint/jobs", this.#slurm.user.name, this.name);
  }

  /** Records of the submitters, in order. */
  submitters(): readonly SubmitterRecords[] {
    const folder = join(this.#job, "submitters");
    return readdirSync(folder)
      .sort()
      .map((name, at) => {
        const read = (record: string) => {
          const path = join(folder, name, `${record}.json`);
          return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : null;
        };
        const [claim, submitted, started, ended] = ["claim", "submitted", "started", "ended"].map(read);
        return { number: at + 1, claim, submitted, started, ended };
      });
  }

  firstClaim(task: number): Claim {
    return JSON.parse(readFileSync(join(this.#job, "tasks", String(task), "attempts", "0001", "claim.json"), "utf8"));
  }

  /** `task` → ids of its attempts' jobs, in order. */
  jobIds(task: number): readonly string[] {
    const attempts = join(this.#job, "tasks", String(task), "attempts");
    return readdirSync(attempts)
      .sort()
      .flatMap((attempt) => {
        const path = join(attempts, attempt, "submitted.json");
        return existsSync(path) ? [(JSON.parse(readFileSync(path, "utf8")) as { readonly id: string }).id] : [];
      });
  }

  async queue(): Promise<readonly string[]> {
    const { stdout } = await this.#slurm.runAsUser("squeue", ["-h", "-r", "-n", this.name, "-o", "%i"]);
    return stdout.split("\n").filter((id) => id !== "");
  }

  async untilQueueEmpty(): Promise<void> {
    await until("nothing of the job is in the queue", async () => ((await this.queue()).length === 0 ? true : null));
  }
}

/** The most tasks that had an application at work at one time, by the lines in their order. */
function mostAtWork(events: readonly (readonly string[])[]): number {
  const at = new Set<string>();
  let most = 0;
  for (const [what, task = ""] of events) {
    if (what === "begin") at.add(task);
    else at.delete(task);
    most = Math.max(most, at.size);
  }
  return most;
}

describe
  .skipIf(unavailable !== null)
  .concurrent(`several tasks on a real Slurm${unavailable === null ? "" : ` (${unavailable})`}`, () => {
    const slurm = found as Cluster;

    it("runs an array, two at a time, each task through the end of a window, with Slurm's own index", async (t) => {
      const project = new TaskProject(slurm, t);
      const submitted = await project.submit(50, ["--array", "2-8:3%2"]);
      expect(submitted).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`submitted ${project.name}`) });
      await until("the first is at work", () => (project.events().length > 0 ? true : null));
      const ids = await project.queue();
      expect(ids.some((id) => /^\d+_2$/.test(id))).toBe(true);
      expect(ids.some((id) => id.endsWith("_8"))).toBe(false);
      const now = await project.look();
      expect(now.tasks.find(({ task }) => task === 8)).toMatchObject({
        state: "waiting",
        reason: "waits for a slot: 2 at a time",
      });
      // By Slurm's own number it is asked for, cancelled, waited for and accounted.
      expect(now.tasks[0]?.ref).toMatch(/^slurm\/.+\/\d+$/);

      // Nothing but its own jobs moves it.
      await until(
        "all three are over",
        () => (project.events().filter(([what]) => what === "end").length >= 6 ? true : null),
        {
          timeoutMs: 150_000,
        },
      );
      expect(await project.stint("wait", project.name, "--timeout", "60s")).toMatchObject({ exitCode: 0 });
      await project.untilQueueEmpty();
      const events = project.events();
      expect(mostAtWork(events)).toBe(2);
      const begun = events.filter(([what]) => what === "begin");
      for (const task of ["2", "5", "8"]) {
        const own = begun.filter(([, index]) => index === task);
        expect(own.length).toBeGreaterThanOrEqual(2);
        expect(readFileSync(join(project.folder, `s-${task}.txt`), "utf8").trim()).toBe("50");
        const jobs = project.jobIds(Number(task));
        for (const [, , attempt, arrayTask, count, arrayJob, job, argument] of own) {
          expect([arrayTask, count, argument]).toEqual([task, "3", `arg-${task}`]);
          expect([arrayJob, job]).toEqual([jobs[Number(attempt) - 1], jobs[Number(attempt) - 1]]);
        }
        const { stdout } = await slurm.runAsUser("sacct", [
          "-X",
          "-n",
          "-P",
          `--jobs=${jobs[0]}`,
          "--format=JobID,JobIDRaw,State",
        ]);
        expect(stdout.trim()).toBe(`${jobs[0]}_${task}|${jobs[0]}|COMPLETED`);
      }
      const account = await until("the account of a first attempt has come", async () => {
        const { stdout } = await project.stint("status", `${project.name}/2`, "--json");
        const { attempts } = JSON.parse(stdout) as { attempts: readonly { accounting: unknown; verdict: string }[] };
        return attempts[0]?.accounting == null ? null : attempts[0];
      });
      expect(account).toMatchObject({ verdict: "checkpointed", accounting: { conflicts: [] } });
    });

    it("takes Slurm's `scancel N_k` for the owner's word on that task, and the next one begins", async (t) => {
      const project = new TaskProject(slurm, t);
      await project.submit(30, ["--array", "0,7%1"]);
      await until("the first is at work", () => (project.events().length > 0 ? true : null));
      const [id] = project.jobIds(0);
      expect((await slurm.runAsUser("scancel", [`${id}_0`])).exitCode).toBe(0);
      await until("the other has begun", () => (project.events().some(([, task]) => task === "7") ? true : null));
      expect((await project.look()).tasks[0]).toMatchObject({
        task: 0,
        state: "over",
        reason: expect.stringContaining("CANCELLED"),
      });
      expect(await project.stint("cancel", project.name)).toMatchObject({ exitCode: 0 });
      await project.untilQueueEmpty();
      expect((await project.look()).job).toMatchObject({ state: "over", tasks: { stopped: 2 } });
    });

    it("brings TERM to the step of an array's task, which Slurm calls N_k.0", async (t) => {
      const project = new TaskProject(slurm, t);
      await project.submit(45, ["--array", "3", "--launch", "srun"]);
      expect(await project.stint("wait", project.name, "--timeout", "120s")).toMatchObject({ exitCode: 0 });
      const { stdout } = await project.stint("status", `${project.name}/3`, "--json");
      const { attempts } = JSON.parse(stdout) as {
        attempts: readonly { verdict: string; exitCode: number; saving: object }[];
      };
      expect(attempts[0]).toMatchObject({ verdict: "checkpointed", exitCode: 99, saving: { killed: false } });
    });

    it("in mode submitter the next task is begun by the submitter alone, and a body replaces one that is gone", async (t) => {
      const project = new TaskProject(slurm, t);
      const own = ["--mode", "submitter", "--submitter-mem", "128M", "--submitter-limit", "10m", "--ahead", "0"];
      expect(await project.submit(30, ["--array", "0-2%1", ...own])).toMatchObject({ exitCode: 0 });
      await until("the first is at work", () => (project.events().length > 0 ? true : null));
      const first = await until("its submitter has begun", () => project.submitters().find(({ started }) => started));
      expect((await slurm.runAsUser("scancel", [first.submitted?.id ?? ""])).exitCode).toBe(0);
      const isOver = async () => ((await project.look()).job.state === "over" ? true : null);
      await until("all three are over", isOver, { timeoutMs: 120_000 });
      await project.untilQueueEmpty();
      expect((await project.look()).job.tasks).toMatchObject({ finished: 3 });
      expect(mostAtWork(project.events())).toBe(1);
      await until("the last submitter has ended", () => (project.submitters().at(-1)?.ended ? true : null));
      const submitters = project.submitters();
      expect(submitters.map(({ claim }) => claim?.basis)).toEqual(["first", "mend"]);
      expect(submitters.map(({ ended }) => ended?.reason)).toEqual(["asked", "chain-over"]);
      const pids = submitters.map(({ started }) => started?.process.pid);
      for (const task of [1, 2]) expect(pids).toContain(project.firstClaim(task).by.pid);
    });

    it("an index that this cluster does not know is refused before anything is made", async (t) => {
      const project = new TaskProject(slurm, t);
      const refused = await project.submit(5, ["--array", "0,3999999"]);
      expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("MaxArraySize") });
      expect(existsSync(join(project.folder, ".stint"))).toBe(false);
    });
  });
