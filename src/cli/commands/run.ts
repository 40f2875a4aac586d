/** `stint run`: submit, and stay attached to the end. */
import { attemptTable, findJob, jobStatus, type Project, requireProject, shortName } from "../../chain/index.ts";
import type { JobPlace } from "../../journal/index.ts";
import { settingFlags } from "../../spec/index.ts";
import type { CliCommand } from "../command.ts";
import { exitStatusOf, report, summary } from "../end-report.ts";
import { hasChain, jobOptions, reportNothingToDo, submitFrom } from "../job-options.ts";
import { toJson } from "../json.ts";
import { followToEnd } from "../run-to-end.ts";
import type { Terminal } from "../terminal.ts";
import { here } from "../where.ts";
import { listenForWishes, type Wishes } from "../wishes.ts";

export const command: CliCommand = {
  name: "run",
  usage: "run [OPTIONS] (JOB.sh [ARGS] | SPEC.yaml | -- COMMAND…)",
  summary: "Runs a job as a chain of attempts, attached to its end.",
  details: [
    "The first Ctrl-C drains (it saves, then stops; exit status 75), the second cancels (130). A lost terminal detaches: the chain goes on by itself. The same name again continues a stranded or never-run job; a drained one: stint resume.",
    "Exit status: 0 finished, 1 failed, held or cancelled, 2 usage, 4 no scheduler, 5 someone else holds the checkpoint, 75 not finished.",
  ],
  options: jobOptions,
  settings: settingFlags,
  examples: [
    ["stint run stint.yaml", "what the file says"],
    ["stint run --limit 4h --checkpoint state.txt --total 500 -- python3 sim.py", "a command, without a shell"],
    ["stint run -t 01:00:00 -J sim -- ./sim", "sbatch's spellings"],
  ],
  async run(args, terminal) {
    // Before anything is made: a Ctrl-C that comes early must not leave half of it behind.
    const wishes = listenForWishes();
    try {
      return await runAttached(args, terminal, wishes);
    } finally {
      wishes.close();
    }
  },
};

/** The attempts, or the tasks of a job that has several. */
async function partsOf(project: Project, place: JobPlace): Promise<Readonly<Record<string, unknown>>> {
  const { job, tasks } = await jobStatus(project, place);
  return job.tasks === null ? { attempts: await attemptTable(project, place) } : { tasks };
}

async function runAttached(args: readonly string[], terminal: Terminal, wishes: Wishes): Promise<number> {
  const submitted = await submitFrom(args, terminal, { mode: "attached", signal: wishes.signal });
  const nothing = reportNothingToDo(submitted, terminal);
  if (nothing !== null) return nothing;
  const { result, json, quiet } = submitted;
  const { warnings } = submitted.prepared;
  if (!hasChain(result)) return 0;
  const project = requireProject(here());
  const place = await findJob(project, result.status.job);
  const name = shortName(project, place.id);
  if (result.kind === "there") {
    const { status, notice } = result;
    const goesOn = status.state === "running" || status.state === "waiting";
    if (!quiet && notice !== null) terminal.note(notice);
    if (!goesOn) {
      if (json) terminal.out(toJson({ job: status, ...(await partsOf(project, place)), warnings }));
      else {
        terminal.out("it is there already, nothing was started:");
        terminal.out(...summary(project, status));
      }
      return exitStatusOf(status);
    }
    if (!quiet) terminal.note(`${name} is ${status.state} already: attached to it`);
  } else if (!quiet) terminal.note(`${result.kind === "submitted" ? "submitted" : "goes on with"} ${name}`);
  const attached = await followToEnd(project, place, terminal, { quiet, wishes });
  if (attached.ended === "detached") return 75;
  if (json) terminal.out(toJson({ job: attached.status, ...(await partsOf(project, place)), warnings }));
  else if (quiet) terminal.out(...summary(project, attached.status));
  else await report(project, place, attached.status, terminal);
  if (attached.ended === "cancelled") return 130;
  return attached.ended === "drained" ? 75 : exitStatusOf(attached.status);
}
