/** The controller or accounting does not answer, or comes back without a memory: no wrong verdict, no second application. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { expectExactlyOnce, expectNothingLost } from "../local/exactly-once.ts";
import { COUNTER } from "../local/harness.ts";
import { type Cluster, cluster, type Faults, until } from "./cluster.ts";
import { counterThat, WAIT } from "./counter-that.ts";
import { chainsOn, LONG } from "./make-chain.ts";
import { type SlurmProject, TIMING } from "./slurm-project.ts";

/** Longer than sbatch waits for its answer. */
const OUTAGE_MS = 60_000;

/** sbatch that is held back while there is `hold`, until there is `go`: the test then does what it does to the real one. */
const HELD_BACK = `#!/bin/bash
here=\${0%/*}
if [ -e "$here/hold" ]; then touch "$here/submitting"; until [ -e "$here/go" ]; do sleep 0.05; done; fi
PATH=\${PATH#*:}
exec sbatch "$@"
`;

const found = await cluster();
const slurm = found as Cluster;
const unavailable = "unavailable" in found ? found.unavailable : whyNot();

describe.skipIf(unavailable !== null)(
  `the controller is away${unavailable === null ? "" : ` (${unavailable})`}`,
  () => {
    const faults = slurm.faults as Faults;
    const make = chainsOn(slurm);

    async function stopController(t: TestContext): Promise<() => Promise<void>> {
      let stopped = true;
      const goOn = async () => {
        if (stopped) await faults.continueController();
        stopped = false;
      };
      t.onTestFinished(goOn);
      await faults.stopController();
      return goOn;
    }

    async function stopAccounting(t: TestContext, how: "refuses" | "hangs"): Promise<() => Promise<void>> {
      let stopped = true;
      const goOn = async () => {
        if (stopped) await faults.continueAccounting();
        stopped = false;
      };
      t.onTestFinished(goOn);
      await faults.stopAccounting(how);
      return goOn;
    }

    it("at the end of an attempt it is settled from the folder alone; a job whose sbatch got no answer (Socket timed out, yet accepted) is found and never submitted twice", async (t) => {
      const ending = await make(t, counterThat({ "1.5": `${WAIT}; exit 99` }), {
        ...LONG,
        total: 60,
      });
      const queueing = await make(
        t,
        counterThat({ "1.5": `${WAIT}; exit 99` }),
        {
          ...LONG,
          total: 40,
          ahead: 1,
          timing: { ...TIMING, unclearMs: 120_000 },
          slurm: { sbatch: ["--begin=now+3"] },
        },
        { files: { sbatch: HELD_BACK }, environment: (folder) => ({ PATH: `${folder}:${slurm.environment.PATH}` }) },
      );
      const put = (project: SlurmProject, name: string) => writeFileSync(join(project.folder, name), "");
      await ending.advance();
      await queueing.advance();
      put(queueing, "hold");
      await ending.untilSteps(1, 5);
      await ending.untilPending(2, 3);
      // The body of the first is about to queue the second.
      await queueing.untilFile("submitting");
      const goOn = await stopController(t);
      const stoppedAt = Date.now();
      put(queueing, "go");
      put(ending, "on");
      const settled = await until("the first is settled", async () => (await ending.attempt(1)).settled);
      expect(settled).toMatchObject({ verdict: "checkpointed", evidence: { proof: { by: "B" } } });
      await until("sbatch gave up", () =>
        /attempt 2 got no clear answer: .*Socket timed out/.test(queueing.textOf(1, "runner.log")) ? true : null,
      );
      await until("the outage is over", () => (Date.now() - stoppedAt > OUTAGE_MS ? true : null), {
        timeoutMs: 90_000,
      });
      expect(ending.stepsOf(2)).toEqual([]);
      await goOn();

      const submitted = await until("its job is on file", async () => (await queueing.attempt(2)).submitted);
      expect(submitted.by).toBe("adopted");
      put(queueing, "on");
      for (const [project, total] of [
        [ending, 60],
        [queueing, 40],
      ] as const) {
        await project.watchToEnd();
        expect(await project.ends()).toEqual(["checkpointed continue", "completed finish"]);
        expectExactlyOnce(project.steps(), total);
        await project.untilQueueEmpty();
      }
      const jobs = (await queueing.attempts()).filter((one) => one.submitted !== null);
      await until("accounting knows each job", async () => {
        const { stdout } = await slurm.runAsUser("sacct", ["-n", "-X", `--name=${queueing.spec.name}`, "-o", "jobid"]);
        return stdout.trim().split("\n").length === jobs.length ? true : null;
      });
    });

    // sacct is waited for 45 s at each look that needs it, and two of them are needed here.
    it.for(["refuses", "hangs"] as const)(
      "accounting is away for the whole chain (it %s): what needs no account is judged all the same",
      async (how, t) => {
        const goOn = await stopAccounting(t, how);
        const project = await make(t, counterThat({ "1.20": "exit 99" }), { ...LONG, total: 60 });
        await project.advance();
        await project.untilSteps(2, 5);
        // Nobody is left to testify: the controller's word and the cgroup must do.
        await project.kill(2, "runner");
        await until("the third one is settled", async () => (await project.ran())[2]?.settled ?? null, {
          timeoutMs: 120_000,
        });
        expect(await project.ends()).toEqual(["checkpointed continue", "node-failed retry", "completed finish"]);
        expect((await project.attempt(2)).settled?.evidence).toMatchObject({ state: "FAILED", proof: { by: "C" } });
        expectNothingLost(project.steps(), 60);
        await project.untilQueueEmpty();
        expect(await project.status()).toMatchObject({ state: "over", decision: "finish" });
        await goOn();
      },
    );

    it("accounting is late: who cancelled the job is waited for, and the verdict is the right one", async (t) => {
      const project = await make(t, COUNTER, { ...LONG, total: 200 });
      await project.advance();
      await project.untilSteps(1, 5);
      const goOn = await stopAccounting(t, "hangs");
      await slurm.runAsUser("scancel", [await project.jobId(1)]);
      await project.started(2);
      const stoppedAt = Date.now();
      await until("accounting is still away", () => (Date.now() - stoppedAt > 5_000 ? true : null));
      expect((await project.attempt(1)).settled).toBeNull();
      expect(project.stepsOf(2)).toEqual([]);
      await goOn();
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["cancelled stop"]);
      expect((await project.attempt(1)).settled?.decision).toMatchObject({
        why: expect.stringContaining("by yourself"),
      });
      await project.untilQueueEmpty();
    });
  },
);

function whyNot(): string | null {
  if (slurm.faults === null) return "nothing may be broken on a cluster that is not the tests' own";
  return slurm.tracking === "cgroup"
    ? null
    : "this cluster does not track processes by cgroup: nothing is proved there";
}
