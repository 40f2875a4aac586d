/** `stint run`: submit, and stay attached to the end. */
import { attemptTable, findJob, requireProject } from "../../chain/index.ts";
import { settingFlags } from "../../spec/index.ts";
import type { CliCommand } from "../command.ts";
import { exitStatusOf, report, summary } from "../end-report.ts";
import { jobOptions, reportNothingToDo, submitFrom } from "../job-options.ts";
import { toJson } from "../json.ts";
import { followToEnd } from "../run-to-end.ts";
import { here } from "../where.ts";

export const command: CliCommand = {
  name: "run",
  usage: "run [OPTIONS] (SPEC.yaml | SCRIPT [ARGS] | -- COMMAND…)",
  summary: "Runs a job as a chain of attempts, attached to its end.",
  details: [
    "The first Ctrl-C drains (it saves, then stops; exit status 75), the second cancels (130). A lost terminal detaches: the",
    "chain goes on by itself. The same name again continues a job, and says so when it is finished.",
    "Exit status: 0 finished, 1 failed, held or cancelled, 2 usage, 5 someone else holds the checkpoint, 75 not finished.",
  ],
  options: jobOptions,
  settings: settingFlags,
  examples: [
    ["stint run stint.yaml", "what the file says"],
    ["stint run --limit 4h --checkpoint state.txt --total 500 -- python3 sim.py", "a command, without a shell"],
    ["stint run -t 01:00:00 -J sim -- ./sim", "sbatch's spellings"],
  ],
  async run(args, terminal) {
    const submitted = await submitFrom(args, terminal, "attached");
    const nothing = reportNothingToDo(submitted, terminal);
    if (nothing !== null) return nothing;
    const { result, json, quiet } = submitted;
    if (result.kind === "total-reached" || result.kind === "dry-run") return 0;
    const project = requireProject(here());
    const place = await findJob(project, result.status.job);
    if (result.kind === "there") {
      const { status, notice } = result;
      const goesOn = status.state === "running" || status.state === "waiting";
      if (!quiet && notice !== null) terminal.note(notice);
      if (!goesOn) {
        if (json) terminal.out(toJson({ job: status, attempts: await attemptTable(project, place) }));
        else {
          terminal.out("it is there already, nothing was started:");
          terminal.out(...summary(project, status));
        }
        return exitStatusOf(status);
      }
      if (!quiet) terminal.note(`${status.job} is ${status.state} already: attached to it`);
    } else if (!quiet) terminal.note(`${status(result.kind)} ${result.status.job}`);
    const attached = await followToEnd(project, place, terminal, { quiet, drainOnSignal: true });
    if (attached.ended === "detached") return 75;
    if (json) terminal.out(toJson({ job: attached.status, attempts: await attemptTable(project, place) }));
    else if (quiet) terminal.out(...summary(project, attached.status));
    else await report(project, place, attached.status, terminal);
    if (attached.ended === "cancelled") return 130;
    return attached.ended === "drained" ? 75 : exitStatusOf(attached.status);
  },
};

function status(kind: "submitted" | "continued"): string {
  return kind === "submitted" ? "submitted" : "goes on with";
}
