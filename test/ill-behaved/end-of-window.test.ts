/** Applications that do not do at TERM what they should. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { eventually, Project, signal } from "../local/harness.ts";
import { attemptsThatRan, expectChain, loggedSteps, PATIENT, STEPS } from "./step-log.ts";

describe("an application at the end of its window", () => {
  it("that ignores TERM and finishes shortly after has finished, and both facts are on file", async () => {
    const project = await Project.make(`${STEPS} trap '' TERM; while ((n < MAX_ITER)); do step; done`, {
      total: 30,
      limitMs: 4_500,
      marginMs: 3_300,
      budgets: PATIENT,
    });
    await project.advance();
    const settled = await project.watchToEnd();
    expect(settled).toMatchObject({ verdict: "completed", decision: { kind: "finish" } });
    const [only, ...more] = await attemptsThatRan(project);
    expect(more).toEqual([]);
    expect(only?.exited).toMatchObject({ windowEnded: true, endedBy: "window", exitCode: 0, signal: null });
    expect(only?.exited?.signalsSent.map((note) => note.signal)).toEqual(["SIGTERM"]);
    expectChain(project.folder, 30, "once");
  });

  it("that ignores TERM for ever is killed before the limit, and the chain goes on from what it saved", async () => {
    const project = await Project.make(`${STEPS} trap '' TERM; while ((n < MAX_ITER)); do step; done`, {
      total: 45,
      limitMs: 2_200,
      marginMs: 1_000,
      budgets: PATIENT,
    });
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(project.folder, 45);
    const [first] = await attemptsThatRan(project);
    expect(first?.settled).toMatchObject({ verdict: "window-ended", decision: { kind: "continue" } });
    expect(first?.exited).toMatchObject({ by: "body", signal: "SIGKILL", survivors: [] });
    // KILL came by itself in front of the limit of 2.2 s: the shepherd's comes half a second behind it.
    expect(first?.exited?.signalsSent.at(-1)).toMatchObject({ signal: "SIGKILL" });
    expect(first?.exited?.ranMs).toBeLessThan(2_700);
  });

  it("that ignores TERM and never saves is held after two windows, with what to do", async () => {
    const project = await Project.make("trap '' TERM; while :; do sleep 0.1; done", {
      total: 10,
      limitMs: 2_200,
      marginMs: 1_000,
    });
    await project.advance();
    const settled = await project.watchToEnd();
    expect(settled.verdict).toBe("stalled");
    expect(settled.decision).toEqual({
      kind: "hold",
      why: "killed by SIGKILL at the end of the window: it did not end within the margin of 1s (--margin auto sizes it), the checkpoint is not there (2 times)",
      advice: "give it a longer --limit or --margin, or let it save sooner",
    });
    expect(await attemptsThatRan(project)).toHaveLength(2);
  });

  it("that exits with 0 at TERM goes on when progress grew", async () => {
    const project = await Project.make(`${STEPS} trap 'save; exit 0' TERM; while ((n < MAX_ITER)); do step; done`, {
      total: 30,
      limitMs: 2_200,
      marginMs: 1_000,
      budgets: PATIENT,
    });
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(project.folder, 30);
    const [first] = await attemptsThatRan(project);
    expect(first?.exited).toMatchObject({ exitCode: 0, windowEnded: true });
    expect(first?.settled).toMatchObject({
      verdict: "checkpointed",
      evidence: { why: "exit 0, total not reached, progress grew" },
    });
  });

  it("that exits with 0 at TERM without having saved anything has stalled, and is held the second time", async () => {
    const project = await Project.make("trap 'exit 0' TERM; while :; do sleep 0.05; done", {
      total: 10,
      limitMs: 2_200,
      marginMs: 1_000,
    });
    await project.advance();
    const settled = await project.watchToEnd();
    expect(settled).toMatchObject({ verdict: "stalled", decision: { kind: "hold" } });
    expect(settled.evidence.why).toBe("exit 0 after TERM without any progress, but the checkpoint is not there");
    expect((await attemptsThatRan(project)).map((attempt) => attempt.settled?.verdict)).toEqual(["stalled", "stalled"]);
  });

  it("that somebody has stopped is woken up to take its TERM, and saves", async () => {
    const project = await Project.make(
      `${STEPS} trap 'stop=1' TERM; while ((n < MAX_ITER)); do step; [ -n "$stop" ] && { save; exit 99; }; done`,
      { total: 20, limitMs: 2_600, marginMs: 1_200, budgets: PATIENT },
    );
    await project.advance();
    await eventually("four steps", () => loggedSteps(project.folder).length >= 4);
    const application = await eventually("the application on file", () => applicationOf(project, 1));
    signal(application, "SIGSTOP");
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(project.folder, 20);
    const [first] = await attemptsThatRan(project);
    expect(first?.exited).toMatchObject({ endedBy: "window", exitCode: 99, signal: null });
    expect(first?.settled?.verdict).toBe("checkpointed");
  });

  it("that stops itself at TERM is killed in time", async () => {
    const project = await Project.make(
      `${STEPS} trap 'save; kill -STOP $$' TERM; while ((n < MAX_ITER)); do step; done`,
      { total: 35, limitMs: 2_200, marginMs: 900, budgets: PATIENT },
    );
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(project.folder, 35);
    const [first] = await attemptsThatRan(project);
    expect(first?.exited).toMatchObject({ signal: "SIGKILL", survivors: [] });
    expect(first?.settled?.verdict).toBe("window-ended");
  });
});

/** Saves every 100 steps only: what is done since then is on file only if TERM arrives and there is time to save. */
const PYTHON = `
import os, signal, sys, time
boot = open("/proc/sys/kernel/random/boot_id").read().strip()
asked = False
def on_term(*_):
    global asked
    asked = True
signal.signal(signal.SIGTERM, on_term)
n = int(open("state.txt").read()) if os.path.exists("state.txt") else 0
def save():
    with open("state.tmp", "w") as file:
        file.write(str(n))
    os.replace("state.tmp", "state.txt")
while n < int(os.environ["MAX_ITER"]):
    began = time.time()
    time.sleep(0.05)
    n += 1
    with open("log.txt", "a") as log:
        print(os.environ["STINT_ATTEMPT"], boot, os.getpid(), "%.6f" % began, "%.6f" % time.time(), n, file=log)
    if asked:
        time.sleep(0.3)
        save()
        sys.exit(99)
    if n % 100 == 0:
        save()
save()
`;

