/** `stint status`: all jobs of the project, or one in detail. */
import {
  accountConflictsOf,
  attemptTable,
  type ChainStatus,
  findProject,
  gatherForLook,
  jobStatus,
  jobTable,
  type Project,
  requireOneTask,
  shortName,
  type Target,
  targetName,
} from "../../chain/index.ts";
import { type JobPlace, readSpec } from "../../journal/index.ts";
import { flagOn } from "../../spec/index.ts";
import { attemptCsv, attemptLines } from "../attempts-view.ts";
import { type CliCommand, JSON_FLAG, oneTarget, readArgs, TASK } from "../command.ts";
import { escapeLine } from "../escape.ts";
import { toJson } from "../json.ts";
import { settingLines } from "../settings-view.ts";
import { conflictLines, jobCsv, jobLines, statusLines } from "../status-view.ts";
import { taskCsv, taskLines } from "../tasks-view.ts";
import { here } from "../where.ts";

export const command: CliCommand = {
  name: "status",
  usage: "status [JOB[/TASK]] [--attempts] [--spec]",
  summary: "Shows all jobs of the project, stranded ones first, or one job in detail.",
  details: [
    "JOB: sim (short for /me/sim), /user/sim, last (the newest); sim/7 is one task of a job that has several.",
    "Exit status: 0, or 1 when a chain is stranded (nobody will move it; mend it with: stint resume --all).",
  ],
  options: [
    { key: "attempts", flags: ["--attempts"], takes: "nothing", help: "all attempts of the job" },
    { key: "spec", flags: ["--spec"], takes: "nothing", help: "each setting of the job, with where it came from" },
    TASK,
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
    const { project, target } = await oneTarget(command, parsed);
    const { place } = target;
    const { job, tasks } = await jobStatus(project, place);
    const status = tasks.find(({ task }) => task === target.task) ?? job;
    const exit = status.state === "stranded" ? 1 : 0;
    if (status.tasks !== null) {
      if (on("attempts")) await requireOneTask(project, target, "status --attempts");
      if (on("csv")) terminal.out(taskCsv(tasks));
      else if (on("json")) terminal.out(toJson({ job, tasks, ...(await specJson(project, place, on("spec"))) }));
      else {
        terminal.out(...statusLines(job, shortName(project, place.id), terminal), "");
        terminal.out(...taskLines(tasks, terminal));
        if (on("spec")) terminal.out("", ...(await specLines(project, place)));
      }
      return exit;
    }
    if (on("csv")) {
      terminal.out(on("attempts") ? attemptCsv(await attemptTable(project, place, 1, target.task)) : jobCsv([status]));
      return exit;
    }
    await gatherForLook(project, place, status);
    if (on("json")) {
      terminal.out(toJson(await jsonOf(project, target, status, on("spec"))));
      return exit;
    }
    terminal.out(...statusLines(status, targetName(project, target), terminal));
    terminal.out(...conflictLines(await accountConflictsOf(project, place, target.task)));
    if (on("attempts")) {
      terminal.out("");
      terminal.out(...attemptLines(await attemptTable(project, place, 1, target.task)));
    }
    if (on("spec")) terminal.out("", ...(await specLines(project, place)));
    return exit;
  },
};

async function specLines(project: Project, place: JobPlace): Promise<readonly string[]> {
  const found = await readSpec(project.folder, place);
  if (found === null) return [];
  const { number, revision } = found;
  return [
    escapeLine(`settings, revision ${number}, by ${revision.by}`),
    ...settingLines(revision.spec, revision.origins),
  ];
}

async function jsonOf(
  project: Project,
  { place, task }: Target,
  status: ChainStatus,
  withSpec: boolean,
): Promise<Readonly<Record<string, unknown>>> {
  const attempts = await attemptTable(project, place, 1, task);
  return { job: status, attempts, ...(await specJson(project, place, withSpec)) };
}

async function specJson(
  project: Project,
  place: JobPlace,
  wanted: boolean,
): Promise<Readonly<Record<string, unknown>>> {
  if (!wanted) return {};
  const found = await readSpec(project.folder, place);
  return { spec: found?.revision.spec ?? null, origins: found?.revision.origins ?? null };
}
