/** The one line that mends stranded chains from time to time, and who would run it here. */
import { dirname } from "node:path";
import { quoteCommand, quoteShell } from "../../core/index.ts";
import { findProgram } from "../../host/index.ts";
import type { SiteQuestions } from "./doctor-slurm.ts";
import { type Finding, ok } from "./finding.ts";
import { findProject, type Where } from "./project.ts";

export async function mendFinding(
  where: Where,
  questions: SiteQuestions,
  program: readonly string[],
): Promise<Finding> {
  const line = mendLine(where, program);
  if (findProgram("scrontab", where.environment.PATH ?? "") === null)
    return ok("scrontab", "not installed here; what cron runs on a host that stays does the same", line);
  const lines = await questions.scrontab();
  if (lines.kind === "unreachable") {
    const isOff = /disabled/i.test(lines.error);
    const why = isOff ? "scrontab is off at this site" : lines.error;
    return ok("scrontab", `${why}; what cron runs on a host that stays does the same`, line);
  }
  if (lines.value.split("\n").some((one) => one.includes("resume --all") && !one.startsWith("#")))
    return ok("scrontab", "a line of yours mends stranded chains already");
  return ok("scrontab", "works here; this line (scrontab -e) mends stranded chains every ten minutes", line);
}

/** For the crontab of a user, every path absolute, since it runs in an environment of its own. */
export function mendLine(where: Where, program: readonly string[]): string {
  const folder = findProject(where)?.stintFolder ?? null;
  const { PATH = "", SLURM_CONF = "", STINT_DIR = "", STINT_SITE = "" } = where.environment;
  const sbatch = findProgram("sbatch", PATH);
  const settings = [
    sbatch === null || COMMON.has(dirname(sbatch)) ? null : `PATH=${quoteShell(dirname(sbatch))}:$PATH`,
    SLURM_CONF === "" ? null : `SLURM_CONF=${quoteShell(SLURM_CONF)}`,
    STINT_SITE === "" ? null : `STINT_SITE=${quoteShell(STINT_SITE)}`,
    STINT_DIR === "" || folder === null ? null : `STINT_DIR=${quoteShell(folder)}`,
  ].filter((setting) => setting !== null);
  const cwd = folder === null || STINT_DIR !== "" ? where.cwd : dirname(folder);
  const command = `cd ${quoteShell(cwd)} && ${[...settings, quoteCommand(program)].join(" ")} resume --all --quiet`;
  // cron takes % for the end of the command.
  return `*/10 * * * * ${command.replaceAll("%", "\\%")}`;
}

const COMMON = new Set(["/bin", "/usr/bin"]);
