/** `stint wait`: until a chain is at its end. */
import { findJob, requireProject, waitForJob } from "../../chain/index.ts";
import { flagOn, flagText } from "../../spec/index.ts";
import { type CliCommand, JSON_FLAG, oneJob, QUIET, readArgs, TIMEOUT } from "../command.ts";
import { exitStatusOf, summary } from "../end-report.ts";
import { toJson } from "../json.ts";
import { here } from "../where.ts";
import { readDuration } from "../words.ts";

export const command: CliCommand = {
  name: "wait",
  usage: "wait JOB [--timeout DURATION]",
  summary: "Waits until the job is finished, held or stopped.",
  details: [
    "Where nobody else moves your job (it is stranded), wait does as long as it runs, as stint run would.",
    "Exit status: 0 finished, 1 held, stranded, stopped or cancelled, 75 drained, or not finished in time.",
  ],
  options: [TIMEOUT, QUIET, JSON_FLAG],
  examples: [
    ["stint wait sim && ./plot", "go on only when it is finished"],
    ["stint wait last --timeout 90s", "not longer than that"],
  ],
  async run(args, terminal) {
    const parsed = readArgs(command, args);
    const name = oneJob(command, parsed);
    const timeout = flagText(parsed.given, "timeout");
    const project = requireProject(here());
    const place = await findJob(project, name);
    const options = timeout === null ? {} : { timeoutMs: readDuration("--timeout", timeout) };
    const status = await waitForJob(project, place, options);
    if (flagOn(parsed.given, "json")) terminal.out(toJson({ job: status }));
    else if (!flagOn(parsed.given, "quiet")) terminal.out(...summary(project, status));
    return exitStatusOf(status);
  },
};
