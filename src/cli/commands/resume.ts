/** `stint resume`: a held, stopped or stranded chain goes on. */
import {
  requireProject,
  resumeAll,
  resumeFlags,
  resumeJob,
  StintError,
  shortName,
  targetName,
} from "../../chain/index.ts";
import { flagOn, flagText } from "../../spec/index.ts";
import { type CliCommand, JSON_FLAG, oneTarget, QUIET, readArgs, TASK } from "../command.ts";
import { summary } from "../end-report.ts";
import { toJson } from "../json.ts";
import { setAsideLines } from "../set-aside-view.ts";
import { here } from "../where.ts";
import { readNumber } from "../words.ts";

export const command: CliCommand = {
  name: "resume",
  usage: "resume (JOB[/TASK] [--quarantine | --as-it-is] [SETTINGS] | --all)",
  summary: "Lets a held, stopped, drained or stranded job go on, with changed settings where given.",
  details: [
    "The budgets for failures, stalls and attempts without progress begin anew. A finished job stays finished.",
    "Changed settings are those of the whole job, also where one task is named.",
    "--quarantine is for a checkpoint that makes every attempt fail: of files that --progress files:… counts the newest generation is set aside, so that the one before is gone on from; of a single checkpoint all of it, so that the work begins anew. It is moved into a hidden folder beside it; what brings it back is printed.",
    "A checkpoint that is invalid, or gone although progress was made, is never started on: mend it or put it back, set it aside with --quarantine, or say --as-it-is, and your program makes of it what it can. --all leaves such a job as it is, and names it.",
    "Exit status: 0 it goes on (or was finished), 1 it does not, 2 its checkpoint cannot be used, 4 the scheduler cannot be asked, 5 its checkpoint or folder belongs to another, 75 nobody moves it yet.",
  ],
  options: [
    { key: "all", flags: ["--all"], takes: "nothing", help: "mend every stranded chain of the project" },
    {
      key: "over",
      flags: ["--over"],
      takes: "value",
      placeholder: "N",
      help: "attempt N is over, nothing of it runs any more: my word, on file, where nothing else can prove it",
    },
    {
      key: "take-checkpoint",
      flags: ["--take-checkpoint"],
      takes: "nothing",
      help: "the original of this folder, or the checkpoint's owner, is gone, and nothing of it runs: my word",
    },
    {
      key: "quarantine",
      flags: ["--quarantine"],
      takes: "nothing",
      help: "set the checkpoint aside first: nothing is deleted",
    },
    {
      key: "as-it-is",
      flags: ["--as-it-is"],
      takes: "nothing",
      help: "start on an invalid or missing checkpoint: my word, on file",
    },
    { key: "dry-run", flags: ["--dry-run"], takes: "nothing", help: "only show what --quarantine would move" },
    TASK,
    QUIET,
    JSON_FLAG,
  ],
  settings: resumeFlags,
  examples: [
    ["stint resume sim", "go on"],
    ["stint resume sim --mem 16G --limit 8h", "with more memory and time"],
    ["stint resume sim --quarantine", "without a checkpoint that crashes it"],
    ["stint resume --all", "mend what is stranded, e.g. after a reboot"],
  ],
  async run(args, terminal) {
    const parsed = readArgs(command, args);
    const { given } = parsed;
    const quiet = flagOn(given, "quiet");
    const project = requireProject(here());
    const onWait = (why: string): void => {
      if (!quiet) terminal.note(`waiting: ${why}`);
    };
    const onNotice = (line: string): void => {
      if (!quiet) terminal.note(line);
    };
    const request = { takeCheckpoint: flagOn(given, "take-checkpoint"), onWait, onNotice };
    const quarantine = flagOn(given, "quarantine");
    const dryRun = flagOn(given, "dry-run");
    const asItIs = flagOn(given, "as-it-is");
    if (asItIs && quarantine) throw new StintError("usage", "--quarantine and --as-it-is exclude each other");
    if (dryRun && !quarantine) throw new StintError("usage", "--dry-run shows what --quarantine would move: give both");
    if (flagOn(given, "all")) {
      if (quarantine) throw new StintError("usage", "--quarantine is a word about one job: name it instead of --all");
      if (asItIs) throw new StintError("usage", "--as-it-is is a word about one job: name it instead of --all");
      if (parsed.positionals.length > 0) throw new StintError("usage", "--all and a job exclude each other");
      const entries = await resumeAll(project, request);
      if (flagOn(given, "json"))
        terminal.out(
          toJson({ jobs: entries.map(({ job, result, error }) => ({ job, result, error: error?.message ?? null })) }),
        );
      else if (entries.length === 0) terminal.out("no chain is stranded");
      else
        for (const { job, error } of entries)
          terminal.out(`${shortName(project, job)}: ${error === null ? "goes on" : error.message}`);
      return entries.find(({ error }) => error !== null)?.error?.exitStatus ?? 0;
    }
    const { target } = await oneTarget(command, parsed);
    const { place, task } = target;
    const over = flagText(given, "over");
    const result = await resumeJob(project, place, {
      ...request,
      task,
      flags: given,
      quarantine,
      asItIs,
      dryRun,
      ...(over === null ? {} : { over: readNumber("--over", over) }),
    });
    const { status } = result;
    const name = targetName(project, target);
    const setAside = "setAside" in result ? result.setAside : null;
    const moves = setAside === null ? null : { ...setAside.quarantine, state: setAside.state };
    if (flagOn(given, "json")) terminal.out(toJson({ result: result.kind, job: status, quarantine: moves }));
    else if (result.kind === "dry-run") terminal.out(...setAsideLines(result.setAside, name, true));
    else {
      if (result.kind === "resumed") terminal.out(...setAsideLines(result.setAside, name, false));
      const changed =
        result.kind === "finished" || result.changed.length === 0 ? "" : ` with ${result.changed.join(", ")} changed`;
      const words = {
        resumed: "goes on",
        "goes-on": "goes on by itself already",
        finished: "finished: there is nothing to resume",
      };
      terminal.out(`${name}: ${words[result.kind]}${changed}`);
      if (!quiet) terminal.out(...summary(project, status));
    }
    if (result.kind === "dry-run") return 0;
    return status.state === "held" || status.state === "stranded" ? 1 : 0;
  },
};
