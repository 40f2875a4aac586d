/** The margin against how long saving really takes. */
import { describe, expect, it } from "vitest";
import { eventually, Project } from "./harness.ts";

/** Counts, and saves only when it is told to end: that takes SAVE_SEC. */
const SLOW_SAVER = `
n=0; [ -e state.txt ] && read -r n <state.txt
trap 'stop=1' TERM
while [ -z "$stop" ]; do sleep 0.05; n=$((n + 1)); done
sleep "$SAVE_SEC"
echo "$n" >state.tmp && mv state.tmp state.txt
exit 99
`;

async function settledAttempt(project: Project, number: number) {
  return eventually(`attempt ${number} is settled`, async () => {
    const attempt = (await project.attempts()).find((one) => one.number === number);
    return attempt?.settled == null || attempt.go?.what !== "start" ? null : { ...attempt, go: attempt.go };
  });
}

describe("margin: auto", () => {
  it("is half of a short limit at first, and then follows the save that was measured", async () => {
    const limitMs = 8_000;
    const project = await Project.make(SLOW_SAVER, { marginMs: "auto", limitMs, env: { SAVE_SEC: "1.5" } });
    await project.advance();
    const first = await settledAttempt(project, 1);
    // The limit counts from the start of the runner, which takes a moment.
    expect(first.go.marginMs).toBeGreaterThan(limitMs / 2 - 500);
    expect(first.go.marginMs).toBeLessThanOrEqual(limitMs / 2);
    expect(first.settled).toMatchObject({ verdict: "checkpointed" });
    const tookMs = first.exited?.saving?.ms ?? 0;
    expect(first.exited?.saving).toEqual({ ms: expect.any(Number), killed: false });
    expect(tookMs).toBeGreaterThanOrEqual(1_500);
    expect(tookMs).toBeLessThan(2_100);
    expect(first.settled?.carry.recentSaves).toEqual([{ ms: tookMs, killed: false }]);

    const second = await settledAttempt(project, 2);
    const marginMs = second.go.marginMs ?? 0;
    // Half as much again as the save, and 15 % of itself for what comes after it.
    expect(marginMs * 0.85).toBeCloseTo(1.5 * tookMs, -1);
    const [term] = second.exited?.signalsSent ?? [];
    const windowMs = (second.started?.limitEndAtMs ?? 0) - marginMs - (second.exited?.startedAtMs ?? 0);
    expect(Math.abs((term?.afterMs ?? 0) - windowMs)).toBeLessThan(150);
    expect(second.settled).toMatchObject({ verdict: "checkpointed" });
    expect(project.story()).toContain("sized from 1 measured save, the longest 1.");
    await project.stop("cancel");
    await project.driveToEnd();
  });
});

describe("a fixed margin that is too short", () => {
  it("is named where the application was killed, with what sizes it", async () => {
    const project = await Project.make(SLOW_SAVER, { marginMs: 800, limitMs: 2_000, env: { SAVE_SEC: "30" } });
    await project.advance();
    const { settled, exited } = await settledAttempt(project, 1);
    expect(exited?.saving).toMatchObject({ killed: true });
    expect(settled?.evidence.why).toBe(
      "killed by SIGKILL at the end of the window: it did not end within the margin of 0.8s (--margin auto sizes it), the checkpoint is not there",
    );
    expect(settled?.carry.recentSaves).toEqual([exited?.saving]);
    await project.stop("cancel");
    await project.driveToEnd();
  });
});
