/** Ends that come from the node or from a job with more right to it. Nothing else runs on the cluster meanwhile. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectExactlyOnce, expectNothingLost } from "../local/exactly-once.ts";
import { COUNTER } from "../local/harness.ts";
import { type Cluster, cluster, type Faults, until } from "./cluster.ts";
import { counterThat, FINISH, WAIT } from "./counter-that.ts";
import { chainsOn, LONG } from "./make-chain.ts";
import type { SlurmProject } from "./slurm-project.ts";

/** The first attempt has no end of its own, the next one is soon done. */
const ENDLESS = counterThat({ "[2-9].10": FINISH });

const found = await cluster();
const slurm = found as Cluster;
const unavailable = "unavailable" in found ? found.unavailable : whyNot();

describe
  .skipIf(unavailable !== null)
  .concurrent(`a node is taken away${unavailable === null ? "" : ` (${unavailable})`}`, () => {
    const faults = slurm.faults as Faults;
    const [first = "", second = "", third = "", fourth = ""] = faults?.nodes ?? [];
    const make = chainsOn(slurm);
    /** Takes the whole node for three seconds, from a partition that goes before. */
    const pushOut = (node: string) =>
      faults.asAdmin("sbatch", [
        "--partition=high",
        "--exclusive",
        `--nodelist=${node}`,
        "--output=/dev/null",
        "--wrap=sleep 3",
      ]);
    const nodeOf = async (project: SlurmProject) => (await project.started(1)).nodes[0] ?? "";

    it("preemption by requeue of a job that somebody has made requeueable: its second start does nothing", async (t) => {
      const project = await make(t, ENDLESS, {
        ...LONG,
        total: 100_000,
        slurm: { partition: "scav", sbatch: [`--exclude=${first},${third},${fourth}`] },
      });
      await project.advance();
      await project.untilSteps(1, 5);
      await faults.asAdmin("scontrol", ["update", `JobId=${await project.jobId(1)}`, "Requeue=1"]);
      await pushOut(await nodeOf(project));
      await project.watchToEnd();
      const ran = await project.ran();
      expect(ran.map(({ settled }) => settled?.verdict)).toEqual(["preempted", "completed"]);
      expect(project.textOf(1, "runner.log")).toContain("requeued by the site");
      expectExactlyOnce(project.steps(), project.steps().length);
    });

    it("preemption by cancel with a grace time: the batch script hears of it when the grace is over, and it saves", async (t) => {
      const project = await make(t, ENDLESS, {
        ...LONG,
        total: 100_000,
        slurm: { partition: "scavkill", sbatch: [`--exclude=${first},${second},${fourth}`] },
      });
      await project.advance();
      await project.untilSteps(1, 5);
      await pushOut(await nodeOf(project));
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["preempted retry", "completed finish"]);
      expect((await project.attempt(1)).exited).toMatchObject({ exitCode: 99, survivors: [] });
      expectExactlyOnce(project.steps(), project.steps().length);
    });

    it("an administrator takes the node down: node-failed, and the next one goes on", async (t) => {
      const project = await make(t, ENDLESS, {
        ...LONG,
        total: 100_000,
        slurm: { sbatch: [`--exclude=${first},${second},${third}`] },
      });
      await project.advance();
      await project.untilSteps(1, 5);
      const node = await nodeOf(project);
      t.onTestFinished(() => faults.putInService(node));
      const queued = await project.untilPending(2, 3);
      for (const id of queued) await faults.asAdmin("scontrol", ["update", `JobId=${id}`, "ExcNodeList="]);
      await faults.takeDown(node);
      await project.watchToEnd();
      const ran = await project.ran();
      expect(ran.map(({ settled }) => settled?.verdict)).toEqual(["node-failed", "completed"]);
      expect(ran[0]?.settled?.evidence).toMatchObject({ state: "NODE_FAIL" });
      expectNothingLost(project.steps(), project.steps().at(-1)?.step ?? 0);
    });
  });

