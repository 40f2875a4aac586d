/** What `cancel` and `drain` share. */
import { type StopResult, stopJob, targetName } from "../chain/index.ts";
import { flagOn, flagText } from "../spec/index.ts";
import { type CliCommand, oneTarget, readArgs } from "./command.ts";
import { summary } from "./end-report.ts";
import { toJson } from "./json.ts";
import type { Terminal } from "./terminal.ts";
import { readDuration } from "./words.ts";

export async function runStop(
  kind: "cancel" | "drain",
  command: CliCommand,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const parsed = readArgs(command, args);
  const { project, target } = await oneTarget(command, parsed);
  const { place, task } = target;
  const timeout = flagText(parsed.given, "timeout");
  const wait = kind === "cancel" || flagOn(parsed.given, "wait") || timeout !== null;
  const quiet = flagOn(parsed.given, "quiet");
  const result = await stopJob(project, place, {
    kind,
    wait,
    task,
    ...(timeout === null ? {} : { timeoutMs: readDuration("--timeout", timeout) }),
    onWait: (why) => {
      if (!quiet) terminal.note(why.startsWith("ending ") ? why : `waiting: ${why}`);
    },
  });
  const unproved = result.kind === "asked" && result.status.state === "held";
  if (flagOn(parsed.given, "json")) terminal.out(toJson({ result: result.kind, job: result.status }));
  else {
    const words =
      result.kind === "was-over"
        ? wasOver(kind, result.status)
        : unproved
          ? `${kind} is on file; whether anything of it still runs cannot be proved from here`
          : result.kind === "stopped"
            ? stoppedWords(kind, result.status)
            : ASKED[kind];
    terminal.out(`${targetName(project, target)}: ${words}`);
    if (!quiet && (result.kind !== "asked" || unproved)) terminal.out(...summary(project, result.status));
  }
  return result.kind === "asked" && (wait || unproved) ? 75 : 0;
}

/** Nothing was left to end; what it was says whether it could go on. */
function wasOver(kind: "cancel" | "drain", { state, decision, reason }: StopResult["status"]): string {
  const nothing = kind === "cancel" ? "nothing was cancelled" : "there is nothing to drain";
  if (state === "held") return `it is held, nothing of it runs; ${nothing}`;
  const stopped = /^(drained|cancelled)\b/.exec(reason ?? "")?.[1];
  if (stopped !== undefined && decision !== "finish") return `it is ${stopped}, nothing of it runs; ${nothing}`;
  return `it was over already, ${nothing}`;
}

/** What the decision on file says: the wish may have come when the chain was already at its end. */
export function stoppedWords(
  kind: "cancel" | "drain",
  { state, decision, reason, tasks }: Pick<StopResult["status"], "state" | "decision" | "reason" | "tasks">,
): string {
  const rest = "nothing of it runs any more";
  if (decision === "finish") return `it had finished already; ${rest}`;
  const stopped = /^(drained|cancelled)\b/.exec(reason ?? "")?.[1];
  // Of several tasks one that was held or over before says nothing of the others; how each stands is said beside it.
  if (tasks === null && state === "held") return `it was held already: ${reason}; ${rest}`;
  if (tasks === null && state === "over" && stopped === undefined) return `it was over already: ${reason}; ${rest}`;
  return `${stopped ?? PAST[kind]}; ${rest}`;
}

const PAST = { cancel: "cancelled", drain: "drained" } as const;

const ASKED = {
  cancel: "cancel is on file, its end is not proved yet",
  drain: "drain is on file: the running attempt saves and stops, no other one starts",
} as const;
