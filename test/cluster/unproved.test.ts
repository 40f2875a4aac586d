/** Without control groups nobody but an attempt itself can say that its processes are gone: the chain is held, not guessed on. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectNothingLost } from "../local/exactly-once.ts";
import { COUNTER } from "../local/harness.ts";
import { anotherCluster, cluster, until } from "./cluster.ts";
import { chainsOn, LONG } from "./make-chain.ts";

const found = await cluster();
const unavailable = "unavailable" in found ? found.unavailable : whyNot();

describe.skipIf(unavailable !== null)(
  `a cluster that tracks processes by parentage${unavailable === null ? "" : ` (${unavailable})`}`,
  () => {
    let slurm: Awaited<ReturnType<typeof anotherCluster>>;

    beforeAll(async () => {
      slurm = await anotherCluster({ PROCTRACK: "linuxproc" });
    });
    afterAll(() => slurm.stop());

    it("holds a chain whose attempt is unproved while its application works on, and goes on by a person's word", async (t) => {
      const project = await chainsOn(slurm)(t, COUNTER, { ...LONG, total: 2_000 });
      await project.advance();
      await project.untilSteps(1, 5);
      const { body, guardian, tracking } = await project.started(1);
      expect(tracking).toBe("other");
      for (const pid of [guardian?.pid ?? 0, body.pid]) process.kill(pid, "SIGKILL");
      const id = await project.jobId(1);
      await until("Slurm takes its job for over", async () => ((await project.queued()).includes(id) ? null : true));
      await project.untilQueueEmpty();
      const { name } = project.spec;
      expect(await project.status()).toMatchObject({
        state: "held",
        reason: expect.stringContaining("attempt 1 unproved"),
        advice: expect.stringContaining(`stint resume ${name} --over 1`),
      });

      // It is over for Slurm alone.
      const before = project.stepsOf(1).length;
      await project.untilSteps(1, before + 5);
      await project.stint(["resume", name]);
      expect(await project.status()).toMatchObject({ state: "held" });
      expect(project.steps()).toEqual(project.stepsOf(1));

      // A person sees to it, and says so.
      for (const { pid } of project.processes(1)) process.kill(pid, "SIGKILL");
      await until("nothing of it is left", () => (project.processes(1).length === 0 ? true : null));
      const total = (project.steps().at(-1)?.step ?? 0) + 20;
      expect(await project.stint(["resume", name, "--over", "1", "--total", String(total)])).toMatchObject({
        exitCode: 0,
      });
      await project.watchToEnd();
      expect((await project.attempt(1)).settled).toMatchObject({
        verdict: "node-failed",
        evidence: { proof: { by: "F" } },
      });
      expect((await project.ends()).at(-1)).toBe("completed finish");
      expectNothingLost(project.steps(), total);
    });
  },
);

function whyNot(): string | null {
  if ("unavailable" in found) return found.unavailable;
  return found.faults === null ? "a second cluster can only be started beside the tests' own" : null;
}
