/** sbatch says no: what was typed wrong is said at once, and what a chain needs is asked for again until it is given. */
import { describe, expect, it } from "vitest";
import { expectExactlyOnce } from "../local/exactly-once.ts";
import { COUNTER } from "../local/harness.ts";
import { type Cluster, cluster, type Faults, until } from "./cluster.ts";
import { counterThat } from "./counter-that.ts";
import { chainsOn, LONG } from "./make-chain.ts";
import type { SlurmProject } from "./slurm-project.ts";

const found = await cluster();
const slurm = found as Cluster;
const unavailable = "unavailable" in found ? found.unavailable : whyNot();

describe.skipIf(unavailable !== null)(
  `a submit that Slurm refuses${unavailable === null ? "" : ` (${unavailable})`}`,
  () => {
    const faults = slurm.faults as Faults;
    const make = chainsOn(slurm);
    const refusals = (project: SlurmProject, number: number) =>
      [...project.textOf(number, "runner.log").matchAll(/not submitted: (.*)/g)].map(([, why = ""]) => why);

    it("for good, by partition or account: it is said at once, nothing is queued, and the same name may be typed again", async (t) => {
      const project = await make(t, COUNTER, { total: 5 });
      const words = ["--limit", "10m", "--margin", "10s", "--checkpoint", "state.txt", "--total", "5"];
      const submit = (...more: readonly string[]) =>
        project.stint(["submit", "--name", "typed", ...words, ...more, "--", "bash", "app.sh"]);
      for (const wrong of [["--partition=nosuch"], ["--account=nosuch"]]) {
        const refused = await submit(...wrong);
        expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/nosuch|Invalid account/) });
        expect((await slurm.runAsUser("squeue", ["-h", "-n", "typed"])).stdout).toBe("");
      }
      expect(await submit()).toMatchObject({ exitCode: 0 });
      expect(await project.stint(["wait", "typed"])).toMatchObject({ exitCode: 0 });
      expectExactlyOnce(project.steps(), 5);
    });

    it("by a limit of two jobs: the chain goes on with one successor at a time", async (t) => {
      await faults.limitSubmits("user", 2);
      t.onTestFinished(() => faults.limitSubmits("user", null));
      const project = await make(t, counterThat({ "*.10": "exit 99" }), { ...LONG, total: 25 });
      await project.advance();
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["checkpointed continue", "checkpointed continue", "completed finish"]);
      expect(refusals(project, 1).join("\n")).toMatch(/MaxSubmitJob/);
      expectExactlyOnce(project.steps(), 25);
    });

    it("by a limit of one job: it asks again while it can, is stranded and says so when it can't, and a resume goes on", async (t) => {
      await faults.limitSubmits("user", 1);
      t.onTestFinished(() => faults.limitSubmits("user", null));
      const project = await make(t, counterThat({ "*.10": "exit 99" }), { ...LONG, total: 25 });
      await project.advance();
      await until("the first is settled", async () => (await project.attempt(1)).settled);
      const asked = refusals(project, 1).length;
      await until("it has asked again", () => (refusals(project, 1).length > asked ? true : null));
      await faults.limitSubmits("user", null);
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["checkpointed continue", "checkpointed continue", "completed finish"]);
      expectExactlyOnce(project.steps(), 25);

      // This one's job is gone before the limit is lifted.
      await faults.limitSubmits("user", 1);
      const late = await make(t, counterThat({ "*.10": "exit 99" }), { ...LONG, total: 25 });
      await late.advance();
      await until("the first is settled", async () => (await late.attempt(1)).settled);
      await late.kill(1, "runner");
      await late.untilQueueEmpty();
      expect(await late.status()).toMatchObject({ state: "stranded", advice: `stint resume ${late.spec.name}` });
      expect(await late.stint(["status"])).toMatchObject({ exitCode: 1, stdout: expect.stringContaining("stranded") });
      await faults.limitSubmits("user", null);
      expect(await late.stint(["resume", late.spec.name])).toMatchObject({ exitCode: 0 });
      await late.watchToEnd();
      expect(await late.ends()).toEqual(["checkpointed continue", "checkpointed continue", "completed finish"]);
      expectExactlyOnce(late.steps(), 25);
    });

    it.for([
      ["a closed partition", /partition not available/i],
      ["a limit of the account", /GrpSubmitJob/],
    ] as const)("meanwhile, by %s: it asks again, and goes on when it may", async ([what, why], t) => {
      const close = what === "a closed partition" ? faults.closePartition : () => faults.limitSubmits("account", 1);
      const open = what === "a closed partition" ? faults.openPartition : () => faults.limitSubmits("account", null);
      const project = await make(t, counterThat({ "1.40": "exit 99" }), {
        limitMs: 240_000,
        marginMs: 10_000,
        total: 50,
        slurm: { partition: "short" },
      });
      await project.advance();
      await project.untilSteps(1, 1);
      const queued = await project.untilPending(2, 3);
      await close();
      t.onTestFinished(open);
      // What is queued stays queued: only a new job is refused.
      await faults.asAdmin("scancel", queued);
      await until("it was refused", () => (refusals(project, 1).length > 0 ? true : null));
      await open();
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["checkpointed continue", "completed finish"]);
      expect(refusals(project, 1)[0]).toMatch(why);
      expectExactlyOnce(project.steps(), 50);
    });
  },
);

function whyNot(): string | null {
  return slurm.faults === null ? "nothing may be changed on a cluster that is not the tests' own" : null;
}
