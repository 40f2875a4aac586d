/** `stint status`: all jobs of the project, or one in detail. */
import {
  accountConflictsOf,
  attemptTable,
  type ChainStatus,
  familyStatus,
  findProject,
  gatherForLook,
  jobTables,
  knownProjects,
  type Project,
  requireOneTask,
  StintError,
  shortName,
  type Target,
  targetName,
} from "../../chain/index.ts";
import { quoteShell } from "../../core/index.ts";
import { type JobPlace, readSpec } from "../../journal/index.ts";
import { flagOn, type ParsedFlags } from "../../spec/index.ts";
import { attemptCsv, attemptLines } from "../attempts-view.ts";
import { type CliCommand, JSON_FLAG, oneTarget, readArgs, TASK } from "../command.ts";
import { escapeLine } from "../escape.ts";
import { toJson } from "../json.ts";
import { settingLines } from "../settings-view.ts";
import { conflictLines, jobCsv, jobLines, statusLines } from "../status-view.ts";
import { taskCsv, taskLines } from "../tasks-view.ts";
import type { Terminal } from "../terminal.ts";
import { here } from "../where.ts";

export const command: CliCommand = {
  name: "status",
  usage: "status [JOB[/TASK]] [--attempts] [--spec] | --everywhere",
  summary: "Shows all jobs of the project, stranded ones first, or one job in detail.",
  details: [
    "JOB: sim (short for /me/sim), /user/sim, last (the newest); sim/7 is one task of a job that has several.",
    "For what is queued it says why in words: whether it will start, may never start, or never will as it stands.",
    "Exit status: 0, or 1 when a chain is stranded (nobody will move it; mend it with: stint resume --all).",
  ],
  options: [
    { key: "attempts", flags: ["--attempts"], takes: "nothing", help: "all attempts of the job" },
    { key: "spec", flags: ["--spec"], takes: "nothing", help: "each setting of the job, with where it came from" },
    {
      key: "everywhere",
      flags: ["--everywhere"],
      takes: "nothing",
      help: "the jobs of all project folders that you have submitted from",
    },
    {
      key: "no-ask",
      flags: ["--no-ask"],
      takes: "nothing",
      help: "leave Slurm's controller alone: show what is on file",
    },
    TASK,
    JSON_FLAG,
    { key: "csv", flags: ["--csv"], takes: "nothing", help: "the list as comma-separated values" },
  ],
  examples: [
    ["stint status", "all jobs"],
    ["stint status --everywhere", "those of all your projects"],
    ["stint status last --attempts", "the newest job, with its attempts"],
    ["stint status sim --spec", "its settings"],
  ],
  async run(args, terminal) {
    const parsed = readArgs(command, args);
    const [name] = parsed.positionals;
    const on = (key: string): boolean => flagOn(parsed.given, key);
    const options = { asks: !on("no-ask") };
    if (on("everywhere")) {
      if (name !== undefined) throw new StintError("usage", "--everywhere and a job exclude each other");
      return everywhere(parsed, options, terminal);
    }
    if (name === undefined) {
      const project = findProject(here());
      const { jobs, exitStatus, unreachable } = await jobTables(project === null ? [] : [project], options);
      if (on("json")) terminal.out(toJson({ jobs }));
      else if (on("csv")) terminal.out(jobCsv(jobs));
      else if (project === null || jobs.length === 0) terminal.out("no jobs here yet");
      else terminal.out(...jobLines(jobs, (job) => shortName(project, job.job), terminal));
      noteSilence(unreachable, terminal);
      return exitStatus;
    }
    const { project, target } = await oneTarget(command, parsed);
    const { place } = target;
    const { job, tasks, children } = await familyStatus(project, place, options);
    const status = tasks.find(({ task }) => task === target.task) ?? job;
    const exit = [status, ...children].some(({ state }) => state === "stranded") ? 1 : 0;
    const childLines = (): readonly string[] =>
      children.length === 0
        ? []
        : ["", "children", ...jobLines(children, (child) => shortName(project, child.job), terminal)];
    if (status.tasks !== null) {
      if (on("attempts")) await requireOneTask(project, target, "status --attempts");
      if (on("csv")) terminal.out(taskCsv(tasks));
      else if (on("json"))
        terminal.out(toJson({ job, tasks, children, ...(await specJson(project, place, on("spec"))) }));
      else {
        terminal.out(...statusLines(job, shortName(project, place.id), terminal), "");
        terminal.out(...taskLines(tasks, terminal), ...childLines());
        if (on("spec")) terminal.out("", ...(await specLines(project, place)));
      }
      return exit;
    }
    if (on("csv")) {
      terminal.out(on("attempts") ? attemptCsv(await attemptTable(project, place, 1, target.task)) : jobCsv([status]));
      return exit;
    }
    if (options.asks) await gatherForLook(project, place, status);
    if (on("json")) {
      terminal.out(toJson({ ...(await jsonOf(project, target, status, on("spec"))), children }));
      return exit;
    }
    terminal.out(...statusLines(status, targetName(project, target), terminal));
    terminal.out(...conflictLines(await accountConflictsOf(project, place, target.task)));
    terminal.out(...childLines());
    if (on("attempts")) {
      terminal.out("");
      terminal.out(...attemptLines(await attemptTable(project, place, 1, target.task)));
    }
    if (on("spec")) terminal.out("", ...(await specLines(project, place)));
    return exit;
  },
};

/** One table over all known projects, each job under the folder that it was submitted from. */
async function everywhere(
  { given }: ParsedFlags,
  options: { readonly asks: boolean },
  terminal: Terminal,
): Promise<number> {
  const { projects, stale } = await knownProjects(here());
  const { jobs, exitStatus, unreachable } = await jobTables(projects, options);
  const users = new Map(projects.map((project) => [project.stintFolder, project]));
  const name = ({ job, project }: ChainStatus): string => {
    const own = users.get(project);
    return own === undefined ? job : shortName(own, job);
  };
  if (flagOn(given, "json")) terminal.out(toJson({ jobs, projects: projects.map(stintFolderOf), stale }));
  else if (flagOn(given, "csv")) terminal.out(jobCsv(jobs));
  else if (jobs.length === 0) terminal.out("no jobs in any project that is known yet");
  else terminal.out(...jobLines(jobs, name, terminal, ({ project }) => folderShown(project)));
  noteSilence(unreachable, terminal);
  for (const { stintFolder, file } of stale)
    terminal.note(`not there (now): ${stintFolder}; if it is gone for good: rm ${quoteShell(file)}`);
  return exitStatus;
}

function stintFolderOf({ stintFolder }: Project): string {
  return stintFolder;
}

/** Where a person would type the next command; a `.stint` that STINT_DIR named has no such folder. */
function folderShown(stintFolder: string): string {
  return stintFolder.replace(/\/\.stint$/, "") || "/";
}

function noteSilence(unreachable: string | null, terminal: Terminal): void {
  if (unreachable !== null) terminal.note(`Slurm cannot be asked (${unreachable}): this is what is on file`);
}

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
