/** What `run` and `submit` share: their options, and from words to a submitted job. */
import { type PreparedJob, prepareJob, type SubmitResult, submitJob } from "../chain/index.ts";
import { quoteCommand, quoteShell } from "../core/index.ts";
import { type FlagOption, flagOn } from "../spec/index.ts";
import { JSON_FLAG, QUIET } from "./command.ts";
import { toJson } from "./json.ts";
import { settingLines } from "./settings-view.ts";
import type { Terminal } from "./terminal.ts";
import { here } from "./where.ts";

export const jobOptions: readonly FlagOption[] = [
  { key: "again", flags: ["--again"], takes: "nothing", help: "a new job NAME.2, NAME.3 … where the name is taken" },
  {
    key: "dry-run",
    flags: ["--dry-run"],
    takes: "nothing",
    help: "show settings and script; do nothing",
  },
  {
    key: "take-checkpoint",
    flags: ["--take-checkpoint"],
    takes: "nothing",
    help: "its owner is gone, nothing of it runs: my word",
  },
  QUIET,
  JSON_FLAG,
];

export interface Submitted {
  readonly prepared: PreparedJob;
  readonly result: SubmitResult;
  readonly json: boolean;
  readonly quiet: boolean;
}

/** Resolves and submits; shows what the environment set. `signal`: see SubmitRequest. Throws StintError. */
export async function submitFrom(
  args: readonly string[],
  terminal: Terminal,
  attached: { readonly mode: "attached"; readonly signal: AbortSignal } | null = null,
): Promise<Submitted> {
  const where = here();
  const implied =
    attached === null ? {} : { implied: new Map([["mode", { text: attached.mode, origin: "command run" }]]) };
  const prepared = await prepareJob({ ...where, args, options: jobOptions, ...implied });
  const { given } = prepared;
  const json = flagOn(given, "json");
  const quiet = flagOn(given, "quiet");
  if (!quiet) for (const line of [...prepared.notices, ...prepared.warnings]) terminal.note(line);
  const cutShort = (): void => {
    const name = prepared.job.split("/").slice(2).join("/");
    terminal.note(
      `interrupted; where stint status lists ${name}: stint resume ${quoteShell(name)} goes on, stint cancel ${quoteShell(name)} and then stint rm ${quoteShell(name)} ends it`,
    );
    process.exit(130);
  };
  // An attached command hears its signals itself.
  if (attached === null) process.once("SIGINT", cutShort);
  const result = await submitJob({
    ...where,
    job: prepared.job,
    spec: prepared.spec,
    origins: prepared.origins,
    runtime: prepared.runtime,
    ...(prepared.script === undefined ? {} : { script: prepared.script }),
    again: flagOn(given, "again"),
    takeCheckpoint: flagOn(given, "take-checkpoint"),
    dryRun: flagOn(given, "dry-run"),
    ...(attached === null ? {} : { signal: attached.signal, attended: true }),
    onWait: (why) => terminal.note(`waiting: ${why}`),
    onClaimed: (claimed, of) => terminal.line(of > 1 ? `${claimed} of ${of} checkpoints claimed` : null),
    onBegun: (begun, due) => terminal.line(due > 1 ? `${begun} of ${due} tasks handed over` : null),
  }).finally(() => {
    terminal.line(null);
    process.off("SIGINT", cutShort);
  });
  if (!quiet && (result.kind === "submitted" || result.kind === "continued") && result.notice !== null)
    terminal.note(result.notice);
  return { prepared, result, json, quiet };
}

/** Whether there is a chain to speak of. */
export function hasChain(result: SubmitResult): result is Extract<SubmitResult, { readonly status: unknown }> {
  return "status" in result;
}

/** The results that end `run` and `submit` alike. Null: there is a chain to speak of. */
export function reportNothingToDo({ prepared, result, json }: Submitted, terminal: Terminal): number | null {
  const { spec, origins, warnings } = prepared;
  switch (result.kind) {
    case "total-reached":
      if (json) terminal.out(toJson({ result, warnings }));
      else
        terminal.out(
          `nothing to do: the checkpoint ${spec.checkpoint?.path} is at ${result.progress}, the total is ${result.total}`,
        );
      return 0;
    case "given-up":
      if (json) terminal.out(toJson({ result, warnings }));
      terminal.note("interrupted: nothing was submitted");
      return 130;
    case "dry-run":
      if (json) terminal.out(toJson({ result, spec, origins, warnings }));
      else {
        terminal.out(
          `would submit ${result.job.split("/").slice(2).join("/")} to ${spec.scheduler}, in ${result.folder}\n`,
        );
        terminal.out(...settingLines(spec, origins));
        terminal.out(`\nhanded over by:\n\n${quoteCommand(result.handOver)}`);
        if (result.successors.length > 0)
          terminal.out(
            `\nqueued behind it when it runs, with the ids of the jobs before:\n`,
            ...result.successors.map(quoteCommand),
          );
        terminal.out(`\nscript.sh of its first attempt:\n\n${result.script}`);
        if (result.submitter !== null)
          terminal.out(
            `and its submitter by:\n\n${quoteCommand(result.submitter.handOver)}`,
            `\nscript.sh of its submitter:\n\n${result.submitter.script}`,
          );
      }
      return 0;
    default:
      return null;
  }
}
