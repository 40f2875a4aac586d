/** Whether a second job of one name is the same work: then it continues the first, else it is refused. */
import { isAbsolute, join, normalize } from "node:path";
import type { Command, JobSpec } from "../core/index.ts";
import { quoteCommand } from "../core/index.ts";

export type SamePurpose = { readonly same: true } | { readonly same: false; readonly differs: string };

/** Command, tasks, working folder and checkpoint must agree; limits, budgets and resources may change. `a` is what is on file. */
export function samePurpose(a: JobSpec, b: JobSpec): SamePurpose {
  if (!sameCommand(a.command, b.command)) return differs("the command", commandText(a.command), commandText(b.command));
  if (tasksText(a) !== tasksText(b)) return differs("which tasks it has", tasksText(a), tasksText(b));
  if (a.cwd !== b.cwd) return differs("the working folder", a.cwd, b.cwd);
  const [before, now] = [checkpointOf(a), checkpointOf(b)];
  if (before.path !== now.path) return differs("the checkpoint", before.path, now.path);
  if (before.progress !== now.progress) return differs("how progress is read", before.progress, now.progress);
  return { same: true };
}

/** One line for a person: shell text as it is, an argument vector quoted. */
export function commandText(command: Command): string {
  return command.kind === "shell" ? command.text : quoteCommand(command.argv);
}

/** How many at a time may change. */
function tasksText({ tasks }: JobSpec): string {
  if (tasks == null) return "one";
  return tasks.kind === "array" ? `array ${tasks.indices}` : tasks.indices;
}

function differs(what: string, before: string, now: string): SamePurpose {
  return { same: false, differs: `${what} differs: ${before} on file, ${now} now` };
}

function sameCommand(a: Command, b: Command): boolean {
  if (a.kind === "shell" || b.kind === "shell") return a.kind === "shell" && b.kind === "shell" && a.text === b.text;
  return a.argv.length === b.argv.length && a.argv.every((argument, index) => argument === b.argv[index]);
}

function checkpointOf(spec: JobSpec): { readonly path: string; readonly progress: string } {
  if (spec.checkpoint === null) return { path: "none", progress: "none" };
  const { path, progress } = spec.checkpoint;
  const rule =
    progress.kind === "number"
      ? "number"
      : progress.kind === "json"
        ? `json:${progress.path}`
        : progress.kind === "pattern"
          ? `pattern:${progress.pattern}`
          : `files:${progress.glob}`;
  return { path: normalize(isAbsolute(path) ? path : join(spec.cwd, path)), progress: rule };
}
