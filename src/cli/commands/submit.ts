/** `stint submit`: a chain that goes on by itself. */

import { requireProject, shortName } from "../../chain/index.ts";
import { quoteShell } from "../../core/index.ts";
import { settingFlags } from "../../spec/index.ts";
import type { CliCommand } from "../command.ts";
import { exitStatusOf, summary } from "../end-report.ts";
import { hasChain, jobOptions, reportNothingToDo, submitFrom } from "../job-options.ts";
import { toJson } from "../json.ts";
import { here } from "../where.ts";

export const command: CliCommand = {
  name: "submit",
  usage: "submit [OPTIONS] (JOB.sh [ARGS] | SPEC.yaml | -- COMMAND…)",
  summary: "Starts a chain of attempts that goes on by itself, and returns.",
  details: [
    "The same name again continues a job: what is stranded or never ran goes on, all else is reported; a drained or held one goes on by stint resume.",
    "Exit status: 0 it is on its way or finished, 1 refused, held or ended, 2 usage, 4 the scheduler cannot be asked, 5 someone else holds the checkpoint, 75 the scheduler has not taken it yet.",
  ],
  options: jobOptions,
  settings: settingFlags,
  examples: [
    ["stint submit -p long -t 4:00:00 job.sh input.dat", "an ordinary batch script"],
    ["stint submit stint.yaml", "what the file says"],
    ["stint submit -t 4h -p long --checkpoint state.txt --total 500 -- python3 sim.py", "sbatch's spellings"],
    ["stint submit --dry-run stint.yaml", "only show what would be done"],
  ],
  async run(args, terminal) {
    const submitted = await submitFrom(args, terminal);
    const nothing = reportNothingToDo(submitted, terminal);
    if (nothing !== null) return nothing;
    const { result, json, quiet } = submitted;
    if (!hasChain(result)) return 0;
    const { status } = result;
    const goesOn = status.state === "running" || status.state === "waiting";
    const exit = goesOn ? 0 : exitStatusOf(status);
    if (json) {
      terminal.out(toJson({ result: result.kind, job: status, warnings: submitted.prepared.warnings }));
      return exit;
    }
    const project = requireProject(here());
    const name = shortName(project, status.job);
    if (result.kind === "there") {
      if (!quiet && result.notice !== null) terminal.note(result.notice);
      terminal.out(`${name} is there already, nothing was started`);
    } else terminal.out(`${result.kind === "submitted" ? "submitted" : "goes on with"} ${name}`);
    if (quiet) return exit;
    terminal.out(...summary(project, status));
    const one = status.tasks === null ? "" : "/INDEX";
    if (goesOn)
      terminal.out(`look: stint status ${quoteShell(name)}   follow: stint logs -f ${quoteShell(name)}${one}`);
    return exit;
  },
};
