import { expect, test } from "vitest";
import { jobSpec } from "../../test/support/job-spec.ts";
import { fillTask, namesTask, specForTask } from "./task-spec.ts";

test.each([
  ["in-{task}.dat", "in-7.dat"],
  ["{task}{task}", "77"],
  ["{{task}}", "{task}"],
  ["{{{task}}}", "{{task}}"],
  // A variable of the shell.
  [["$", "{task}.{task}"].join(""), ["$", "{task}.7"].join("")],
  ["{Task} {task}s %a", "{Task} 7s %a"],
])("%s becomes %s", (text, filled) => {
  expect(fillTask(text, 7)).toBe(filled);
});

test("only what the index changes names the task", () => {
  expect(["a{task}", "{{task}}", "task"].map(namesTask)).toEqual([true, false, false]);
});

test("everything that a task may need of its own is filled in, and nothing of a job without tasks", () => {
  const plain = jobSpec({
    name: "{task}",
    command: { kind: "argv", argv: ["sim", "--seed={task}"] },
    cwd: "/data/{task}",
    checkpoint: { path: "s-{task}", progress: { kind: "pattern", pattern: "task {task} step (\\d+)" } },
    env: { SEED: "{task}", WORD: "{{task}}" },
    output: { stdout: "/data/{task}.out", stderr: null },
    input: "/data/{task}.in",
  });
  expect(specForTask(plain, 7)).toBe(plain);
  const tasks = { kind: "tasks", indices: "0-9", parallel: null } as const;
  expect(specForTask({ ...plain, tasks }, 7)).toEqual({
    ...plain,
    tasks,
    command: { kind: "argv", argv: ["sim", "--seed=7"] },
    cwd: "/data/7",
    checkpoint: { path: "s-7", progress: { kind: "pattern", pattern: "task 7 step (\\d+)" } },
    env: { SEED: "7", WORD: "{task}" },
    output: { stdout: "/data/7.out", stderr: null },
    input: "/data/7.in",
  });
  const rules = [
    { kind: "json", path: ".t{task}.step" },
    { kind: "files", glob: "r{task}.*" },
    { kind: "number" },
  ] as const;
  expect(
    rules.map(
      (progress) => specForTask({ ...plain, tasks, checkpoint: { path: "s", progress } }, 3).checkpoint?.progress,
    ),
  ).toEqual([{ kind: "json", path: ".t3.step" }, { kind: "files", glob: "r3.*" }, { kind: "number" }]);
  const text = specForTask({ ...plain, tasks, command: { kind: "shell", text: "sim {task} >{{task}}" } }, 3);
  expect(text.command).toEqual({ kind: "shell", text: "sim 3 >{task}" });
  const script = {
    kind: "batch",
    name: "{task}.sh",
    sha256: "ab",
    interpreter: ["/bin/sh"],
    args: ["{task}"],
  } as const;
  // One copy for all: its name is no task's.
  expect(specForTask({ ...plain, tasks, command: script }, 3).command).toEqual({ ...script, args: ["3"] });
});
