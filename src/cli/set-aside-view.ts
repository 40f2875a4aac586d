/** What was set aside, or would be. */
import type { SetAside } from "../chain/index.ts";
import { type QuarantineMove, quoteCommand, quoteShell, type Reading } from "../core/index.ts";
import { escapeLine } from "./escape.ts";

/** One line a move, with the commands that undo it, and what else a person should know. `dryRun`: nothing was done. */
export function setAsideLines(setAside: SetAside | null, name: string, dryRun: boolean): readonly string[] {
  if (setAside === null) return [];
  const { quarantine, state, by, notes } = setAside;
  const lines = quarantine.moves.map((move) => {
    const { from, to } = move;
    const what = `${from}${said(quarantine.progress)}`;
    if (state === "done") return `${what} was moved to ${to} before: nothing more is moved`;
    const asked = state === "left" ? `, as ${by} asked for before` : "";
    return dryRun ? `would move ${what} to ${to}${asked}` : `moved ${what} to ${to}${asked}; ${undoText(move, name)}`;
  });
  return [...lines, ...notes].map((line) => escapeLine(line));
}

/** What has been written since is moved out of the way first, and nothing onto a name that is there. */
function undoText({ from, to }: QuarantineMove, name: string): string {
  const newer = quoteCommand(["mv", "-nT", from, `${to}.newer`]);
  const back = quoteCommand(["mv", "-nT", to, from]);
  return `to undo it, when nothing of ${name} runs any more (stint drain ${quoteShell(name)} --wait): ${newer}; ${back}`;
}

function said(progress: Reading): string {
  if (progress.kind === "value") return ` (progress ${progress.value})`;
  return progress.kind === "invalid" ? ` (${progress.why})` : "";
}
