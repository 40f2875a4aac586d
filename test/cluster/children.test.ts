/** What an attempt on a real Slurm submits: a plain sbatch has its own life, a `stint submit` makes a child. */
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, type TestContext } from "vitest";
import { readEnvironment } from "../../src/host/index.ts";
import { type Cluster, cluster, type Ended, until } from "./cluster.ts";

const CLI = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const COUNT = fileURLToPath(new URL("../../examples/count.sh", import.meta.url));
const found = await cluster();
const unavailable = "unavailable" in found ? found.unavailable : null;

interface Job {
  readonly job: string;
  readonly state: string;
  readonly decision: string | null;
  readonly reason: string | null;
  readonly ref: string | null;
}

/** A folder of the test's user with one parent job in it. */
class Parent {
  readonly #slurm: Cluster;
  readonly folder: string;
  readonly name: string;

  constructor(slurm: Cluster, t: TestContext, name: string) {
    if (!existsSync(CLI)) throw new Error(`${CLI} is not there: npm run build`);
    this.#slurm = slurm;
    this.name = name;
    this.folder = slurm.userFolder("parent");
    copyFileSync(COUNT, join(this.folder, "count.sh"));
    t.onTestFinished(async () => {
      if (process.env.KEEP !== undefined) console.log(this.folder);
      await this.stint(["cancel", name]);
      if (process.env.KEEP === undefined) rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    });
  }

  async submit(script: string, words: readonly string[]): Promise<void> {
    writeFileSync(join(this.folder, "parent.sh"), `stint() { '${process.execPath}' '${CLI}' "$@"; }\n${script}`);
    const common = ["--name", this.name, "--kill-wait", "2s", "--sample-interval", "0.5s", "--timing-poll", "1s"];
    const { exitCode, stderr } = await this.stint(["submit", ...common, ...words, "--", "bash", "parent.sh"]);
    expect(exitCode, stderr).toBe(0);
  }

  stint(args: readonly string[]): Promise<Ended> {
    return this.#slurm.runAsUser(process.execPath, [CLI, ...args], { cwd: this.folder, timeoutMs: 120_000 });
  }

  async job(name: string): Promise<Job> {
    const { stdout, stderr } = await this.stint(["status", name, "--json"]);
    return JSON.parse(stdout).job ?? { job: stderr };
  }

