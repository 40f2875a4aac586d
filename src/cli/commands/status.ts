/** `stint status`: all jobs of the project, or one in detail. */
import {
  accountConflictsOf,
  attemptTable,
  type ChainStatus,
  chainStatus,
  childStatuses,
  findJob,
  findProject,
  gatherForLook,
  jobTable,
  type Project,
  requireProject,
  shortName,
} from "../../chain/index.ts";
import { readSpec } from "../../journal/index.ts";
import { flagOn } from "../../spec/index.ts";
import { attemptCsv, attemptLines } from "../attempts-view.ts";
import { type CliCommand, JSON_FLAG, readArgs } from "../command.ts";
import { escapeLine } from "../escape.ts";
import { toJson } from "../json.ts";
import { settingLines } from "../settings-view.ts";
import { conflictLines, jobCsv, jobLines, statusLines } from "../status-view.ts";
import { here } from "../where.ts";

export const command: CliCommand = {
  name: "status",
  usage: "status [JOB] [--attempts] [--spec]",
  summary: "Shows all jobs of the project, stranded ones first, or one job in detail.",
  details: [
    "JOB: sim (short for /me/sim), /user/sim, sim/0, last (the newest).",
    "Exit status: 0, or 1 when a chain is stranded (nobody will move it; mend it with: stint resume --all).",
  ],
  options: [
    { key: "attempts", flags: ["--attempts"], takes: "nothing", help: "all attempts of the job" },
    { key: "spec", flags: ["--spec"], takes: "nothing", help: "each setting of the job, with where it came from" },
    JSON_FLAG,
    { key: "csv", flags: ["--csv"], takes: "nothing", help: "the list as comma-separated values" },
  ],
  examples: [
    ["stint status", "all jobs"],
    ["stint status last --attempts", "the newest job, with its attempts"],
    ["stint status sim --spec", "its settings"],
  ],
  async run(args, terminal) {
    const parsed = readArgs(command, args);
    const [name] = parsed.positionals;
    const on = (key: string): boolean => flagOn(parsed.given, key);
    if (name === undefined) {
      const project = findProject(here());
      const { jobs, exitStatus } = project === null ? { jobs: [], exitStatus: 0 } : await jobTable(project);
      if (on("json")) terminal.out(toJson({ jobs }));
      else if (on("csv")) terminal.out(jobCsv(jobs));
      else if (project === null || jobs.length === 0) terminal.out("no jobs here yet");
      else terminal.out(...jobLines(jobs, (id) => shortName(project, id), terminal));
      return exitStatus;
    }
    const project = requireProject(here());
    const place = await findJob(project, name);
    const status = await chainStatus(project, place);
    const children = await childStatuses(project, place);
    const exit = [status, ...children].some(({ state }) => state === "stranded") ? 1 : 0;
    if (on("csv")) {
      terminal.out(on("attempts") ? attemptCsv(await attemptTable(project, place)) : jobCsv([status]));
      return exit;
    }
    await gatherForLook(project, place, status);
    if (on("json")) {
      terminal.out(toJson({ ...(await jsonOf(project, place, status, on("spec"))), children }));
      return exit;
    }
    terminal.out(...statusLines(status, shortName(project, place.id), terminal));
    terminal.out(...conflictLines(await accountConflictsOf(project, place)));
    if (children.length > 0) {
      terminal.out("", "children");
      terminal.out(...jobLines(children, (id) => shortName(project, id), terminal));
    }
    if (on("attempts")) {
      terminal.out("");
      terminal.out(...attemptLines(await attemptTable(project, place)));
    }
    if (on("spec")) {
      terminal.out("");
      const found = await readSpec(project.folder, place);
      if (found !== null) {
        const { number, revision } = found;
        terminal.out(escapeLine(`settings, revision ${number}, by ${revision.by}`));
        terminal.out(...settingLines(revision.spec, revision.origins));
      }
    }
    return exit;
  },
};

async function jsonOf(
  project: Project,
  place: Awaited<ReturnType<typeof findJob>>,
  status: ChainStatus,
  withSpec: boolean,
): Promise<Readonly<Record<string, unknown>>> {
  const attempts = await attemptTable(project, place);
  if (!withSpec) return { job: status, attempts };
  const found = await readSpec(project.folder, place);
  return { job: status, attempts, spec: found?.revision.spec ?? null, origins: found?.revision.origins ?? null };
}
