/** What `run` and `submit` share: their options, and from words to a submitted job. */
import { type PreparedJob, prepareJob, type SubmitResult, submitJob } from "../chain/index.ts";
import { type FlagOption, flagOn } from "../spec/index.ts";
import { JSON_FLAG, QUIET } from "./command.ts";
import { toJson } from "./json.ts";
import type { Terminal } from "./terminal.ts";
import { here } from "./where.ts";

export const jobOptions: readonly FlagOption[] = [
  { key: "again", flags: ["--again"], takes: "nothing", help: "a new job NAME.2, NAME.3 … where the name is taken" },
  {
    key: "dry-run",
    flags: ["--dry-run"],
    takes: "nothing",
    help: "show what would be done, and the script; do nothing",
  },
  {
    key: "take-checkpoint",
    flags: ["--take-checkpoint"],
    takes: "nothing",
    help: "the job that owned the checkpoint is gone with its folder, and nothing of it runs: my word",
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

/** Resolves and submits; shows what the environment set. Throws StintError. */
export async function submitFrom(
  args: readonly string[],
  terminal: Terminal,
  mode: "attached" | null,
): Promise<Submitted> {
  const where = here();
  const implied = mode === null ? {} : { implied: new Map([["mode", { text: mode, origin: "command run" }]]) };
  const prepared = await prepareJob({ ...where, args, options: jobOptions, ...implied });
  const { given } = prepared;
  const json = flagOn(given, "json");
  const quiet = flagOn(given, "quiet");
  if (!quiet) for (const notice of prepared.notices) terminal.note(notice);
  const result = await submitJob({
    ...where,
    job: prepared.job,
    spec: prepared.spec,
    origins: prepared.origins,
    runtime: prepared.runtime,
    again: flagOn(given, "again"),
    takeCheckpoint: flagOn(given, "take-checkpoint"),
    dryRun: flagOn(given, "dry-run"),
    onWait: (why) => terminal.note(`waiting: ${why}`),
  });
  return { prepared, result, json, quiet };
}

/** The results that end `run` and `submit` alike. Null: there is a chain to speak of. */
export function reportNothingToDo({ prepared, result, json }: Submitted, terminal: Terminal): number | null {
  if (result.kind === "total-reached") {
    if (json) terminal.out(toJson({ result }));
    else
      terminal.out(
        `nothing to do: the checkpoint ${prepared.spec.checkpoint?.path} is at ${result.progress}, the total is ${result.total}`,
      );
    return 0;
  }
  if (result.kind !== "dry-run") return null;
  if (json) {
    terminal.out(toJson({ result, spec: prepared.spec, origins: prepared.origins }));
    return 0;
  }
  terminal.out(`would submit ${result.job} to ${prepared.spec.scheduler}, in ${result.folder}`);
  terminal.out(`script.sh of its first attempt:\n\n${result.script}`);
  return 0;
}
