/** Applications that do not end as they should, and the shepherd's part in it. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, renameSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { processRef } from "../../src/host/index.ts";
import { expectExactlyOnce, expectNothingLost } from "./exactly-once.ts";
import { COUNTER, eventually, Project, signal } from "./harness.ts";

const alive = (pid: number) =>
  processRef(pid) !== null && !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));

describe("an application on a local attempt", () => {
  it("that ignores TERM is killed at the end of its window, and what it saved counts", async () => {
    const ignoring = COUNTER.replace("trap 'stop=1' TERM", "trap '' TERM");
    const project = await Project.make(ignoring, { total: 40, limitMs: 2_000, marginMs: 1_000 });
    await project.advance();
    const settled = await project.watchToEnd();
    expect(settled.decision).toEqual({ kind: "finish" });
    expectNothingLost(project.steps(), 40);
    const [first] = await project.attempts();
    expect(first?.exited).toMatchObject({ signal: "SIGKILL", windowEnded: true, endedBy: "window", survivors: [] });
    expect(first?.exited?.signalsSent.map((note) => note.signal)).toEqual(["SIGTERM", "SIGKILL"]);
    expect(first?.settled?.verdict).toBe("window-ended");
  });

  it("leaves nothing behind, neither by setsid and a double fork nor with an empty environment", async () => {
    const leaving = `
      (setsid bash -c 'trap "" TERM; echo $$ >daemon.pid; sleep 1000 & wait' &)
      env -i /bin/sh -c 'echo $$ >bare.pid; trap "" TERM; while :; do sleep 1; done' &
      until [ -s daemon.pid ] && [ -s bare.pid ]; do sleep 0.02; done
      echo 1 >state.txt`;
    const project = await Project.make(leaving, { total: 1, killWaitMs: 300 });
    await project.advance();
    expect((await project.watchToEnd()).decision).toEqual({ kind: "finish" });
    const pids = ["daemon.pid", "bare.pid"].map((name) => Number(readFileSync(join(project.folder, name), "utf8")));
    for (const pid of pids) expect(alive(pid)).toBe(false);
    expect((await project.attempts())[0]?.exited?.survivors).toEqual([]);
  });

  it("is ended at the limit by the shepherd when the runner is stopped, with time to save", async () => {
    const project = await Project.make(COUNTER, { total: 70, limitMs: 2_500, marginMs: 700 });
    await project.advance();
    await project.untilSteps(3);
    signal(await project.runnerOf(1), "SIGSTOP");
    await eventually("the shepherd's last word", async () => (await project.localRecord(1))?.phase === "over");
    expect(await project.localRecord(1)).toMatchObject({ state: "TIMEOUT", signal: "SIGKILL", survivors: [] });
    await eventually("its settlement", async () => (await project.attempts())[0]?.settled != null);
    const [first] = await project.attempts();
    expect(first?.exited).toMatchObject({ by: "guardian", progressAfter: { state: "above" } });
    expect(first?.settled).toMatchObject({ verdict: "window-ended", decision: { kind: "continue" } });
    expect((await project.watchToEnd()).decision).toEqual({ kind: "finish" });
    expectNothingLost(project.steps(), 70);
  });

  it("gets its TERM in time when the job folder hangs, and the runner ends itself before the limit", async () => {
    const project = await Project.make(COUNTER, { total: 60, limitMs: 2_500, marginMs: 1_200 });
    await project.advance();
    await project.untilSteps(3);
    // A pipe that nobody reads: whoever opens it for appending hangs, as in a file system that does not answer.
    const pipe = join(project.attemptFolder(1), "pipe");
    execFileSync("mkfifo", [pipe]);
    renameSync(pipe, join(project.attemptFolder(1), "samples.csv"));
    await eventually("a testimony", async () => (await project.attempts())[0]?.exited != null);
    const [first] = await project.attempts();
    expect(first?.exited).toMatchObject({ by: "guardian", survivors: [], progressAfter: { state: "above" } });
    const steps = project.steps().filter(({ attempt }) => attempt === 1);
    expect(first?.exited?.progressAfter).toMatchObject({ value: steps.at(-1)?.step });
    // The shepherd waits for the same pipe; the file system answers again.
    await writeFile(join(project.attemptFolder(1), "samples.csv"), "");
    expect((await project.watchToEnd()).decision).toEqual({ kind: "finish" });
    expect(await project.localRecord(1)).toMatchObject({ state: "FAILED", signal: "SIGKILL" });
    expectExactlyOnce(project.steps(), 60);
  });

  it("that a signal to the runner alone asks to end is told so by the runner", async () => {
    const project = await Project.make(COUNTER, { total: 20 });
    await project.advance();
    await project.untilSteps(3);
    signal(await project.runnerOf(1), "SIGTERM");
    await project.watchToEnd();
    expectNothingLost(project.steps(), 20);
    const [first] = await project.attempts();
    expect(first?.exited).toMatchObject({ by: "body", exitCode: 99, signalsReceived: [{ signal: "SIGTERM" }] });
  });

  it("that cannot be started holds the chain with one clear line", async () => {
    const missing = await Project.make("", { command: { kind: "argv", argv: ["no-such-program"] } });
    await missing.advance();
    const held = await missing.watchToEnd();
    expect(held.verdict).toBe("failed");
    expect(held.decision).toMatchObject({ kind: "hold" });
    expect(held.evidence.why).toContain("no-such-program was not found on PATH");
    const nowhere = await Project.make("", { cwd: "/no/such/folder", checkpoint: null });
    await nowhere.advance();
    expect((await nowhere.watchToEnd()).evidence.why).toContain("the working folder /no/such/folder is not there");
  });

  it("gets its words, its environment and the contract unchanged, and its output where the user wants it", async () => {
    const word = "a b'c\"d$e\\f\n%j*";
    const project = await Project.make("", {
      command: {
        kind: "argv",
        argv: [
          "bash",
          "-c",
          'printf "%s|%s|%s|%s\\n" "$1" "$OWN" "$STINT_TASK_ID" "$STINT_RESUME"; echo oops >&2',
          "x",
          word,
        ],
      },
      env: { OWN: word },
      checkpoint: null,
      name: "out",
    });
    await project.advance();
    await project.watchToEnd();
    const folder = project.attemptFolder(1);
    expect(readFileSync(join(folder, "stdout.log"), "utf8")).toBe(`${word}|${word}|/tester/out/0|0\n`);
    expect(readFileSync(join(folder, "stderr.log"), "utf8")).toBe("oops\n");
    expect(readFileSync(join(folder, "samples.csv"), "utf8")).toMatch(/^at_ms,elapsed_ms,cpu_ms,.*\n\d+,\d+,\d+,/);
  });

  it("appends to the file that the user named, in a folder that is made for it", async () => {
    const project = await Project.make(COUNTER.replace("exit 0", "echo end of $STINT_ATTEMPT"), { total: 2 });
    const file = join(project.folder, "logs", "count-1.out");
    const named = await Project.make("echo from $STINT_ATTEMPT", {
      checkpoint: null,
      output: { stdout: join(project.folder, "logs", "%x-%j.out"), stderr: null },
    });
    await named.advance();
    await named.watchToEnd();
    expect(readFileSync(file, "utf8")).toBe("from 1\n");
    expect(readFileSync(join(named.attemptFolder(1), "stdout.log"), "utf8")).toBe("from 1\n");
    expect(existsSync(join(named.attemptFolder(1), "stderr.log"))).toBe(true);
  });
});
