/** The Slurm scheduler against a real Slurm, as a user who is not root. */
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { JobSpec, Ref, Seen } from "../../src/core/index.ts";
import { realClock, slurmTracking } from "../../src/host/index.ts";
import { type SlurmScheduler, slurmScheduler } from "../../src/schedulers/slurm/index.ts";
import { jobSpec } from "../support/job-spec.ts";
import { type Cluster, cluster, until } from "./cluster.ts";

/** Of a job on two nodes of the cluster that up.sh starts. */
const OWN_ATTRIBUTES = {
  partition: "main",
  account: "lab",
  qos: "normal",
  cpus: 2,
  memoryBytes: 500 * 1024 ** 2,
  preemptible: null,
};

const found = await cluster();
const unavailable = "unavailable" in found ? found.unavailable : null;

describe.skipIf(unavailable !== null)(
  `slurmScheduler on a real Slurm${unavailable === null ? "" : ` (${unavailable})`}`,
  () => {
    const slurm = found as Cluster;
    const faulty = it.skipIf(unavailable !== null || slurm.faults === null);
    let scheduler: SlurmScheduler;
    let folder: string;
    let attempts = 0;
    const submitted: Ref[] = [];

    beforeAll(() => {
      scheduler = slurmFor({});
      folder = slurm.userFolder("scheduler");
    });
    // Nothing of this file stays behind in the queue.
    afterAll(async () => {
      await scheduler.withdraw(submitted);
      rmSync(folder, { recursive: true, force: true });
    });

    function slurmFor(environment: Record<string, string>, queryTimeoutMs = 45_000): SlurmScheduler {
      return slurmScheduler({
        environment: { ...slurm.environment, ...environment },
        clock: realClock,
        ownerUid: slurm.user.uid,
        pollMs: 0,
        queryTimeoutMs,
        run: slurm.runCommand,
      });
    }

    /** A folder with a script in it, as an attempt has it. */
    function attempt(
      script: string,
      name = `attempt ${++attempts}`,
    ): { readonly folder: string; readonly script: string } {
      const place = join(folder, name);
      mkdirSync(place);
      writeFileSync(join(place, "script.sh"), `#!/bin/bash\n${script}\n`);
      if (process.getuid?.() === 0) chownSync(place, slurm.user.uid, slurm.user.gid);
      return { folder: place, script: join(place, "script.sh") };
    }

    interface SubmitOptions {
      readonly after?: readonly Ref[];
      readonly notBeforeMs?: number;
      readonly limitMs?: number;
      readonly sbatch?: readonly string[];
      readonly partition?: string;
      readonly environment?: Readonly<Record<string, string>>;
    }

    function answerOf(place: { readonly folder: string; readonly script: string }, options: SubmitOptions) {
      return scheduler.submit({
        script: place.script,
        attemptFolder: place.folder,
        jobName: "a job",
        spec: specWith(options),
        after: options.after ?? [],
        notBeforeMs: options.notBeforeMs ?? null,
        environment: { ...slurm.environment, ...options.environment },
      });
    }

    async function submit(place: ReturnType<typeof attempt>, options: SubmitOptions = {}): Promise<Ref> {
      const answer = await answerOf(place, options);
      if (answer.kind !== "accepted") throw new Error(`not accepted: ${JSON.stringify(answer)}`);
      submitted.push(answer.ref);
      return answer.ref;
    }

    const look = async (ref: Ref): Promise<Seen> => {
      const seen = (await scheduler.observe([ref])).get(ref);
      if (seen === undefined) throw new Error(`no answer for ${ref}`);
      return seen;
    };
    const phase = (ref: Ref, wanted: string) =>
      until(`${ref} is ${wanted}`, async () => {
        const seen = await look(ref);
        return seen.kind === "active" && seen.phase === wanted ? seen : null;
      });
    const end = (ref: Ref, timeoutMs = 60_000) =>
      until(
        `${ref} has ended, for good`,
        async () => {
          const seen = await look(ref);
          return seen.kind === "over" && seen.final && seen.proof !== "D" ? seen : null;
        },
        { timeoutMs },
      );
    const idOf = (ref: Ref) => ref.split("/").at(-1) ?? "";

    it("runs a job in a folder of any name, sees it run, and reads its exit code, also once the controller has forgotten it", async () => {
      const names = ["plain", "a %j %% b", "back\\slash %j", "qu'o\"te $HOME", "new\nline|bar"];
      const refs = await Promise.all(
        names.map((name, i) =>
          submit(attempt(`echo "$PWD"; env; exit ${i === 0 ? 7 : 0}`, name), {
            environment: { CARRIED: "a b", SLURM_NTASKS: "7", STINT_MARK: "x" },
          }),
        ),
      );
      const ends = await Promise.all(refs.map((ref) => end(ref)));
      expect(
        ends.map(({ state, exitCode, signal, proof, nodes }) => ({ state, exitCode, signal, proof, nodes })),
      ).toEqual(
        names.map((_, i) => ({
          state: i === 0 ? "FAILED" : "COMPLETED",
          exitCode: i === 0 ? 7 : 0,
          signal: null,
          proof: "C",
          nodes: "answering",
        })),
      );
      for (const name of names) {
        const log = readFileSync(join(folder, name, "scheduler.log"), "utf8");
        expect(log.startsWith(`${join(folder, name)}\n`)).toBe(true);
        expect(log).toContain("\nCARRIED=a b\n");
        expect(log).not.toContain("STINT_MARK");
        expect(log).not.toContain("SLURM_NTASKS=7");
      }

      // From here on accounting alone knows it. The scheduler that has seen the end keeps it, so another one is asked.
      const ref = refs[0] ?? "";
      await until("the controller has forgotten the job", async () => {
        const { stdout } = await slurm.runAsUser("squeue", ["-h", "-t", "all", "-u", slurm.user.name, "-o", "%i"]);
        return stdout.split("\n").includes(idOf(ref)) ? null : true;
      });
      expect((await slurmFor({}).observe([ref])).get(ref)).toMatchObject({
        kind: "over",
        state: "FAILED",
        exitCode: 7,
        final: true,
        proof: "C",
      });
    });

    it("finds a job by its script while it is queued or runs, and no other", async () => {
      const place = attempt("sleep 60");
      expect(await scheduler.find(place.script)).toBe("none");
      const ref = await submit(place, { notBeforeMs: Date.now() + 3_600_000 });
      expect(await scheduler.find(place.script)).toMatchObject({ ref, id: idOf(ref) });
      expect(await scheduler.find(`${place.script}.other`)).toBe("none");
      await scheduler.withdraw([ref]);
    });

    it("knows a pending job, moves its start, sees it run with its limit, and sees TIMEOUT", async () => {
      const ref = await submit(attempt("sleep 600"), { notBeforeMs: Date.now() + 3_600_000, limitMs: 61_000 });
      expect(await phase(ref, "pending")).toMatchObject({ reason: "BeginTime", limitEndAtMs: null });
      await scheduler.delay(ref, Date.now());
      const startedBefore = Date.now();
      const running = await phase(ref, "running");
      // 61 s is two minutes to Slurm.
      expect(((running.limitEndAtMs ?? 0) - startedBefore) / 60_000).toBeCloseTo(2, 0);
      const soon = new Date(Date.now() + 3_000).toISOString().slice(0, 19);
      await slurm.runAsUser("scontrol", ["update", `JobId=${idOf(ref)}`, `EndTime=${soon}`], {
        environment: { TZ: "UTC" },
      });
      expect(await end(ref)).toMatchObject({ state: "TIMEOUT", exitCode: null, proof: "C", cancelledByUid: null });
    });

    it("starts a job only after all that it must wait for, however they end", async () => {
      const first = await submit(attempt("sleep 600"));
      const second = await submit(attempt("exit 3"));
      const third = await submit(attempt("exit 0"), { after: [first, second] });
      await end(second);
      expect(await phase(third, "pending")).toMatchObject({ reason: "Dependency" });
      await scheduler.kill(first);
      expect(await end(third)).toMatchObject({ state: "COMPLETED", exitCode: 0 });
      expect(await end(first)).toMatchObject({ state: "CANCELLED", cancelledByUid: slurm.user.uid, proof: "C" });
    });

    it("takes queued jobs back, and does not mind those that are gone", async () => {
      const refs = [await submit(attempt("true"), { notBeforeMs: Date.now() + 3_600_000 }), "slurm/stint/66000000"];
      const [queued = "", unknown = ""] = refs;
      const named = unknown.replace("stint", queued.split("/")[1] ?? "");
      await scheduler.withdraw([queued, named]);
      expect(await end(queued)).toMatchObject({
        state: "CANCELLED",
        cancelledByUid: slurm.user.uid,
        proof: "C",
        nodes: null,
      });
      await scheduler.withdraw([queued]);
      expect((await scheduler.observe([named])).get(named)).toEqual({ kind: "absent" });
    });

    it("tells refusals for good from those of the moment", async () => {
      expect(await answerOf(attempt("true"), { partition: "nosuch" })).toMatchObject({
        kind: "refused",
        transient: false,
        error: expect.stringContaining("invalid partition specified: nosuch"),
      });
      expect(await answerOf(attempt("true"), { after: ["slurm/elsewhere/1"] })).toMatchObject({ kind: "refused" });
    });

    it("tells a job of another cluster from one that is gone", async () => {
      const seen = await scheduler.observe(["slurm/elsewhere/1"]);
      expect(seen.get("slurm/elsewhere/1")).toMatchObject({ kind: "unreachable" });
      await expect(scheduler.kill("slurm/elsewhere/1")).rejects.toThrow("elsewhere");
    });

    it("warns a step, and says when there is none", async () => {
      const place = attempt(
        "srun bash -c 'trap \"echo got TERM; exit 5\" TERM; echo ready; while :; do sleep 0.1; done'; echo srun=$?",
      );
      const ref = await submit(place, { sbatch: ["--ntasks=1"] });
      const log = () => textOf(join(place.folder, "scheduler.log"));
      await phase(ref, "running");
      await until("the step has begun", () => (log().includes("ready") ? true : null));
      expect(await scheduler.warn(ref, "SIGTERM")).toBe("sent");
      await end(ref);
      expect(log()).toContain("got TERM");
      expect(log()).toContain("srun=5");

      const plain = await submit(attempt("sleep 60"));
      await phase(plain, "running");
      expect(await scheduler.warn(plain, "SIGTERM")).toBe("no-step");
      await scheduler.kill(plain);
    });

    it("knows the allocation it is in", async () => {
      const place = attempt("echo $$ >pid; env -0 >environment; sleep 60");
      const ref = await submit(place, { limitMs: 600_000, sbatch: ["--nodes=2"] });
      const environment = await until("the job wrote its environment", () => {
        const text = textOf(join(place.folder, "environment"));
        const lines = text.split("\0").slice(0, -1);
        const pairs = lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]);
        return text.endsWith("\0") ? (Object.fromEntries(pairs) as Record<string, string>) : null;
      });
      const allocation = await scheduler.here(environment);
      expect(allocation).toMatchObject({
        ref,
        id: idOf(ref),
        restartCount: 0,
        attributes: slurm.faults === null ? { preemptible: null } : OWN_ATTRIBUTES,
      });
      expect(allocation?.nodes).toHaveLength(2);
      // What the runner will find of its own, looked up from here.
      const pid = Number(readFileSync(join(place.folder, "pid"), "utf8"));
      const byCgroup = slurm.tracking === "cgroup";
      expect(slurmTracking(pid)).toEqual({
        tracking: slurm.tracking,
        cgroup: byCgroup ? expect.stringMatching(new RegExp(`/job_${idOf(ref)}$`)) : null,
      });
      const running = await phase(ref, "running");
      expect(allocation?.limitEndAtMs).toBe(running.limitEndAtMs);
      expect(await scheduler.here({ PATH: "/bin" })).toBeNull();
      await scheduler.kill(ref);
    });

    faulty(
      "says unreachable, not gone, while the controller is silent; an unanswered submit is unclear and its job is found later",
      async () => {
        const impatient = slurmFor({}, 1_500);
        const ref = await submit(attempt("sleep 60"));
        await phase(ref, "running");
        await slurm.faults?.stopController();
        onTestFinished(() => slurm.faults?.continueController());
        expect((await impatient.observe([ref])).get(ref)).toMatchObject({ kind: "unreachable" });
        expect(await impatient.find("/any/script.sh")).toBe("unreachable");
        await expect(impatient.withdraw([ref])).rejects.toThrow("no answer in time");

        const place = attempt("sleep 60");
        const hasty = slurmScheduler({
          environment: { ...slurm.environment, SLURM_JOB_ID: "1", SLURM_CLUSTER_NAME: ref.split("/")[1] },
          clock: realClock,
          ownerUid: slurm.user.uid,
          submitTimeoutMs: 1_500,
          run: slurm.runCommand,
        });
        const answer = await hasty.submit({
          script: place.script,
          attemptFolder: place.folder,
          jobName: "late",
          spec: specWith({}),
          after: [],
          notBeforeMs: null,
          environment: slurm.environment,
        });
        expect(answer).toMatchObject({ kind: "unclear" });
        await slurm.faults?.continueController();
        const late = await until("the late job appears", async () => {
          const job = await scheduler.find(place.script);
          return typeof job === "string" ? null : job;
        });
        submitted.push(late.ref);
        // The scancel that got no answer may have come through all the same; this one does.
        await scheduler.withdraw([late.ref, ref]);
      },
    );

    faulty("never takes the end of a job on a node that is cut off for proved, whatever its state says", async () => {
      const node = slurm.faults?.nodes[2] ?? "";
      const beat = "while :; do date +%s.%N >>beats; sleep 0.1; done";
      const places = [attempt(beat), attempt(beat), attempt(beat)];
      const refs = await Promise.all(
        places.map((place) => submit(place, { sbatch: [`--nodelist=${node}`], limitMs: 600_000 })),
      );
      const [cancelled = "", timedOut = "", lost = ""] = refs;
      for (const ref of refs) await phase(ref, "running");
      const beats = (at: number) => textOf(join(places[at]?.folder ?? "", "beats")).length;
      await until("all of them write", () => (places.every((_, at) => beats(at) > 0) ? true : null));
      await slurm.faults?.cutOff(node);
      let back = false;
      const bringBack = async () => {
        if (!back) await slurm.faults?.bringBack(node);
        back = true;
      };
      onTestFinished(bringBack);
      await scheduler.kill(cancelled);
      const soon = new Date(Date.now() + 2_000).toISOString().slice(0, 19);
      await slurm.runAsUser("scontrol", ["update", `JobId=${idOf(timedOut)}`, `EndTime=${soon}`], {
        environment: { TZ: "UTC" },
      });

      const seen = await until(
        "the controller has given up the node",
        async () => {
          const now = await scheduler.observe(refs);
          return [...now.values()].every((one) => one.kind === "over") ? now : null;
        },
        { timeoutMs: 90_000 },
      );
      expect(seen.get(cancelled)).toMatchObject({ state: "CANCELLED", proof: "D", nodes: "silent" });
      expect(seen.get(timedOut)).toMatchObject({ state: "TIMEOUT", proof: "D", nodes: "silent" });
      expect(seen.get(lost)).toMatchObject({ state: "NODE_FAIL", proof: "D", nodes: "silent" });
      // They are over for Slurm, and all three are still writing.
      for (const at of places.keys()) {
        const before = beats(at);
        await until(`application ${at} still writes`, () => (beats(at) > before ? true : null), { timeoutMs: 5_000 });
      }

      await bringBack();
      const after = await scheduler.observe(refs);
      // The node answers again, but it never reported how these ended: still no proof by itself.
      for (const ref of refs) expect(after.get(ref)).toMatchObject({ proof: "D", nodes: "answering" });
    });

    /** Empty while the file is not there. */
    function textOf(path: string): string {
      return existsSync(path) ? readFileSync(path, "utf8") : "";
    }

    function specWith(options: SubmitOptions): JobSpec {
      return jobSpec({
        cwd: folder,
        limitMs: options.limitMs ?? null,
        marginMs: 1_000,
        scheduler: "slurm",
        ahead: 2,
        slurm: { partition: options.partition ?? null, sbatch: options.sbatch ?? [] },
        timing: { pollMs: 30_000 },
      });
    }
  },
);
