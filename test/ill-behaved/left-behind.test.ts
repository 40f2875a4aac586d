/** Applications whose children stay: each is gone before the next attempt's application starts. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findProgram, hasEnded, readStat } from "../../src/host/index.ts";
import { Project } from "../local/harness.ts";
import { attemptsThatRan, expectChain, loggedSteps, PATIENT, STEPS, WRITER, written } from "./step-log.ts";

/** Two forks, a session of its own, and a title so long that it lies over the environment. */
const TITLED = `
use POSIX (); use Time::HiRes ();
exit if fork; POSIX::setsid(); exit if fork;
$SIG{TERM} = $SIG{HUP} = $SIG{INT} = "IGNORE";
my $attempt = $ENV{STINT_ATTEMPT};
$0 = "kworker/0:1 " . ("x" x 60000);
open my $file, "<", "/proc/$$/environ"; my $environment = do { local $/; <$file> };
open my $note, ">", "title.txt"; print $note index($environment, "STINT_MARK=") >= 0 ? "marked" : "unmarked"; close $note;
$| = 1;
while (1) {
  open my $log, ">>", "writers.txt"; printf $log "%s %s %.6f\\n", $attempt, $$, Time::HiRes::time(); close $log;
  Time::HiRes::sleep(0.02);
}
`;

const WAYS: readonly { readonly title: string; readonly start: string }[] = [
  { title: "in the background", start: 'bash writer.sh "$STINT_ATTEMPT" &' },
  { title: "with nohup, disowned", start: 'nohup bash writer.sh "$STINT_ATTEMPT" >/dev/null 2>&1 & disown' },
  { title: "by setsid and a double fork", start: '(setsid bash writer.sh "$STINT_ATTEMPT" &)' },
  {
    title: "by setsid with an empty environment",
    start: '(env -i "$(command -v setsid)" "$BASH" writer.sh "$STINT_ATTEMPT" &)',
  },
  { title: "under another title, by setsid and a double fork", start: "perl titled.pl" },
];

describe("a child that an application leaves behind", () => {
  for (const { title, start } of WAYS)
    it(`${title}, is gone before the next attempt starts`, async (context) => {
      if (start.startsWith("perl") && findProgram("perl", process.env.PATH ?? "") === null)
        context.skip("there is no perl here");
      const application = `${STEPS}
        ${start}
        until grep -q "^$STINT_ATTEMPT " writers.txt 2>/dev/null; do sleep 0.02; done
        for i in 1 2 3 4; do step; done
        ((n >= MAX_ITER)) && exit 0
        exit 99`;
      const project = await Project.make(application, { total: 12, killWaitMs: 200 });
      writeFileSync(join(project.folder, "writer.sh"), WRITER);
      writeFileSync(join(project.folder, "titled.pl"), TITLED);
      await project.advance();
      expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
      expectChain(project.folder, 12, "once");
      const attempts = await project.attempts();
      expect(attempts.map((attempt) => attempt.exited?.survivors)).toEqual([[], [], []]);
      expect(new Set(written(project.folder).map(({ attempt }) => attempt))).toEqual(new Set([1, 2, 3]));
      expectApart(project);
      for (const { number, exited } of attempts) {
        // What it wrote all the while is time that it ran, and who has ended it is on file.
        const last = written(project.folder)
          .filter(({ attempt }) => attempt === number)
          .at(-1);
        expect((exited?.startedAtMs ?? 0) + (exited?.ranMs ?? 0)).toBeGreaterThanOrEqual((last?.at ?? 0) * 1000 - 5);
        expect(exited?.signalsSent.map(({ signal }) => signal)).toEqual(["SIGTERM", "SIGKILL"]);
      }
      expect(written(project.folder).filter(({ pid }) => isRunning(pid))).toEqual([]);
      if (start.startsWith("perl")) expect(readFileSync(join(project.folder, "title.txt"), "utf8")).toBe("unmarked");
    });

  it("at the end of the window, deaf to TERM, is killed with it", async () => {
    const application = `${STEPS}
      (setsid bash writer.sh "$STINT_ATTEMPT" &)
      trap 'save; exit 99' TERM
      while ((n < MAX_ITER)); do step; done`;
    const project = await Project.make(application, { total: 35, limitMs: 2_200, marginMs: 1_000, budgets: PATIENT });
    writeFileSync(join(project.folder, "writer.sh"), WRITER);
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(project.folder, 35);
    expectApart(project);
    const [first] = await attemptsThatRan(project);
    expect(first?.exited).toMatchObject({ windowEnded: true, exitCode: 99, survivors: [] });
  });
});

/** Whatever an attempt left has written its last before the next one's application began. */
function expectApart(project: Project): void {
  const steps = loggedSteps(project.folder);
  for (const { attempt, at } of written(project.folder)) {
    const next = steps.find((step) => step.attempt > attempt);
    if (next !== undefined) expect(at).toBeLessThan(next.from);
  }
}

/** A zombie that nobody has waited for yet runs and holds nothing. */
function isRunning(pid: number): boolean {
  const stat = readStat(pid);
  return stat !== null && !hasEnded(stat);
}
