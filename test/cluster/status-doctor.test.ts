/** `status` and `doctor` on a real Slurm, by the built command line, as a user who is not root. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, type TestContext } from "vitest";
import { type Cluster, cluster, type Ended, until } from "./cluster.ts";
import { callsSince, callsToController } from "./controller-calls.ts";

const CLI = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

const found = await cluster();
const unavailable = "unavailable" in found ? found.unavailable : null;

interface Queue {
  readonly id: string;
  readonly code: string | null;
  readonly chance: string;
  readonly meaning: string;
  readonly todo: string | null;
  readonly expectedStartAtMs: number | null;
  readonly waitedMs: number | null;
}

interface Row {
  readonly job: string;
  readonly state: string;
  readonly reason: string | null;
  readonly queue: Queue | null;
}

interface Finding {
  readonly what: string;
  readonly level: "ok" | "warning" | "problem";
  readonly found: string;
}

describe.skipIf(unavailable !== null)(
  `status and doctor on a real Slurm${unavailable === null ? "" : ` (${unavailable})`}`,
  () => {
    const slurm = found as Cluster;

    /** A folder of the user's, and the command line in it. What was submitted there is cancelled at the end. */
    function newFolder(t: TestContext, stateOf?: string) {
      if (!existsSync(CLI)) throw new Error(`${CLI} is not there: npm run build`);
      const folder = slurm.userFolder("status");
      const environment = { XDG_STATE_HOME: join(stateOf ?? folder, "state") };
      const stint = (...args: readonly string[]): Promise<Ended> =>
        slurm.runAsUser(process.execPath, [CLI, ...args], { cwd: folder, environment });
      t.onTestFinished(async () => {
        for (const { job } of await rows()) await stint("cancel", job, "--timeout", "30s");
        rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
      });
      const rows = async (...args: readonly string[]): Promise<readonly Row[]> =>
        (JSON.parse((await stint("status", "--json", ...args)).stdout) as { readonly jobs: readonly Row[] }).jobs;
      const submit = async (name: string, ...args: readonly string[]): Promise<void> => {
        const all = ["--quiet", "--name", name, "--limit", "1m", "--margin", "10s", "--ahead", "0", ...args];
        const ran = await stint("submit", ...all, "--", "sleep", "600");
        expect(ran.exitCode, ran.stderr).toBe(0);
      };
      const findings = async (...args: readonly string[]) => {
        const ran = await stint("doctor", "--json", ...args);
        const all = (JSON.parse(ran.stdout) as { readonly findings: readonly Finding[] }).findings;
        return { ...ran, all, of: (what: string) => all.find((finding) => finding.what === what) };
      };
      return { folder, stint, rows, submit, findings };
    }

    /** The place in the queue of a job, once the scheduler has given this reason. */
    function queueOf(rows: () => Promise<readonly Row[]>, name: string, code: string): Promise<Queue> {
      let last: Row | undefined;
      return until(
        `${name} waits for ${code}`,
        async () => {
          last = (await rows()).find(({ job }) => job.endsWith(`/${name}`));
          return last?.queue?.code === code ? last.queue : null;
        },
        { everyMs: 1_000 },
      ).catch((error: unknown) => {
        throw new Error(`${String(error)}: ${JSON.stringify(last)}`);
      });
    }

    it("says in words why jobs wait, from what Slurm itself says", async (t) => {
      const { submit, rows, stint } = newFolder(t);
      await submit("too-long", "-p", "short", "--limit", "10m");
      await submit("too-wide", "--nodes", "9");
      await submit("held", "--hold");
      expect(await queueOf(rows, "too-long", "PartitionTimeLimit")).toMatchObject({
        chance: "will-never-start",
        meaning: "its limit of 10:00 is above what partition short allows",
      });
      expect(await queueOf(rows, "too-wide", "PartitionNodeLimit")).toMatchObject({ chance: "may-never-start" });
      const held = await queueOf(rows, "held", "JobHeldUser");
      expect(held).toMatchObject({ chance: "will-never-start", todo: `scontrol release ${held.id}` });
      const shown = await stint("status", "too-long");
      expect(shown.exitCode).toBe(0);
      expect(shown.stdout).toContain("attempt 1 is queued and will never start (PartitionTimeLimit)");
      // What is said to be done helps.
      expect((await slurm.runAsUser("scontrol", ["release", held.id])).exitCode).toBe(0);
      await until("the released one runs", async () =>
        (await rows()).some(({ job, state }) => job.endsWith("/held") && state === "running") ? true : null,
      );
      const mended = await stint("resume", "too-long", "--limit", "1m");
      expect(mended.exitCode, mended.stderr).toBe(0);
      await until("the corrected one runs", async () =>
        (await rows()).some(({ job, state }) => job.endsWith("/too-long") && state === "running") ? true : null,
      );
    });

    it("leaves a job whose own dependency can never be met in the queue, and says so", async (t) => {
      const { submit, rows, stint } = newFolder(t);
      const fails = await slurm.runAsUser("sbatch", ["--parsable", "-o", "/dev/null", "--wrap", "exit 1"]);
      await submit("after", "--ahead", "2", `--dependency=afterok:${fails.stdout.trim()}`);
      const queue = await queueOf(rows, "after", "DependencyNeverSatisfied");
      expect(queue).toMatchObject({ chance: "will-never-start" });
      const moved = await stint("resume", "after");
      expect(moved.exitCode, moved.stderr).toBe(0);
      expect((await queueOf(rows, "after", "DependencyNeverSatisfied")).id).toBe(queue.id);
      expect((await stint("status", "after")).stdout).toContain("stint cancel after, then stint submit --again");
    });

    it("says when a job is expected that waits for nodes", async (t) => {
      const { submit, rows } = newFolder(t);
      const all = ["--nodes", "4", "--sbatch-arg=--exclusive"];
      await submit("first", ...all);
      await until("the first one has all nodes", async () =>
        (await rows()).some(({ state }) => state === "running") ? true : null,
      );
      await submit("second", ...all);
      const queue = await queueOf(rows, "second", "Resources");
      expect(queue).toMatchObject({ chance: "will-start", todo: null });
      const expected = await until("the controller expects it", async () => {
        const row = (await rows()).find(({ job }) => job.endsWith("/second"));
        return row?.queue?.expectedStartAtMs;
      });
      // Nobody runs longer than a minute and Slurm's own grain.
      expect(Math.abs(expected - Date.now())).toBeLessThan(3 * 60_000);
    });

    it("asks the controller once for any number of chains, also over several projects", async (t) => {
      const one = newFolder(t);
      const two = newFolder(t, one.folder);
      const waits = ["--hold"];
      for (const name of ["a", "b", "c"]) await one.submit(name, ...waits);
      await two.submit("d", ...waits);
      const before = await callsToController(slurm);
      expect((await one.rows("--everywhere")).map(({ state }) => state)).toEqual(Array(4).fill("waiting"));
      const calls = callsSince(before, await callsToController(slurm));
      // The rows; and the name of the cluster, for which scontrol also sends a ping.
      expect(calls.text).toMatch(/\b1 JOB_USER_INFO\b/);
      expect(calls.total, calls.text).toBeLessThanOrEqual(3);
      const still = await callsToController(slurm);
      expect(await one.rows("--no-ask")).toHaveLength(3);
      expect(callsSince(still, await callsToController(slurm)).total).toBe(0);
    });

    it("looks at a node by one short job, and nothing of it stays", async (t) => {
      const { findings, folder } = newFolder(t);
      const { exitCode, stdout, all, of } = await findings("--submit-test");
      expect(exitCode, stdout).toBe(0);
      expect(of("test job")?.found).toMatch(/^\d+ ran on /);
      for (const what of ["folder", "Node", "address space", "cgroup", "perl", "Slurm", "sbatch", "clock"])
        expect(of(`node: ${what}`), what).toMatchObject({ level: "ok" });
      if (slurm.tracking === "cgroup") expect(of("node: cgroup")?.found).toMatch(/\/job_\d+/);
      expect(of("slurm")).toMatchObject({ level: "ok" });
      expect(of("tracking")?.level).toBe(slurm.tracking === "cgroup" ? "ok" : "warning");
      expect(of("accounting")).toMatchObject({ level: "ok" });
      expect(of("limits")).toMatchObject({ level: "ok", found: expect.stringContaining("account lab") });
      expect(all.filter(({ level }) => level === "problem")).toEqual([]);
      expect(readdirSync(folder)).not.toContain(".stint");
      await until("the queue is empty", async () => {
        const { stdout: left } = await slurm.runAsUser("squeue", ["-h", "--me", "--name=stint-doctor"]);
        return left.trim() === "" ? true : null;
      });
    });

    it("cancels a test job that the queue does not start in time, and says why it waited", async (t) => {
      const { stint } = newFolder(t);
      const ran = await stint("doctor", "--submit-test", "--timeout", "3s", "--nodes", "9");
      expect(ran.exitCode, ran.stdout).toBe(75);
      const [, id = ""] = /the queue did not start (\d+) in time, it is cancelled \((.*)\)/.exec(ran.stdout) ?? [];
      // Which of its two reasons for that Slurm gives depends on how far it has looked.
      expect(ran.stdout).toMatch(/it is queued and (may|will) never start \(Partition(NodeLimit|Config)\)/);
      const { stdout } = await slurm.runAsUser("squeue", ["-h", "--states=all", "--jobs", id, "-o", "%T"]);
      expect(stdout.trim()).toMatch(/^(CANCELLED|)$/);
    });

    it("holds limits against those of partition and account", async (t) => {
      const { findings } = newFolder(t);
      const long = await findings("-p", "short", "-t", "10");
      expect(long.exitCode).toBe(1);
      expect(long.of("limit")).toMatchObject({
        level: "problem",
        found: "10m is above what short allows (5m): it would never start",
      });
      expect((await findings("-p", "nope")).of("partition")).toMatchObject({ level: "problem" });
      if (slurm.faults === null) return;
      const limit = (most: string): void => {
        const args = [
          "-i",
          "-Q",
          "modify",
          "user",
          slurm.user.name,
          "where",
          "account=lab",
          "set",
          `MaxSubmitJobs=${most}`,
        ];
        execFileSync("sacctmgr", args, { env: { ...process.env, SLURM_CONF: slurm.slurmConf } });
      };
      t.onTestFinished(() => limit("-1"));
      limit("2");
      expect((await findings()).of("limits")).toMatchObject({
        level: "warning",
        found: expect.stringContaining("2 jobs may be queued and running, a chain keeps 3 there"),
      });
      expect((await findings("--ahead", "1")).of("limits")).toMatchObject({ level: "ok" });
    });
  },
);
