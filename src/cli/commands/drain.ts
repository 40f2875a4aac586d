/** `stint drain`: save, then stop. */
import { type CliCommand, JSON_FLAG, QUIET, TASK, TIMEOUT } from "../command.ts";
import { runStop } from "../stop-command.ts";

export const command: CliCommand = {
  name: "drain",
  usage: "drain JOB[/TASK] [--wait]",
  summary: "Lets the running attempt save and stop; no other one starts. Returns at once unless --wait.",
  details: ["Exit status: 0, or 75 when it is not proved over in time or cannot be proved at all. It can be resumed."],
  options: [
    { key: "wait", flags: ["--wait"], takes: "nothing", help: "return only when nothing of it runs any more" },
    TASK,
    TIMEOUT,
    QUIET,
    JSON_FLAG,
  ],
  examples: [
    ["stint drain sim", "save, then stop"],
    ["stint drain sim --wait && stint resume sim --mem 16G", "and go on with more memory"],
  ],
  run: (args, terminal) => runStop("drain", command, args, terminal),
};
