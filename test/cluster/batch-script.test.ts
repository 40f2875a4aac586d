/** Ordinary batch scripts on a real Slurm, with the built command line, as a user who is not root. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, type TestContext } from "vitest";
import { readBatchScript } from "../../src/slurm/index.ts";
import { parseBeginTime } from "../../src/spec/begin-time.ts";
import { readDirectives } from "../../src/spec/index.ts";
import { type Cluster, cluster, type Ended, until } from "./cluster.ts";

const CLI = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const FIXTURES = fileURLToPath(new URL("../fixtures/runner", import.meta.url));
const COUNT = fileURLToPath(new URL("../../examples/count.sh", import.meta.url));

const found = await cluster();
const unavailable = "unavailable" in found ? found.unavailable : null;

describe.skipIf(unavailable !== null)(
  `batch scripts on a real Slurm${unavailable === null ? "" : ` (${unavailable})`}`,
  () => {
    const slurm = found as Cluster;

    interface Project {
      readonly folder: string;
      stint(args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<Ended>;
      write(name: string, lines: readonly string[]): void;
      text(name: string): string;
      /** Of the newest job: its status, once it is at its end. */
      end(name: string): Promise<{ readonly decision: string; readonly attempts: number }>;
      attempts(
        name: string,
      ): Promise<readonly { readonly number: number; readonly verdict: string; readonly ref: string }[]>;
    }

    function newProject(t: TestContext): Project {
      if (!existsSync(CLI)) throw new Error(`${CLI} is not there: npm run build`);
      const folder = slurm.userFolder("script");
      const stint: Project["stint"] = (args, environment = {}) =>
        slurm.runAsUser(process.execPath, [CLI, ...args], { cwd: folder, environment, timeoutMs: 120_000 });
      t.onTestFinished(async () => {
        const { stdout } = await stint(["status", "--json"]);
        for (const { job } of (JSON.parse(stdout || '{"jobs":[]}').jobs ?? []) as { job: string }[])
          await stint(["cancel", job]);
        rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      });
      return {
        folder,
        stint,
        write(name, lines) {
          writeFileSync(join(folder, name), ["#!/bin/bash", ...lines, ""].join("\n"));
          chmodSync(join(folder, name), 0o755);
        },
        text: (name) => readFileSync(join(folder, name), "utf8"),
        async end(name) {
          const waited = await stint(["wait", name, "--timeout", "110s"]);
          const { stdout } = await stint(["status", name, "--json"]);
          const { job } = JSON.parse(stdout);
          expect(job.state, waited.stdout + waited.stderr).toBe("over");
          return job;
        },
        async attempts(name) {
          return JSON.parse((await stint(["status", name, "--attempts", "--json"])).stdout).attempts;
        },
      };
    }

    it("runs a plain job.sh to its end: lines under flags, the user's output by job id, arguments, Slurm's own variables", async (t) => {
      const project = newProject(t);
      copyFileSync(COUNT, join(project.folder, "count.sh"));
      project.write("job.sh", [
        '#SBATCH --job-name="count up" -p short   # overridden',
        "#SBATCH -t 3 --ntasks=2 --comment='a b'",
        "#SBATCH -o out/%x-%j-%3a-%N-%u.txt",
        'echo "args $1 $2; tasks $SLURM_NTASKS; name $SLURM_JOB_NAME; job $SLURM_JOB_ID"',
        "exec bash count.sh",
      ]);
      const submitted = await project.stint(
        [
          "submit",
          "-p",
          "main",
          "-t",
          "1:00",
          "--margin",
          "52s",
          "--checkpoint",
          "s.txt",
          "--total",
          "40",
          "job.sh",
          "x",
          "y z",
        ],
        { STEP_SEC: "0.3" },
      );
      expect(submitted, submitted.stderr).toMatchObject({ exitCode: 0 });
      await until("the first attempt runs", () => (existsSync(join(project.folder, "out")) ? true : null));
      // Nothing that is done to the file from here on counts.
      project.write("job.sh", ["exit 1"]);
      const { stdout: queue } = await slurm.runAsUser("squeue", ["-h", "-n", "count up", "-o", "%P|%l|%C|%k"]);
      expect(queue.trim().split("\n")[0]).toMatch(/^main\|1:00\|2\|a b$/);
      expect(await project.end("count-up")).toMatchObject({ decision: "finish" });
      const ran = (await project.attempts("count-up")).filter(({ verdict }) => verdict !== "never-ran");
      expect(ran.length).toBeGreaterThanOrEqual(2);
      const ids = ran.map(({ ref }) => ref.split("/").at(-1) ?? "");
      expect(readdirSync(join(project.folder, "out")).toSorted()).toEqual(
        ids.map((id) => expect.stringMatching(`^count up-${id}-000-[^-]+-${slurm.user.name}\\.txt$`)),
      );
      for (const id of ids)
        expect(
          project.text(join("out", readdirSync(join(project.folder, "out")).find((n) => n.includes(id)) ?? "")),
        ).toContain(`args x y z; tasks 2; name count up; job ${id}\n`);
      const steps = [...(await project.stint(["logs", "count-up"])).stdout.matchAll(/^step (\d+)$/gm)].map(([, n]) =>
        Number(n),
      );
      expect(steps).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
    });

    for (const mode of ["direct", "srun"])
      it(`runs a runner script with settings in the environment to its end, each iteration once (${mode})`, async (t) => {
        const project = newProject(t);
        mkdirSync(join(project.folder, "bin"));
        for (const name of ["checkpoint_runner.sh", "count_iterations.py"])
          copyFileSync(join(FIXTURES, name), join(project.folder, name));
        copyFileSync(join(FIXTURES, "module"), join(project.folder, "bin/module"));
        chmodSync(join(project.folder, "bin/module"), 0o755);
        const submitted = await project.stint(["submit", "-n", "1", "--margin", "52s"], {
          PATH: `${join(project.folder, "bin")}:${process.env.PATH}`,
          RUNNER_SCRIPT: "checkpoint_runner.sh",
          LAUNCH_MODE: mode,
          CKPT_PATH: "state_iter.txt",
          MAX_ITER: "60",
          // Nothing but TERM makes it save in time.
          CHECKPOINT_EVERY: "1000",
          ITER_SEC: "0.3",
          RUNNER_TIME_LIMIT: "0:01:00",
          // In its own account the window is longer: TERM must come from us, and through srun.
          RUNNER_MARGIN_SEC: "30",
        });
        expect(submitted, submitted.stderr).toMatchObject({ exitCode: 0 });
        expect(await project.end("checkpoint_runner")).toMatchObject({ decision: "finish" });
        const trace = project.text("trace.txt").trim().split("\n");
        expect(trace.map((line) => Number(line.split(" ")[1]))).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
        expect(new Set(trace.map((line) => line.split(" ")[0])).size).toBeGreaterThanOrEqual(3);
        const logs = (await project.stint(["logs", "checkpoint_runner"])).stdout;
        // `timeout` hands on what it gets, and slurmstepd now and then signals a step twice.
        expect(logs).toMatch(/^TERM [12] times, saved at \d+$/m);
        expect(logs).not.toContain("forcing job termination");
      });

    it("keeps the user's dependency and hold for the beginning", async (t) => {
      const project = newProject(t);
      project.write("job.sh", ["#SBATCH -H -t 1", "[ $STINT_ATTEMPT = 2 ] || exit 99"]);
      const before = await slurm.runAsUser("sbatch", ["--parsable", "--hold", "-o", "/dev/null", "--wrap", "true"]);
      const other = before.stdout.trim();
      t.onTestFinished(async () => {
        await slurm.runAsUser("scancel", [other]);
      });
      const submitted = await project.stint([
        "submit",
        "--margin",
        "40s",
        "--ahead",
        "1",
        "-d",
        `afterany:${other}`,
        "job.sh",
      ]);
      expect(submitted, submitted.stderr).toMatchObject({ exitCode: 0 });
      const { stdout: queue } = await slurm.runAsUser("squeue", ["-h", "-n", "job", "-o", "%i %r %E"]);
      expect(queue.trim()).toMatch(new RegExp(`^\\d+ JobHeldUser afterany:${other}\\S*$`));
      const id = queue.split(" ")[0] ?? "";
      await slurm.runAsUser("scancel", [other]);
      await slurm.runAsUser("scontrol", ["release", id]);
      expect(await project.end("job")).toMatchObject({ decision: "finish" });
    });

    describe("our reading of #SBATCH lines is sbatch's", () => {
      /** What sbatch makes of the text: what the job became, or that it was refused. */
      async function asked(text: string): Promise<string> {
        const folder = slurm.userFolder("lines");
        writeFileSync(join(folder, "job.sh"), text);
        const ran = await slurm.runAsUser("sbatch", ["--hold", "--parsable", "-o", "/dev/null", "job.sh"], {
          cwd: folder,
        });
        rmSync(folder, { recursive: true });
        if (ran.exitCode !== 0) return "refused";
        const id = ran.stdout.trim();
        const { stdout } = await slurm.runAsUser("squeue", ["-h", "-j", id, "-o", "%C %l %P %k"]);
        await slurm.runAsUser("scancel", [id]);
        return stdout.trim();
      }

      /** The same from our own reading, put to sbatch as flags. */
      async function ours(text: string): Promise<string> {
        const script = readBatchScript(text);
        if (script.kind !== "batch-script") return "refused";
        const { given, errors } = readDirectives(script.words, "job.sh");
        if (errors.length > 0) return "refused";
        const flags = given.map(({ text: flag }) => flag);
        const ran = await slurm.runAsUser("sbatch", [
          ...flags,
          "--hold",
          "--parsable",
          "-o",
          "/dev/null",
          "--wrap",
          "true",
        ]);
        if (ran.exitCode !== 0) return "refused";
        const id = ran.stdout.trim();
        const { stdout } = await slurm.runAsUser("squeue", ["-h", "-j", id, "-o", "%C %l %P %k"]);
        await slurm.runAsUser("scancel", [id]);
        return stdout.trim();
      }

      it.each([
        ["#SBATCH -n 2 -t 7 --comment='a b'"],
        ["#SBATCH -n2 -t1:00 -p short # -n 3"],
        ["# c\n\n#SBATCH -n 3\n  # d\n#SBATCH --time 5\nset -e\n#SBATCH -n 9"],
        ["#SBATCH-n 2\n##SBATCH -n 3\n# SBATCH -n 4\n #SBATCH -n 5"],
        ['#SBATCH --comment=x"y z"w -n 2'],
        ['#SBATCH --comm="x\\"y" -n 2'],
        ["#SBATCH --comment=a#b -n 2"],
        ["#SBATCH --comment\n#SBATCH xx -n 2"],
        ['#SBATCH ""\n#SBATCH -n 3'],
        ["#SBATCH -sOn4 --parti=main"],
        ["#SBATCH -n 2 foo"],
        ["#SBATCH -n 2 -- -t 3"],
        ["#SBATCH --comment=b\\ c"],
        ["#SBATCH --hold=1"],
        ["#SBATCH --co=x"],
        ['#SBATCH --comment="a'],
        ["#SBATCH -n 2\r\ntrue"],
        ["#SBATCH --partition"],
        ["#SBATCH --foo"],
      ])("%j", async (lines) => {
        const text = `#!/bin/sh\n${lines}\n`;
        expect(await ours(text)).toBe(await asked(text));
      });

      it("when a job may begin", async () => {
        const texts = [
          "now+2hours",
          "tomorrow",
          "teatime",
          "4:05 PM",
          "2027-12-24T10:00",
          "12/24/27",
          "11/01",
          "10am",
          "now+3d",
        ];
        for (const text of texts) {
          const args = ["--hold", "--parsable", "-o", "/dev/null", `--begin=${text}`, "--wrap", "true"];
          // Both read the time zone of this process.
          const environment = { TZ: "UTC" };
          const ran = await slurm.runAsUser("sbatch", args, { environment });
          const expected = parseBeginTimeInUtc(text);
          if (ran.exitCode !== 0) {
            expect(expected, text).toBeNull();
            continue;
          }
          const id = ran.stdout.trim();
          const { stdout } = await slurm.runAsUser("squeue", ["-h", "-j", id, "-o", "%S"], { environment });
          await slurm.runAsUser("scancel", [id]);
          const apartMs = Math.abs(Date.parse(`${stdout.trim()}Z`) - (expected ?? 0));
          expect(apartMs, text).toBeLessThan(5_000);
        }
      });
    });
  },
);

function parseBeginTimeInUtc(text: string): number | null {
  const before = process.env.TZ;
  process.env.TZ = "UTC";
  try {
    return parseBeginTime(text, Date.now());
  } finally {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
}
