/** The account of a chain: how it stands, its attempts, and where everything lies. */

import { attemptTable, type ChainStatus, jobStatus, type Project, shortName, targetName } from "../chain/index.ts";
import { quoteShell } from "../core/index.ts";
import type { JobPlace } from "../journal/index.ts";
import { attemptLines } from "./attempts-view.ts";
import { escapeLine } from "./escape.ts";
import { taskLines } from "./tasks-view.ts";
import type { Terminal } from "./terminal.ts";
import { invalidWhy, progressCell, progressText, ranText, waitedText } from "./words.ts";

/** One line on how the chain stands, and one on what to do, where something is to be done. */
export function summary(project: Project, status: ChainStatus): readonly string[] {
  const name = statusName(project, status);
  const progress = invalidWhy(status.progress, status.reason) === null ? progressCell(status) : progressText(status);
  const facts = [
    `${status.attempts} ${status.attempts === 1 ? "attempt" : "attempts"}`,
    progress === "" ? "" : `progress ${progress}`,
    `ran ${ranText(status)}`,
    status.waitedMs === null ? "" : `waited ${waitedText(status)}`,
  ].filter((fact) => fact !== "");
  const what =
    status.state === "over"
      ? (status.reason ?? "over")
      : `${status.state}${status.reason === null ? "" : `: ${status.reason}`}`;
  const lines = [`${name}: ${what} (${facts.join(", ")})`];
  if (status.advice !== null) lines.push(`next: ${status.advice}`);
  return lines.map((line) => escapeLine(line));
}

/** As a person types it. */
export function statusName(project: Project, { job, task }: ChainStatus): string {
  return targetName(project, { place: { id: job }, task });
}

export async function report(
  project: Project,
  place: JobPlace,
  status: ChainStatus,
  terminal: Terminal,
): Promise<void> {
  const name = shortName(project, place.id);
  if (status.tasks === null) terminal.out(...attemptLines(await attemptTable(project, place)));
  else terminal.out(...taskLines((await jobStatus(project, place)).tasks, terminal));
  terminal.out("");
  terminal.out(...summary(project, status));
  terminal.out(`job folder: ${place.folder}`);
  terminal.out(`logs: stint logs ${quoteShell(name)}${status.tasks === null ? "" : "/INDEX"}`);
}

/** 0 finished; 1 held, stranded, cancelled or unreadable; 75 still on its way, or drained: it has saved and can go on. */
export function exitStatusOf(status: ChainStatus): number {
  if (status.state === "over" && status.decision === "finish") return 0;
  if (status.state === "over" && status.reason?.startsWith("drained") === true) return 75;
  return status.state === "running" || status.state === "waiting" ? 75 : 1;
}