  text(name: string): string {
    const path = join(this.folder, name);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  untilText(name: string): Promise<string> {
    return until(`something in ${name}`, () => this.text(name).trim() || null);
  }

  async stateOf(id: string): Promise<string> {
    return (await this.#slurm.runAsUser("squeue", ["-h", "-j", id, "-o", "%T"])).stdout.trim();
  }
}

/** Ends by itself when there is a file `done`; tells its id and the pid of its shell. */
const NESTED = `
sbatch --parsable --output=/dev/null --wrap 'echo $$ >nested.pid; until [ -e done ]; do sleep 0.1; done; echo survived >nested.end' >nested.id
`;

describe
  .skipIf(unavailable !== null)
  .concurrent(`jobs submitted from an attempt${unavailable === null ? "" : ` (${unavailable})`}`, () => {
    const slurm = found as Cluster;

    for (const scheduler of ["slurm", "local"])
      it(`a plain sbatch from an attempt on ${scheduler} outlives window and chain, though it inherits the mark`, async (t) => {
        const parent = new Parent(slurm, t, `nested-${scheduler}`);
        const limit =
          scheduler === "slurm" ? ["--limit", "1m", "--margin", "50s"] : ["--limit", "8s", "--margin", "4s"];
        const script = `[ -e nested.id ] || { ${NESTED} }\necho "$STINT_MARK" >>marks\nwhile sleep 0.1; do :; done`;
        await parent.submit(script, ["--scheduler", scheduler, ...limit, "--saved-exits", "99,143"]);
        const pid = Number(await parent.untilText("nested.pid"));
        const id = await parent.untilText("nested.id");
        await until("the second attempt", () => (parent.text("marks").trim().split("\n").length >= 2 ? true : null), {
          timeoutMs: 90_000,
        });
        const [mark] = parent.text("marks").split("\n");
        const read = readEnvironment(pid);
        // On a cluster of several hosts it may run elsewhere.
        if (slurm.faults !== null) {
          expect(read).not.toBe("unreadable");
          expect(read === "unreadable" ? null : read("STINT_MARK")).toBe(mark);
          expect(read === "unreadable" ? null : read("SLURM_JOB_ID")).toBe(id);
        }
        const cancelled = await parent.stint(["cancel", parent.name]);
        expect(cancelled.exitCode, cancelled.stderr).toBe(0);
        expect(await parent.stateOf(id)).toBe("RUNNING");
        writeFileSync(join(parent.folder, "done"), "");
        expect(await parent.untilText("nested.end")).toBe("survived");
      });

    it("a submit to Slurm from an attempt makes a child with jobs of its own, cancelled with its parent", async (t) => {
      const parent = new Parent(slurm, t, "parent");
      const fit = "--name fit --limit 10m --margin 10s --kill-wait 2s --sample-interval 0.5s --timing-poll 1s";
      const script = `
        stint submit --scheduler slurm ${fit} --checkpoint fit.txt --total 100000 --env STEP_SEC=0.1 -- bash count.sh >child.log 2>&1
        echo $? >child.answer
        while sleep 0.1; do :; done`;
      await parent.submit(script, ["--limit", "10m", "--margin", "10s"]);
      expect(await parent.untilText("child.answer"), parent.text("child.log")).toBe("0");
      await parent.untilText("fit.txt");
      const child = await parent.job("parent/fit");
      expect(child).toMatchObject({ job: `/${slurm.user.name}/parent/fit`, state: "running" });
      expect(child.ref).not.toBe((await parent.job("parent")).ref);
      const children = JSON.parse((await parent.stint(["status", "parent", "--json"])).stdout).children;
      expect(children).toMatchObject([{ job: `/${slurm.user.name}/parent/fit`, state: "running" }]);
      const removed = await parent.stint(["rm", "parent"]);
      expect(removed.exitCode).toBe(75);
      const cancelled = await parent.stint(["cancel", "parent"]);
      expect(cancelled.exitCode, cancelled.stderr).toBe(0);
      expect(await parent.job("parent/fit")).toMatchObject({ state: "over", decision: "stop", reason: "cancelled" });
      const { stdout } = await slurm.runAsUser("squeue", ["-h", "-n", "parent,fit", "-o", "%i"]);
      expect(stdout).toBe("");
    });

    it("a run inside an attempt is local, bounded by the allocation, and no member of the attempt", async (t) => {
      const parent = new Parent(slurm, t, "around");
      const fit = "--name fit --limit 4s --margin 2s --kill-wait 1s --sample-interval 0.5s";
      const script = `
        stint run ${fit} --checkpoint fit.txt --total 120 --env STEP_SEC=0.05 --env CHECKPOINT_EVERY=5 -- bash count.sh >child.log 2>&1
        echo $? >child.answer`;
      await parent.submit(script, ["--limit", "10m", "--margin", "10s"]);
      expect(await parent.untilText("child.answer"), parent.text("child.log")).toBe("0");
      const { job, spec, origins } = JSON.parse(
        (await parent.stint(["status", "around/fit", "--spec", "--json"])).stdout,
      );
      expect(job).toMatchObject({ state: "over", decision: "finish", scheduler: "local" });
      expect(job.attempts).toBeGreaterThanOrEqual(2);
      const { ref } = await parent.job("around");
      expect(origins["allocation-end"]).toBe(`allocation ${ref?.split("/").at(-1)} (squeue)`);
      expect(spec.allocationEndAtMs).toBeGreaterThan(job.submittedAtMs + 500_000);
      await until("the parent is over", async () => ((await parent.job("around")).decision === "finish" ? true : null));
    });
  });
