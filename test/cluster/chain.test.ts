/** Whole chains on a real Slurm, as a user who is not root: nothing moves them but their own jobs. */
import { copyFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, type TestContext } from "vitest";
import { accountConflicts, type JobSpec } from "../../src/core/index.ts";
import { expectNothingLost } from "../local/exactly-once.ts";
import { COUNTER } from "../local/harness.ts";
import { type Cluster, cluster, until } from "./cluster.ts";
import { callsSince, callsToController } from "./controller-calls.ts";
import { SlurmProject, WINDOW_MS } from "./slurm-project.ts";

const CLI = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const COUNT = fileURLToPath(new URL("../../examples/count.sh", import.meta.url));

const found = await cluster();
const unavailable = "unavailable" in found ? found.unavailable : null;

describe.skipIf(unavailable !== null)(
  `a chain on a real Slurm${unavailable === null ? "" : ` (${unavailable})`}`,
  () => {
    const slurm = found as Cluster;
    const byCgroup = unavailable === null && slurm.tracking === "cgroup";

    function make(t: TestContext, script: string, changes: Partial<JobSpec>): Promise<SlurmProject> {
      return SlurmProject.make({
        slurm,
        files: { "app.sh": script },
        spec: () => changes,
        onFinished: (cleanup) => t.onTestFinished(cleanup),
      });
    }

    it("runs the counting example through several window ends to its total, each step once, with few calls to the controller", async (t) => {
      const total = 60;
      const project = await make(t, readFileSync(COUNT, "utf8"), {
        command: { kind: "shell", text: "bash app.sh" },
        total,
        env: { STEP_SEC: "0.3" },
        checkpointEvery: "20",
      });
      expect(await project.advance()).toMatchObject({ kind: "going", attempt: 1 });
      const before = await callsToController(slurm);
      expect(await project.watchToEnd()).toMatchObject({ decision: { kind: "finish" } });
      const calls = callsSince(before, await callsToController(slurm));
      await project.untilQueueEmpty();

      const ran = await project.ran();
      expect(ran.length).toBeGreaterThanOrEqual(3);
      expect(ran.slice(0, -1).map(({ settled }) => settled?.verdict)).toEqual(ran.slice(1).map(() => "checkpointed"));
      expect(ran.at(-1)?.settled?.verdict).toBe("completed");
      const output = ran.map(({ number }) => project.textOf(number, "stdout.log")).join("");
      const steps = [...output.matchAll(/^step (\d+)$/gm)].map(([, step]) => Number(step));
      expect(steps).toEqual(Array.from({ length: total }, (_, i) => i + 1));

      for (const [i, { number, go, started, submitted, exited }] of ran.entries()) {
        expect(exited).toMatchObject({ by: "body", survivors: [], windowEnded: i < ran.length - 1 });
        expect(started).toMatchObject({ ref: submitted?.ref, restartCount: 0 });
        if (started?.tracking === "cgroup") expect(started.cgroup).toMatch(new RegExp(`/job_${submitted?.id}$`));
        const below = ran[i - 1];
        if (below === undefined || go?.what !== "start") continue;
        expect(go.proofs).toMatchObject([{ attempt: number - 1, by: "B" }]);
        expect(go.atMs).toBeGreaterThanOrEqual(below.exited?.atMs ?? Number.POSITIVE_INFINITY);
      }
      // A body asks for the accounts of those below it, in the middle of its window: that of the first is on file by now.
      const [first] = ran;
      const accounting = await project.accountOf(1);
      expect(accounting).toMatchObject({ scheduler: "slurm", final: true, rows: [{ state: "COMPLETED", run: 0 }] });
      expect(accounting?.rows[0]).toMatchObject({
        ref: first?.started?.ref,
        exitCode: 0,
        nodes: first?.started?.nodes,
      });
      expect(accounting?.rows[0]?.steps.map(({ step }) => step)).toContain("batch");
      expect(accounting?.rows[0]?.cpuTotalMs).toBeGreaterThan(0);
      expect(first !== undefined && accounting !== null && accountConflicts(first, accounting)).toEqual([]);
      // Two successors are queued behind the last one: taken back, and none of them has run.
      const attempts = await project.attempts();
      const withdrawn = attempts.slice(ran.length);
      expect(withdrawn.map(({ settled }) => settled?.verdict)).toEqual(["never-ran", "never-ran"]);
      // Each attempt is a job of its own.
      const ids = attempts.map(({ submitted }) => submitted?.id ?? "");
      expect(new Set(ids).size).toBe(attempts.length);
      const states = await project.accounting(ids);
      const cancelled = `CANCELLED by ${slurm.user.uid}`;
      expect(ids.map((id) => states[id])).toEqual([...ran.map(() => "COMPLETED"), ...withdrawn.map(() => cancelled)]);

      const handOvers = ran.slice(1).map(({ go }, i) => ((go?.atMs ?? 0) - (ran[i]?.exited?.atMs ?? 0)) / 1000);
      console.log(
        `${ran.length} attempts with windows of ${WINDOW_MS / 1000} s; hand-over took ${handOvers.map((s) => s.toFixed(2)).join(", ")} s; ${calls.total} calls to the controller: ${calls.text}`,
      );
      // Protocol §5, and what the end of the chain takes: cancels, and looks at what they did.
      // On a cluster that others use too the count is theirs as well.
      if (slurm.faults !== null) expect(calls.total).toBeLessThanOrEqual(5 * ran.length + 4);
    });

    describe.concurrent("when something ends an attempt", () => {
      if (byCgroup)
        it("takes TIMEOUT for the end of a window where progress grew, for a stall where it did not, and goes on", async (t) => {
          const script = `
        case $STINT_ATTEMPT in
          1) trap '' TERM; for n in 1 2 3; do echo $n >state.txt; done; touch ready.1; while :; do sleep 0.1; done;;
          2) trap '' TERM; touch ready.2; while :; do sleep 0.1; done;;
          *) echo 4 >state.txt; exit 0;;
        esac`;
          const project = await make(t, script, { limitMs: 600_000, marginMs: 10_000, killWaitMs: 30_000 });
          await project.advance();
          for (const number of [1, 2]) {
            await project.untilFile(`ready.${number}`);
            await project.endByLimit(number, 1_000);
          }
          expect(await project.watchToEnd()).toMatchObject({ decision: { kind: "finish" } });
          const [first, second, third] = await project.ran();
          expect(first?.settled).toMatchObject({
            verdict: "window-ended",
            decision: { kind: "continue" },
            evidence: { state: "TIMEOUT", proof: { by: "C" } },
          });
          expect(second?.settled).toMatchObject({
            verdict: "stalled",
            decision: { kind: "retry" },
            evidence: { state: "TIMEOUT", proof: { by: "C" } },
          });
          // Slurm has killed the runner and its guardian with all the rest.
          expect([first?.exited, second?.exited]).toEqual([null, null]);
          expect(third?.settled?.verdict).toBe("completed");
          await project.untilQueueEmpty();
        });
      else
        it("is held when Slurm ended it with its runner and processes are not tracked by cgroup", async (t) => {
          const project = await make(t, "trap '' TERM; touch ready; while :; do sleep 0.1; done", {
            limitMs: 600_000,
            marginMs: 10_000,
            killWaitMs: 30_000,
          });
          await project.advance();
          await project.untilFile("ready");
          await project.endByLimit(1, 1_000);
          await until("its job has ended", async () =>
            (await project.queued()).includes(await project.jobId(1)) ? null : true,
          );
          expect(await project.drive()).toMatchObject({
            kind: "held",
            why: expect.stringContaining("attempt 1 unproved"),
          });
          expect(await project.ran()).toHaveLength(1);
        });

      it("ends the window by a limit that was lowered meanwhile", async (t) => {
        const marginMs = 570_000;
        const project = await make(t, COUNTER, { limitMs: 600_000, marginMs: marginMs - 5_000 });
        await project.advance();
        await project.untilSteps(1, 1);
        await project.endByLimit(1, marginMs + 5_000);
        const settled = await until("the window has ended", async () => (await project.attempt(1)).settled);
        expect(settled).toMatchObject({ verdict: "checkpointed", decision: { kind: "continue" } });
        const { exited } = await project.attempt(1);
        expect(exited).toMatchObject({ windowEnded: true, endedBy: "window", exitCode: 99 });
        // As submitted it had 35 s.
        expect(exited?.ranMs).toBeLessThan(20_000);
      });

      it("is cancelled with successors in the queue, and says so only when nothing is left", async (t) => {
        const project = await make(t, COUNTER, { limitMs: 600_000 });
        await project.advance();
        await project.untilSteps(1, 5);
        await until("two successors are queued", async () => ((await project.queued()).length === 3 ? true : null));
        await project.stop("cancel");
        const outcome = await project.drive();
        const left = [1, 2, 3].flatMap((number) => project.processes(number));
        expect(outcome).toMatchObject({ kind: "over", decision: { kind: "stop", why: "cancelled" } });
        expect(left).toEqual([]);
        await project.untilQueueEmpty();
        const [first, ...others] = await project.attempts();
        expect(first?.settled).toMatchObject({ verdict: "cancelled", evidence: { proof: { by: "B" } } });
        expect(first?.exited).toMatchObject({ exitCode: 99, endedBy: "cancel", survivors: [] });
        expect(others.map(({ settled }) => settled?.verdict)).toEqual(["never-ran", "never-ran"]);
      });

      it("stops when its owner cancels the running job with scancel, and tells how to resume", async (t) => {
        const project = await make(t, COUNTER, { limitMs: 600_000 });
        await project.advance();
        await project.untilSteps(1, 5);
        await slurm.runAsUser("scancel", [await project.jobId(1)]);
        await project.watchToEnd();
        const [first, ...others] = await project.attempts();
        expect(first?.settled).toMatchObject({
          verdict: "cancelled",
          decision: { kind: "stop", why: expect.stringContaining("yourself"), advice: "stint resume JOB" },
          evidence: { state: "CANCELLED" },
        });
        // The application had its TERM, and time to save.
        expect(first?.exited).toMatchObject({ exitCode: 99, endedBy: "scheduler", survivors: [] });
        expect(others.every(({ settled }) => settled?.verdict === "never-ran")).toBe(true);
        await project.untilQueueEmpty();
        expect(project.stepsOf(1)).toEqual(project.steps());
      });

      it("goes on when its runner is killed: the guardian sweeps and testifies, and a login bash loses no step", async (t) => {
        const total = 150;
        // Not the last command of the login bash, so that it stays in front of the application.
        const command = { kind: "shell", text: "bash app.sh; exit $?" } as const;
        const project = await make(t, COUNTER, { command, total });
        await project.advance();
        const { body, guardian } = await project.started(1);
        await project.untilSteps(1, 5);
        process.kill(body.pid, "SIGKILL");
        expect(await project.watchToEnd()).toMatchObject({ decision: { kind: "finish" } });
        const ran = await project.ran();
        expect(guardian?.pid).not.toBe(body.pid);
        expect(ran[0]?.exited).toMatchObject({ by: "guardian", survivors: [] });
        expect(ran[0]?.settled).toMatchObject({ verdict: "node-failed", evidence: { proof: { by: "B" } } });
        // The next one has met the end of its window behind that bash.
        expect(ran[1]?.exited).toMatchObject({ by: "body", windowEnded: true, survivors: [] });
        expect(["checkpointed", "window-ended"]).toContain(ran[1]?.settled?.verdict);
        expectNothingLost(project.steps(), total);
        await project.untilQueueEmpty();
      });

      it("is moved, looked at and cancelled by the command line", async (t) => {
        if (!existsSync(CLI)) throw new Error(`${CLI} is not there: npm run build`);
        const folder = slurm.userFolder("cli");
        t.onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
        copyFileSync(COUNT, join(folder, "count.sh"));
        const stint = (args: readonly string[]) => slurm.runAsUser(process.execPath, [CLI, ...args], { cwd: folder });
        const words = ["--limit", "10m", "--margin", "10s", "--checkpoint", "state.txt", "--total", "1000"];
        const submitted = await stint([
          "submit",
          "--name",
          "byhand",
          ...words,
          "--env",
          "STEP_SEC=0.1",
          "--",
          "bash",
          "count.sh",
        ]);
        expect(submitted).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("byhand") });
        t.onTestFinished(async () => {
          await stint(["cancel", "byhand"]);
        });
        const job = await until("status says running", async () => {
          const { job } = JSON.parse((await stint(["status", "byhand", "--json"])).stdout);
          return job.state === "running" ? job : null;
        });
        expect(job).toMatchObject({ scheduler: "slurm", ref: expect.stringMatching(/^slurm\/.+\/\d+$/) });
        expect(await stint(["cancel", "byhand"])).toMatchObject({ exitCode: 0 });
        const { stdout } = await stint(["status", "byhand", "--json"]);
        expect(JSON.parse(stdout).job).toMatchObject({ state: "over", decision: "stop" });
        const queue = await slurm.runAsUser("squeue", ["-h", "-n", "byhand", "-o", "%i"]);
        expect(queue.stdout).toBe("");
      });

      it("leaves nodes where node does not start: never ran, with the reason, and the next one goes elsewhere", async (t) => {
        const files = { "app.sh": COUNTER, node: BROKEN_WHERE_THE_FIRST_TWO_ARE };
        const project = await SlurmProject.make({
          slurm,
          files,
          spec: (folder) => ({ total: 5, node: join(folder, "node") }),
          onFinished: (cleanup) => t.onTestFinished(cleanup),
        });
        await project.advance();
        await until("the first two have come to nothing", () =>
          [1, 2].every((number) => project.textOf(number, "runtime-failed.txt") !== "") ? true : null,
        );
        await project.untilQueueEmpty();
        expect(await project.drive()).toMatchObject({ kind: "over", decision: { kind: "finish" } });
        const [first, second, third] = await project.attempts();
        expect(first?.go).toMatchObject({ what: "withdrawn", reason: "runtime-failed" });
        expect(second?.settled).toMatchObject({ verdict: "never-ran", decision: { kind: "retry" } });
        expect(third?.settled?.verdict).toBe("completed");
        const broken = readFileSync(join(project.folder, "broken"), "utf8").trim().split("\n");
        expect(broken).toHaveLength(2);
        for (const line of broken) expect(third?.started?.nodes).not.toContain(line.split(" ")[1]);
      });
    });
  },
);

/** node as it is on a cluster where it does not start on some nodes: where the first two jobs are, whichever these are. */
const BROKEN_WHERE_THE_FIRST_TWO_ARE = `#!/bin/bash
broken=\${0%/*}/broken
touch "$broken"
if [ "$(wc -l <"$broken")" -lt 2 ] && ! grep -q "^$SLURM_JOB_ID " "$broken"; then
  echo "$SLURM_JOB_ID $SLURMD_NODENAME" >>"$broken"
fi
grep -q " $SLURMD_NODENAME$" "$broken" && exit 127
exec '${process.execPath}' "$@"
`;
