/**
 * Every way in which Slurm, its users or the application itself can end an attempt: what it is taken for, whether the chain
 * goes on, and that no step is lost and no two applications ever work at a time. Each chain is moved by its own jobs alone.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectExactlyOnce, expectNothingLost } from "../local/exactly-once.ts";
import { COUNTER } from "../local/harness.ts";
import { type Cluster, cluster, until } from "./cluster.ts";
import { counterThat, FINISH, WAIT } from "./counter-that.ts";
import { chainsOn, LONG } from "./make-chain.ts";
import type { SlurmProject } from "./slurm-project.ts";

const NOT_OURS = "nothing may be changed on a cluster that is not the tests' own";

const found = await cluster();
const unavailable = "unavailable" in found ? found.unavailable : null;

describe.skipIf(unavailable !== null)(`ends on a real Slurm${unavailable === null ? "" : ` (${unavailable})`}`, () => {
  const slurm = found as Cluster;
  const byCgroup = unavailable === null && slurm.tracking === "cgroup";
  const isAdmin = unavailable === null && slurm.faults !== null;
  const make = chainsOn(slurm);
  /** No attempt is over before something ends it. */
  const ENDLESS = { ...LONG, total: 100_000 };
  const put = (project: SlurmProject, name: string) => writeFileSync(join(project.folder, name), "");
  const asAdmin = async (program: string, ...args: readonly string[]) => slurm.faults?.asAdmin(program, args);
  const asOwner = async (program: string, ...args: readonly string[]) => {
    const { exitCode, stderr } = await slurm.runAsUser(program, args);
    if (exitCode !== 0) throw new Error(`${program} ${args.join(" ")}: ${stderr}`);
  };

  describe.concurrent("by the application", () => {
    it("exit 7 is retried, 99 and 124 are gone on with, and the total ends the chain", async (t) => {
      const project = await make(t, counterThat({ "1.5": "exit 7", "2.5": "exit 99", "3.5": "exit 124" }), {
        ...LONG,
        total: 20,
      });
      await project.advance();
      await project.watchToEnd();
      expect(await project.ends()).toEqual([
        "failed retry",
        "checkpointed continue",
        "checkpointed continue",
        "completed finish",
      ]);
      expect((await project.attempt(1)).settled?.evidence).toMatchObject({ exitCode: 7, why: "exit 7" });
      expectExactlyOnce(project.steps(), 20);
      await project.untilQueueEmpty();
    });

    it("exit 76 stops the chain, and its successors are taken back", async (t) => {
      const project = await make(t, counterThat({ "1.5": "exit 76" }), { ...LONG, total: 20 });
      await project.advance();
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["failed stop"]);
      expect((await project.attempt(1)).settled?.decision).toMatchObject({ why: "exit 76: nothing more to gain" });
      expectExactlyOnce(project.steps(), 5);
      await project.untilQueueEmpty();
      expect(await project.status()).toMatchObject({ state: "over", decision: "stop" });
    });

    it("a job that it has submitted itself keeps its own life: no part of the attempt, and never ended with it", async (t) => {
      const nested = [
        "#!/bin/bash",
        "trap 'echo TERM >>nested.log' TERM",
        "env >nested.env",
        'echo "$$" >nested.pid',
        "for i in {1..100}; do sleep 0.1; done",
        "echo ended >>nested.log",
      ].join("\n");
      const submit = "sbatch --parsable nested.sh >nested.id; until [ -e nested.pid ]; do sleep 0.1; done";
      // Killed, ended by its window's ladder, left by itself: each time everything that is left of the attempt is swept.
      const project = await make(
        t,
        counterThat({ "1.5": `${submit}; exit 99`, "2.5": "touch two; while :; do sleep 0.1; done", "3.5": "exit 99" }),
        { ...LONG, total: 20 },
        { files: { "nested.sh": nested } },
      );
      await project.advance();
      await project.untilFile("two");
      const nestedPid = Number(readFileSync(join(project.folder, "nested.pid"), "utf8"));
      expect(project.processes(1).map(({ pid }) => pid)).toContain(nestedPid);
      process.kill((await project.started(2)).body.pid, "SIGKILL");
      await project.watchToEnd();
      expect(await project.ends()).toEqual([
        "checkpointed continue",
        "node-failed retry",
        "checkpointed continue",
        "completed finish",
      ]);
      const log = () => join(project.folder, "nested.log");
      await until("the nested job has ended", () => (existsSync(log()) ? true : null));
      expect(readFileSync(log(), "utf8")).toBe("ended\n");
      const id = readFileSync(join(project.folder, "nested.id"), "utf8").trim();
      await until("accounting has its end", async () =>
        (await project.accounting([id]))[id] === "COMPLETED" ? true : null,
      );
      expectNothingLost(project.steps(), 20);
    });
  });

  describe.concurrent("by its owner", () => {
    it("scancel of a queued successor counts also when the running one never comes to hand over", async (t) => {
      t.skip(!byCgroup, "this cluster does not track processes by cgroup");
      const project = await make(t, COUNTER, { ...LONG, total: 1_000 });
      await project.advance();
      await project.untilSteps(1, 5);
      const [second = ""] = await project.untilPending(2, 3);
      await asOwner("scancel", second);
      await until("accounting names who did it", async () =>
        (await project.accounting([second]))[second]?.includes(" by ") === true ? true : null,
      );
      await project.kill(1, "all");
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["node-failed retry"]);
      expect((await project.attempt(2)).settled).toMatchObject({
        verdict: "never-ran",
        decision: { kind: "stop", why: expect.stringContaining("by yourself") },
      });
      expect(project.steps()).toEqual(project.stepsOf(1));
      await project.untilQueueEmpty();
    });

    it("scancel of all that is queued before anything ran stops the chain at the next look, and status says who must look", async (t) => {
      const project = await make(t, COUNTER, { total: 5, slurm: { sbatch: ["--begin=now+1hour"] } });
      await project.advance();
      const ids = await project.untilPending(1, 2);
      await asOwner("scancel", ...ids);
      await until("accounting names who did it", async () =>
        Object.values(await project.accounting(ids)).every((state) => state.includes(" by ")) ? true : null,
      );
      expect(await project.status()).toMatchObject({ state: "stranded", advice: `stint resume ${project.spec.name}` });
      expect(await project.drive()).toMatchObject({ kind: "over", decision: { kind: "stop" } });
      expect((await project.attempt(1)).settled).toMatchObject({
        verdict: "never-ran",
        decision: { why: expect.stringContaining("by yourself") },
      });
      expect(project.steps()).toEqual([]);
    });

    it("scancel -s TERM reaches nobody but a step; with --batch the application saves and the chain goes on", async (t) => {
      const project = await make(t, counterThat({ "[2-9].10": FINISH }), ENDLESS);
      await project.advance();
      await project.untilSteps(1, 5);
      const id = await project.jobId(1);
      await asOwner("scancel", "--signal=TERM", id);
      await project.untilSteps(1, 12);
      await asOwner("scancel", "--batch", "--signal=TERM", id);
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["checkpointed continue", "completed finish"]);
      const { exited, settled } = await project.attempt(1);
      expect(exited).toMatchObject({ exitCode: 99, endedBy: "scheduler", signalsReceived: [{ signal: "SIGTERM" }] });
      expect(settled?.evidence).toMatchObject({ why: "exit 99: saved, more to do, after SIGTERM from outside" });
      expectExactlyOnce(project.steps(), project.steps().length);
    });

    it("a hold makes the chain wait and says so, and a release lets it go on", async (t) => {
      const project = await make(t, counterThat({ "1.5": `${WAIT}; exit 99`, "*.15": FINISH }), ENDLESS);
      await project.advance();
      await project.untilSteps(1, 5);
      const held = await project.untilPending(2, 3);
      await asOwner("scontrol", "hold", ...held);
      put(project, "on");
      await until("the first is settled", async () => (await project.attempt(1)).settled);
      await until("its job has left", async () => ((await project.queued()).length === 2 ? true : null));
      expect(await project.status()).toMatchObject({
        state: "waiting",
        attempt: 2,
        reason: expect.stringContaining("JobHeldUser"),
      });
      await asOwner("scontrol", "release", ...held);
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["checkpointed continue", "completed finish"]);
      expectExactlyOnce(project.steps(), project.steps().length);
    });

    it("a requeue ends the attempt: its second start does nothing, and a waiting successor goes on", async (t) => {
      t.skip(!isAdmin, NOT_OURS);
      const project = await make(t, counterThat({ "[2-9].10": FINISH }), ENDLESS);
      await project.advance();
      await project.untilSteps(1, 5);
      await project.untilPending(2, 3);
      const id = await project.jobId(1);
      await asOwner("scontrol", "update", `JobId=${id}`, "Requeue=1");
      await asOwner("scontrol", "requeue", id);
      await project.watchToEnd();
      const [first, second] = await project.ran();
      expect(first?.settled).toMatchObject({ decision: { kind: expect.stringMatching(/continue|retry/) } });
      expect(["checkpointed", "preempted"]).toContain(first?.settled?.verdict);
      expect(second?.settled?.verdict).toBe("completed");
      expect(await project.ran()).toHaveLength(2);
      expect(project.textOf(1, "runner.log")).toContain("requeued by the site (restart 1): left");
      expectExactlyOnce(project.steps(), project.steps().length);
      await project.untilQueueEmpty();
    });
  });

  describe.skipIf(!isAdmin).concurrent(`by an administrator${isAdmin ? "" : ` (${NOT_OURS})`}`, () => {
    it("scancel of the running job holds the chain until its owner resumes it", async (t) => {
      const project = await make(t, counterThat({ "[2-9].10": FINISH }), ENDLESS);
      await project.advance();
      await project.untilSteps(1, 5);
      await asAdmin("scancel", await project.jobId(1));
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["cancelled hold"]);
      const { settled, exited } = await project.attempt(1);
      expect(settled).toMatchObject({
        decision: {
          why: expect.stringContaining("by another user"),
          advice: expect.stringContaining("stint resume JOB"),
        },
        evidence: { state: "CANCELLED" },
      });
      expect(exited).toMatchObject({ exitCode: 99, endedBy: "scheduler", survivors: [] });
      await project.untilQueueEmpty();
      expect(await project.status()).toMatchObject({ state: "held", reason: expect.stringContaining("another user") });
      expect(await project.stint(["resume", project.spec.name])).toMatchObject({ exitCode: 0 });
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["cancelled hold", "completed finish"]);
      expectExactlyOnce(project.steps(), project.steps().length);
    });

    it("scancel of everything that is queued: the running one sees it at its end and queues anew", async (t) => {
      const project = await make(t, counterThat({ "1.5": `${WAIT}; exit 99`, "*.15": FINISH }), ENDLESS);
      await project.advance();
      await project.untilSteps(1, 5);
      await asAdmin("scancel", ...(await project.untilPending(2, 3)));
      put(project, "on");
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["checkpointed continue", "completed finish"]);
      const attempts = await project.attempts();
      expect([attempts[1], attempts[2]].map((one) => one?.settled)).toMatchObject([
        { verdict: "never-ran", decision: { kind: "retry" } },
        { verdict: "never-ran", decision: { kind: "retry" } },
      ]);
      expect(attempts[1]?.settled?.evidence.why).toContain("CANCELLED by uid 0");
      expectExactlyOnce(project.steps(), project.steps().length);
    });

    it("scancel of the first before it ran: the next one in the queue starts, and the chain never stood still", async (t) => {
      const project = await make(t, COUNTER, { ...LONG, total: 10, slurm: { sbatch: ["--hold"] } });
      await project.advance();
      const [first = "", second = ""] = await project.untilPending(1, 2);
      await asAdmin("scancel", first);
      await asOwner("scontrol", "release", second);
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["completed finish"]);
      expect((await project.attempt(1)).settled?.verdict).toBe("never-ran");
      expectExactlyOnce(project.steps(), 10);
    });

    it("a limit that is extended while the attempt runs gives it a longer window", async (t) => {
      // 42 s as submitted; the limit is read again 30 s before the end.
      const project = await make(t, COUNTER, { limitMs: 60_000, marginMs: 18_000 });
      await project.advance();
      await project.untilSteps(1, 1);
      const { go } = await project.attempt(1);
      await asAdmin("scontrol", "update", `JobId=${await project.jobId(1)}`, "TimeLimit=+1");
      await until("the first window is over", () => (Date.now() > (go?.atMs ?? 0) + 44_000 ? true : null));
      expect((await project.attempt(1)).exited).toBeNull();
      await project.stop("cancel");
      await project.watchToEnd();
      expect((await project.attempt(1)).exited?.ranMs).toBeGreaterThan(43_000);
    });
  });

  describe.concurrent("by what happens to its files and processes", () => {
    it("all of our processes killed at once: the cgroup proves it over, and the next one goes on", async (t) => {
      t.skip(!byCgroup, "this cluster does not track processes by cgroup");
      const project = await make(t, counterThat({ "[2-9].10": FINISH }), ENDLESS);
      await project.advance();
      await project.untilSteps(1, 5);
      await project.kill(1, "all");
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["node-failed retry", "completed finish"]);
      const { settled, exited } = await project.attempt(1);
      expect(exited).toBeNull();
      expect(settled?.evidence).toMatchObject({ state: "FAILED", proof: { by: "C" } });
      expectNothingLost(project.steps(), project.steps().at(-1)?.step ?? 0);
    });

    it("the folder of a queued attempt removed: its job comes to nothing, and the chain goes on", async (t) => {
      const project = await make(t, counterThat({ "1.5": `${WAIT}; exit 99`, "*.15": FINISH }), ENDLESS);
      await project.advance();
      await project.untilSteps(1, 5);
      await project.untilPending(2, 3);
      rmSync(project.attemptFolder(2), { recursive: true });
      put(project, "on");
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["checkpointed continue", "completed finish"]);
      expectExactlyOnce(project.steps(), project.steps().length);
      await project.untilQueueEmpty();
    });

    it("the folder of the application's output removed: it is made again", async (t) => {
      const project = await make(
        t,
        counterThat({ "1.10": "echo one; exit 99", "2.10": "echo two" }),
        { ...LONG, total: 20 },
        { spec: (folder) => ({ output: { stdout: join(folder, "out/of/it.log"), stderr: null } }) },
      );
      await project.advance();
      await project.untilSteps(1, 5);
      rmSync(join(project.folder, "out"), { recursive: true });
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["checkpointed continue", "completed finish"]);
      expect(readFileSync(join(project.folder, "out/of/it.log"), "utf8")).toBe("two\n");
      expectExactlyOnce(project.steps(), 20);
    });

    it("once the controller has forgotten the job, accounting and the cgroup prove it over", async (t) => {
      t.skip(!byCgroup, "this cluster does not track processes by cgroup");
      const project = await make(t, counterThat({ "[2-9].10": FINISH }), ENDLESS);
      await project.advance();
      await project.untilSteps(1, 5);
      const queued = await project.untilPending(2, 3);
      await asOwner("scontrol", "hold", ...queued);
      await project.kill(1, "all");
      const id = await project.jobId(1);
      await until("the controller has forgotten the job", async () => {
        const { stdout } = await slurm.runAsUser("squeue", ["-h", "-t", "all", "-u", slurm.user.name, "-o", "%i"]);
        return stdout.split("\n").includes(id) ? null : true;
      });
      await asOwner("scontrol", "release", ...queued);
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["node-failed retry", "completed finish"]);
      expect((await project.attempt(1)).settled?.evidence).toMatchObject({ state: "FAILED", proof: { by: "C" } });
      expectNothingLost(project.steps(), project.steps().at(-1)?.step ?? 0);
    });
  });
});
