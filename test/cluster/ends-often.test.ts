/**
 * The ends that happen most, each with a whole chain: this is what is left of the many (ends.test.ts, ends-preemption.test.ts) in
 * the quick round. Those by the window's end, by exit status and by scancel of the running job are in chain.test.ts.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectExactlyOnce } from "../local/exactly-once.ts";
import { COUNTER } from "../local/harness.ts";
import { type Cluster, cluster, until } from "./cluster.ts";
import { counterThat, FINISH, WAIT } from "./counter-that.ts";
import { chainsOn, LONG } from "./make-chain.ts";
import type { SlurmProject } from "./slurm-project.ts";

const NOT_OURS = "nothing may be changed on a cluster that is not the tests' own";
const NO_CGROUP = "this cluster does not track processes by cgroup";

const found = await cluster();
const unavailable = "unavailable" in found ? found.unavailable : null;

describe.skipIf(unavailable !== null)(`the commonest ends${unavailable === null ? "" : ` (${unavailable})`}`, () => {
  const slurm = found as Cluster;
  const byCgroup = unavailable === null && slurm.tracking === "cgroup";
  const isAdmin = unavailable === null && slurm.faults !== null;
  const make = chainsOn(slurm);
  const put = (project: SlurmProject, name: string) => writeFileSync(join(project.folder, name), "");
  const asAdmin = async (program: string, ...args: readonly string[]) => slurm.faults?.asAdmin(program, args);

  describe.concurrent("in a job of its own", () => {
    it("more memory than it has is out-of-memory, with the advice to give it more", async (t) => {
      t.skip(!byCgroup, NO_CGROUP);
      // tail keeps what it reads, and there is no end of it.
      const project = await make(t, counterThat({ "*.5": "tail /dev/zero; exit $?" }), {
        ...LONG,
        total: 100,
        slurm: { memory: "120M" },
        budgets: { failures: 1 },
      });
      await project.advance();
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["out-of-memory hold"]);
      const { settled } = await project.attempt(1);
      expect(settled?.decision).toMatchObject({ advice: expect.stringContaining("give it more memory") });
      expectExactlyOnce(project.steps(), project.steps().length);
    });

    it("is out-of-memory too when the killer takes a worker and the application leaves with 0", async (t) => {
      t.skip(!byCgroup, NO_CGROUP);
      const project = await make(t, counterThat({ "*.5": "tail /dev/zero; exit 0" }), {
        ...LONG,
        checkpoint: null,
        slurm: { memory: "120M" },
      });
      await project.advance();
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["out-of-memory hold"]);
    });

    it("scancel of a queued successor lets the running one finish its window and stops there", async (t) => {
      const project = await make(t, COUNTER, {});
      await project.advance();
      await project.untilSteps(1, 5);
      const [second = ""] = await project.untilPending(2);
      await slurm.runAsUser("scancel", [second]);
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["checkpointed continue"]);
      const { settled } = await project.attempt(2);
      expect(settled).toMatchObject({
        verdict: "never-ran",
        decision: { kind: "stop", why: expect.stringContaining("by yourself"), advice: "stint resume JOB" },
      });
      expect((await project.attempt(1)).exited).toMatchObject({ windowEnded: true, exitCode: 99 });
      await project.untilQueueEmpty();
      expectExactlyOnce(project.steps(), project.steps().length);
    });

    it("a dependency that can never be met: the job is taken back, and another one is queued in its place", async (t) => {
      t.skip(!isAdmin, NOT_OURS);
      const project = await make(t, counterThat({ "1.5": `${WAIT}; exit 99` }), {
        ...LONG,
        total: 20,
      });
      await project.advance();
      await project.untilSteps(1, 5);
      const pending = await project.untilPending(2, 3);
      // Once the controller has forgotten it, it would count as met.
      const failing = (
        await slurm.runAsUser("sbatch", ["--parsable", "-o", "/dev/null", "--wrap", "exit 1"])
      ).stdout.trim();
      await until("a job has failed", async () => {
        const { stdout } = await slurm.runAsUser("squeue", ["-h", "-t", "failed", "-o", "%i"]);
        return stdout.split("\n").includes(failing) ? true : null;
      });
      for (const id of pending) await asAdmin("scontrol", "update", `JobId=${id}`, `Dependency=afterok:${failing}`);
      await until("Slurm has seen that", async () => {
        const { stdout } = await slurm.runAsUser("squeue", ["-h", "-j", pending.join(","), "-o", "%r"]);
        return /^(DependencyNeverSatisfied\n){2}$/.test(stdout) ? true : null;
      });
      put(project, "on");
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["checkpointed continue", "completed finish"]);
      expectExactlyOnce(project.steps(), 20);
      await project.untilQueueEmpty();
    });
  });

  // Afterwards: it takes a whole node.
  describe("by a job with more right to the node", () => {
    it("preemption by requeue takes a job that may not be requeued away: it saves, and the chain goes on", async (t) => {
      t.skip(!isAdmin, NOT_OURS);
      t.skip(!byCgroup, NO_CGROUP);
      const [first = "", ...others] = slurm.faults?.nodes ?? [];
      const project = await make(t, counterThat({ "[2-9].10": FINISH }), {
        ...LONG,
        total: 100_000,
        slurm: { partition: "scav", sbatch: [`--exclude=${others.join(",")}`] },
      });
      await project.advance();
      await project.untilSteps(1, 5);
      // From a partition that goes before: the whole node for three seconds.
      const whole = ["--partition=high", "--exclusive", `--nodelist=${first}`];
      await asAdmin("sbatch", ...whole, "--output=/dev/null", "--wrap=sleep 3");
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["preempted retry", "completed finish"]);
      const { exited, settled } = await project.attempt(1);
      expect(exited).toMatchObject({ exitCode: 99, endedBy: "scheduler", survivors: [] });
      expect(settled?.evidence).toMatchObject({ state: "PREEMPTED" });
      expectExactlyOnce(project.steps(), project.steps().length);
    });
  });
});
