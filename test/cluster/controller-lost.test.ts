/** The controller comes back without its memory: no job is known to it, and it gives away their numbers again. */
import { describe, expect, it } from "vitest";
import { expectNothingLost } from "../local/exactly-once.ts";
import { COUNTER } from "../local/harness.ts";
import { type Cluster, cluster, type Faults, until } from "./cluster.ts";
import { chainsOn, LONG } from "./make-chain.ts";

const found = await cluster();
const slurm = found as Cluster;
const unavailable = "unavailable" in found ? found.unavailable : whyNot();

describe.skipIf(unavailable !== null)(
  `a controller that has lost its state${unavailable === null ? "" : ` (${unavailable})`}`,
  () => {
    const faults = slurm.faults as Faults;
    const make = chainsOn(slurm);

    it("strands the chain, which says so; no other job with the number of one of its own is taken for it or cancelled, and a resume goes on", async (t) => {
      const project = await make(t, COUNTER, { ...LONG, total: 250 });
      await project.advance();
      await project.untilSteps(1, 5);
      await project.untilPending(2, 3);
      const id = await project.jobId(1);
      const [node = ""] = (await project.started(1)).nodes;
      t.onTestFinished(() => faults.putInService(node));
      await faults.loseController(Number(id));
      // On the node where the first one is Slurm itself would notice.
      const wrap = ["--no-requeue", `--exclude=${node}`, "--output=/dev/null", "--wrap=sleep 300"];
      const another = (await slurm.runAsUser("sbatch", ["--parsable", ...wrap])).stdout.trim();
      t.onTestFinished(async () => {
        await slurm.runAsUser("scancel", [another]);
      });
      expect(another).toBe(id);
      const stateOf = async () => (await slurm.runAsUser("squeue", ["-h", "-j", id, "-o", "%T"])).stdout.trim();
      await until("the other job runs", async () => ((await stateOf()) === "RUNNING" ? true : null));

      // The node has heard that nobody knows its job.
      await until("nothing of the first is left", () => (project.processes(1).length === 0 ? true : null));
      const done = project.steps().length;
      expect(done).toBeLessThan(250);
      expect(await project.status()).toMatchObject({ state: "stranded", advice: `stint resume ${project.spec.name}` });
      expect(await project.stint(["resume", project.spec.name])).toMatchObject({ exitCode: 0 });
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["node-failed retry", "completed finish"]);
      expect((await project.attempt(1)).settled?.evidence).toMatchObject({ proof: { by: "D" } });
      expectNothingLost(project.steps(), 250);
      await project.untilQueueEmpty();
      expect(await stateOf()).toBe("RUNNING");
    });
  },
);

function whyNot(): string | null {
  if (slurm.faults === null) return "nothing may be broken on a cluster that is not the tests' own";
  return slurm.tracking === "cgroup"
    ? null
    : "this cluster does not track processes by cgroup: nothing is proved there";
}
