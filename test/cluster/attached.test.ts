/** `stint run` on a real Slurm: what a person's Ctrl-C and a lost terminal do to the chain. */
import { copyFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, type TestContext } from "vitest";
import { type Cluster, cluster, type Ended, until } from "./cluster.ts";

const CLI = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const COUNT = fileURLToPath(new URL("../../examples/count.sh", import.meta.url));
const found = await cluster();
const unavailable = "unavailable" in found ? found.unavailable : null;

/** Runs a command on a terminal of its own, and closes the other end when the command has said a text. */
const LOSE_TERMINAL = `
import os, pty, sys
pid, master = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
seen = b""
while sys.argv[1].encode() not in seen:
    seen += os.read(master, 4096)
os.close(master)
_, status = os.waitpid(pid, 0)
print("signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "exit %d" % os.WEXITSTATUS(status))
`;

/** Runs a command, sends it SIGINT as often as $1 says (each when $2 and then $3 can be read from it), and tells how it left. */
const INTERRUPT = `
times=$1 first=$2 second=$3; shift 3
"$@" >out 2>&1 & pid=$!
until grep -q "$first" out; do sleep 0.1; done
kill -INT $pid
if [ "$times" = 2 ]; then until grep -q "$second" out; do sleep 0.1; done; kill -INT $pid; fi
wait $pid; echo $?
`;

describe
  .skipIf(unavailable !== null)
  .concurrent(`an attached chain on a real Slurm${unavailable === null ? "" : ` (${unavailable})`}`, () => {
    const slurm = found as Cluster;

    function folderFor(t: TestContext): string {
      if (!existsSync(CLI)) throw new Error(`${CLI} is not there: npm run build`);
      const folder = slurm.userFolder("attached");
      copyFileSync(COUNT, join(folder, "count.sh"));
      t.onTestFinished(async () => {
        await stint(folder, ["cancel", "sim"]);
        rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      });
      return folder;
    }

    const stint = (cwd: string, args: readonly string[]): Promise<Ended> =>
      slurm.runAsUser(process.execPath, [CLI, ...args], { cwd, timeoutMs: 120_000 });

    const run = (total: number, window: readonly string[]): readonly string[] => [
      ...[process.execPath, CLI, "run", "--name", "sim", "--checkpoint", "state.txt", "--total", String(total)],
      ...["--env", "STEP_SEC=0.1", "--env", "CHECKPOINT_EVERY=5", "--kill-wait", "2s", "--sample-interval", "0.5s"],
      ...["--timing-poll", "1s", ...window, "--", "bash", "count.sh"],
    ];
    const LONG = ["--limit", "10m", "--margin", "10s"];

    it("goes on through the ends of its windows when its terminal is closed, and nobody else moves it", async (t) => {
      // The test's user may not be let into the folders of the one who runs the tests.
      const python = "/usr/bin/python3";
      t.skip(!existsSync(python), `no ${python} here to open a terminal with`);
      const folder = folderFor(t);
      const { stdout, stderr } = await slurm.runAsUser(
        python,
        ["-c", LOSE_TERMINAL, "attempt 1", ...run(200, ["--limit", "1m", "--margin", "50s"])],
        { cwd: folder },
      );
      expect(stdout.trim(), stderr).toBe("signal 1");
      const state = join(folder, "state.txt");
      await until(
        "its total",
        () => (existsSync(state) && readFileSync(state, "utf8").trim() === "200" ? true : null),
        {
          timeoutMs: 120_000,
        },
      );
      const job = await until("its end", async () => {
        const { job } = JSON.parse((await stint(folder, ["status", "sim", "--json"])).stdout);
        return job.state === "over" ? job : null;
      });
      expect(job).toMatchObject({ decision: "finish" });
      expect(job.attempts).toBeGreaterThanOrEqual(2);
    });

    it("is drained by the first Ctrl-C: it has saved, and can be resumed", async (t) => {
      const folder = folderFor(t);
      const args = ["-c", INTERRUPT, "bash", "1", "attempt 1 runs", "", ...run(100_000, LONG)];
      const { stdout } = await slurm.runAsUser("bash", args, { cwd: folder, timeoutMs: 120_000 });
      expect(stdout.trim(), readFileSync(join(folder, "out"), "utf8")).toBe("75");
      const { job } = JSON.parse((await stint(folder, ["status", "sim", "--json"])).stdout);
      expect(job).toMatchObject({ state: "over", reason: "drained" });
      expect(
        (await slurm.runAsUser("squeue", ["-h", "-j", job.ref.split("/").at(-1), "-o", "%T"])).stdout,
      ).not.toContain("RUNNING");
    });

    it("is cancelled by the second", async (t) => {
      const folder = folderFor(t);
      // It takes its time to save, so that a second one can come.
      const slow = run(100_000, LONG).map((word) => (word === "STEP_SEC=0.1" ? "STEP_SEC=5" : word));
      const args = ["-c", INTERRUPT, "bash", "2", "attempt 1 runs", "draining sim", ...slow];
      const { stdout } = await slurm.runAsUser("bash", args, { cwd: folder, timeoutMs: 120_000 });
      expect(stdout.trim(), readFileSync(join(folder, "out"), "utf8")).toBe("130");
      const { job } = JSON.parse((await stint(folder, ["status", "sim", "--json"])).stdout);
      expect(job).toMatchObject({ state: "over", decision: "stop" });
    });
  });
