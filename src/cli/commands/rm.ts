/** `stint rm`: remove a job that is over. */
import { findJob, removeJob, requireProject, StintError, shortName } from "../../chain/index.ts";
import { flagOn } from "../../spec/index.ts";
import { type CliCommand, JSON_FLAG, readArgs } from "../command.ts";
import { toJson } from "../json.ts";
import { here } from "../where.ts";

export const command: CliCommand = {
  name: "rm",
  usage: "rm JOB…",
  summary: "Removes jobs that are over: their records and logs. Checkpoints, and output files that you named, stay.",
  details: ["Exit status: 0, 3 no such job, 75 when it is not over."],
  options: [JSON_FLAG],
  examples: [["stint rm sim sim.2", "remove two jobs"]],
  async run(args, terminal) {
    const parsed = readArgs(command, args);
    const project = requireProject(here());
    if (parsed.positionals.length === 0)
      throw new StintError("usage", "which job? stint rm JOB…", { hint: "see: stint rm --help" });
    const removed: string[] = [];
    for (const name of parsed.positionals) {
      const place = await findJob(project, name);
      await removeJob(project, place);
      removed.push(place.id);
      if (!flagOn(parsed.given, "json")) terminal.out(`removed ${shortName(project, place.id)}`);
    }
    if (flagOn(parsed.given, "json")) terminal.out(toJson({ removed }));
    return 0;
  },
};