describe("plain bash around Python", () => {
  for (const [how, command] of [
    ["a script", { kind: "argv", argv: ["bash", "app.sh"] }],
    ["a line of text", { kind: "shell", text: "python3 app.py; echo $? >code.txt" }],
  ] as const)
    it(`(${how}): TERM reaches Python, which has the time to save though bash is gone, and progress judges`, async () => {
      const project = await Project.make("python3 app.py\ncode=$?\necho ended with $code\nexit $code\n", {
        total: 40,
        limitMs: 4_200,
        marginMs: 2_500,
        budgets: PATIENT,
        command,
      });
      writeFileSync(join(project.folder, "app.py"), PYTHON);
      await project.advance();
      expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
      expectChain(project.folder, 40, "once");
      const attempts = await attemptsThatRan(project);
      expect(attempts.length).toBeGreaterThan(1);
      for (const { exited, settled } of attempts.slice(0, -1)) {
        expect(exited).toMatchObject({ windowEnded: true, exitCode: null, signal: "SIGTERM", survivors: [] });
        expect(exited?.signalsSent.map((note) => note.signal)).toEqual(["SIGTERM"]);
        expect(settled).toMatchObject({
          verdict: "window-ended",
          evidence: { why: "killed by SIGTERM at the end of the window, progress grew" },
        });
      }
    });
});

function applicationOf(project: Project, attempt: number) {
  try {
    return JSON.parse(readFileSync(join(project.attemptFolder(attempt), "application.json"), "utf8")).process;
  } catch {
    // Not there yet.
    return null;
  }
}
