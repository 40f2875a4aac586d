/** Whether a second job of one name is the same work: then it continues the first, else it is refused. */
import { isAbsolute, join, normalize } from "node:path";
import type { Command, JobSpec } from "../core/index.ts";
import { quoteCommand } from "../core/index.ts";

export type SamePurpose = { readonly same: true } | { readonly same: false; readonly differs: string };

/** Command, tasks, working folder and checkpoint must agree; limits, budgets and resources may change. `a` is what is on file. */
export function samePurpose(a: JobSpec, b: JobSpec): SamePurpose {
  if (!sameCommand(a.command, b.command)) {
    // The same words are another program to a shell than without one.
    if (a.command.kind !== b.command.kind)
      return differs(
        "the command",
        `${FORMS[a.command.kind]} (${commandText(a.command)})`,
        `${FORMS[b.command.kind]} (${commandText(b.command)})`,
      );
    const [before, now] = [commandText(a.command), commandText(b.command)];
    // Its text is not what differs.
    if (before === now) return { same: false, differs: `the content of the script differs from that on file: ${now}` };
    return differs("the command", before, now);
  }
  if (tasksText(a) !== tasksText(b)) return differs("which tasks it has", tasksText(a), tasksText(b));
  if (a.cwd !== b.cwd) return differs("the working folder", a.cwd, b.cwd);
  const [before, now] = [checkpointOf(a), checkpointOf(b)];
  if (before.path !== now.path) return differs("the checkpoint", before.path, now.path);
  if (before.progress !== now.progress) return differs("how progress is read", before.progress, now.progress);
  return { same: true };
}

const FORMS: Readonly<Record<Command["kind"], string>> = {
  shell: "a text for a shell",
  argv: "a list of arguments",
  batch: "a batch script",
};

/** One line for a person: shell text as it is, an argument vector quoted, a batch script by its name. */
export function commandText(command: Command): string {
  if (command.kind === "shell") return command.text;
  return quoteCommand(command.kind === "argv" ? command.argv : [command.name, ...command.args]);
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
  if (a.kind === "shell" && b.kind === "shell") return a.text === b.text;
  if (a.kind === "argv" && b.kind === "argv") return sameWords(a.argv, b.argv);
  return a.kind === "batch" && b.kind === "batch" && a.sha256 === b.sha256 && sameWords(a.args, b.args);
}

function sameWords(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, index) => word === b[index]);
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
