/** `stint cancel`: end it now. */
import { type CliCommand, JSON_FLAG, QUIET, TASK, TIMEOUT } from "../command.ts";
import { runStop } from "../stop-command.ts";

export const command: CliCommand = {
  name: "cancel",
  usage: "cancel JOB[/TASK] [--timeout DURATION]",
  summary: "Ends the job now: TERM, the kill wait, KILL. Returns when nothing of it runs any more.",
  details: ["Exit status: 0 cancelled (or over before), 75 not proved over in time. It can be resumed."],
  options: [TASK, TIMEOUT, QUIET, JSON_FLAG],
  examples: [["stint cancel sim", "end it now; to save first: stint drain sim"]],
  run: (args, terminal) => runStop("cancel", command, args, terminal),
};
