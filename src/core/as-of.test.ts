import { expect, it } from "vitest";
import { asOf } from "./as-of.ts";

const TASK = { taskId: "/u/j/0", jobId: "/u/j", state: "succeeded", startedAtMs: 100, finishedAtMs: 200 } as const;

it("takes back what had not happened yet", () => {
  expect(asOf(TASK, 200)).toBe(TASK);
  expect(asOf(TASK, 199)).toEqual({ ...TASK, state: "running", finishedAtMs: null });
  expect(asOf(TASK, 100)).toEqual({ ...TASK, state: "running", finishedAtMs: null });
  expect(asOf(TASK, 99)).toEqual({ ...TASK, state: "pending", startedAtMs: null, finishedAtMs: null });
});

it("leaves what has no times", () => {
  const waiting = { ...TASK, state: "pending", startedAtMs: null, finishedAtMs: null } as const;
  expect(asOf(waiting, 0)).toBe(waiting);
});
