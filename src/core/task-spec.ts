/** From the specification of a job to that of one of its tasks: `{task}` becomes the task's index. */
import type { Command, JobSpec, ProgressRule } from "./job-spec.ts";

/** `{task}` → the index; `{{task}}` → `{task}` as it stands; `${task}` is a variable of the shell, and stays. */
export function fillTask(text: string, index: number): string {
  return text.replaceAll(/(?<!\$)\{\{task\}\}|(?<!\$)\{task\}/g, (found) => (found === TASK ? String(index) : TASK));
}

const TASK = "{task}";

/** Whether the text is another one for each task. */
export function namesTask(text: string): boolean {
  return fillTask(text, 0) !== fillTask(text, 1);
}

/** Whether the job consists of tasks by name. Absent in a specification of an older version: it does not. */
export function hasTaskPlan({ tasks }: Pick<JobSpec, "tasks">): boolean {
  return (tasks ?? null) !== null;
}

/** A job without tasks of its own is left alone: there braces are just braces. Everything that a task may need of its own is filled in. */
export function specForTask(spec: JobSpec, index: number): JobSpec {
  if (!hasTaskPlan(spec)) return spec;
  const fill = (text: string): string => fillTask(text, index);
  const { command, checkpoint, output, input, env } = spec;
  return {
    ...spec,
    command: commandFor(command, fill),
    cwd: fill(spec.cwd),
    checkpoint:
      checkpoint === null ? null : { path: fill(checkpoint.path), progress: ruleFor(checkpoint.progress, fill) },
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)])),
    output: {
      stdout: output.stdout === null ? null : fill(output.stdout),
      stderr: output.stderr === null ? null : fill(output.stderr),
    },
    ...(input === undefined ? {} : { input: fill(input) }),
  };
}

function commandFor(command: Command, fill: (text: string) => string): Command {
  switch (command.kind) {
    case "shell":
      return { kind: "shell", text: fill(command.text) };
    case "argv":
      return { kind: "argv", argv: command.argv.map(fill) };
    case "batch":
      // The script itself is the same for all, byte for byte.
      return { ...command, args: command.args.map(fill) };
  }
}

function ruleFor(rule: ProgressRule, fill: (text: string) => string): ProgressRule {
  switch (rule.kind) {
    case "number":
      return rule;
    case "json":
      return { kind: "json", path: fill(rule.path) };
    case "pattern":
      return { kind: "pattern", pattern: fill(rule.pattern) };
    case "files":
      return { kind: "files", glob: fill(rule.glob) };
  }
}
