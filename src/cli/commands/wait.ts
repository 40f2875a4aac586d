/** `stint wait`: until a chain is at its end. */
import { waitForJob } from "../../chain/index.ts";
import { flagOn, flagText } from "../../spec/index.ts";
import { type CliCommand, JSON_FLAG, oneTarget, QUIET, readArgs, TASK, TIMEOUT } from "../command.ts";
import { exitStatusOf, summary } from "../end-report.ts";
import { toJson } from "../json.ts";
import { readDuration } from "../words.ts";

export const command: CliCommand = {
  name: "wait",
  usage: "wait JOB[/TASK] [--timeout DURATION]",
  summary: "Waits until the job, with all of its tasks, is finished, held or stopped.",
  details: [
    "Where nobody else moves your job (it is stranded), wait does as long as it runs, as stint run would.",
    "Exit status: 0 finished (all tasks), 1 held, stranded, stopped or cancelled, 75 drained, or not finished in time.",
  ],
  options: [TASK, TIMEOUT, QUIET, JSON_FLAG],
  examples: [
    ["stint wait sim && ./plot", "go on only when it is finished"],
    ["stint wait last --timeout 90s", "not longer than that"],
  ],
  async run(args, terminal) {
    const parsed = readArgs(command, args);
    const timeout = flagText(parsed.given, "timeout");
    const { project, target } = await oneTarget(command, parsed);
    const { place, task } = target;
    const options = { task, ...(timeout === null ? {} : { timeoutMs: readDuration("--timeout", timeout) }) };
    const status = await waitForJob(project, place, options);
    if (flagOn(parsed.given, "json")) terminal.out(toJson({ job: status }));
    else if (!flagOn(parsed.given, "quiet")) terminal.out(...summary(project, status));
    return exitStatusOf(status);
  },
};