describe.skipIf(unavailable !== null)(`a node is not well${unavailable === null ? "" : ` (${unavailable})`}`, () => {
  const faults = slurm.faults as Faults;
  const make = chainsOn(slurm);

  it("a Prolog that fails: the attempt never ran, and the next one goes to another node", async (t) => {
    // Every job of the chain would like this node best; only the first one gets there.
    const [node = ""] = faults.nodes;
    await faults.failProlog(node);
    t.onTestFinished(() => faults.putInService(node));
    const others = faults.nodes.filter((name) => name !== node).join(",");
    const project = await make(t, COUNTER, { ...LONG, total: 20, slurm: { sbatch: ["--hold"] } });
    await project.advance();
    const [first = "", second = ""] = await project.untilPending(1, 2);
    await faults.asAdmin("scontrol", ["update", `JobId=${first}`, `ExcNodeList=${others}`]);
    await faults.asAdmin("scontrol", ["release", first, second]);
    await project.watchToEnd();
    const attempts = await project.attempts();
    expect(attempts[0]).toMatchObject({ started: null, settled: { verdict: "never-ran" } });
    expect(await project.ends()).toEqual(["completed finish"]);
    expectExactlyOnce(project.steps(), 20);
  });

  it("a deadline costs nothing but the queued job that misses it: Slurm ends no running job for one", async (t) => {
    const [node = ""] = faults.nodes;
    const whole = ["--exclusive", `--nodelist=${node}`];
    const before = await faults.asAdmin("sbatch", ["--parsable", ...whole, "--output=/dev/null", "--wrap=sleep 600"]);
    t.onTestFinished(async () => {
      await faults.asAdmin("scancel", [before.trim()]);
    });
    const project = await make(t, counterThat({ "*.5": WAIT }), { ...LONG, total: 20, slurm: { sbatch: whole } });
    await project.advance();
    const [first = ""] = await project.untilPending(1, 2);
    const missDeadline = (id: string) => faults.asAdmin("scontrol", ["update", `JobId=${id}`, "Deadline=now+2"]);
    await missDeadline(first);
    await until("the first has missed it", async () =>
      (await project.accounting([first]))[first] === "DEADLINE" ? true : null,
    );
    await faults.asAdmin("scancel", [before.trim()]);
    await project.untilSteps(2, 5);
    await missDeadline(await project.jobId(2));
    const setAt = Date.now();
    await until("that was long ago", () => (Date.now() - setAt > 5_000 ? true : null));
    writeFileSync(join(project.folder, "on"), "");
    await project.watchToEnd();
    expect(await project.ends()).toEqual(["completed finish"]);
    expect((await project.attempt(1)).settled?.verdict).toBe("never-ran");
    expectExactlyOnce(project.steps(), 20);
  });

  it("a slurmd that is killed and started again costs the attempts on its node nothing", async (t) => {
    const project = await make(t, counterThat({ "1.40": WAIT }), { ...LONG, total: 60 });
    await project.advance();
    await project.untilSteps(1, 5);
    const [node = ""] = (await project.started(1)).nodes;
    await faults.killNodeDaemon(node);
    let dead = true;
    const start = async () => {
      if (dead) await faults.startNodeDaemon(node);
      dead = false;
    };
    t.onTestFinished(start);
    await project.untilSteps(1, 40);
    await start();
    writeFileSync(join(project.folder, "on"), "");
    await project.watchToEnd();
    expect(await project.ends()).toEqual(["completed finish"]);
    expectExactlyOnce(project.steps(), 60);
    await project.untilQueueEmpty();
  });
});

function whyNot(): string | null {
  if (slurm.faults === null) return "nothing may be broken on a cluster that is not the tests' own";
  return slurm.tracking === "cgroup"
    ? null
    : "this cluster does not track processes by cgroup: nothing is proved there";
}
