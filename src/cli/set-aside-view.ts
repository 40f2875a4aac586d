/** What was set aside, or would be. */
import type { SetAside } from "../chain/index.ts";
import { quoteCommand, type Reading } from "../core/index.ts";
import { escapeLine } from "./escape.ts";

/** One line a move, with the command that undoes it, and what else a person should know. */
export function setAsideLines(
  setAside: SetAside | null,
  name: string,
  verb: "moved" | "would move",
): readonly string[] {
  if (setAside === null) return [];
  const { progress, moves } = setAside.quarantine;
  const undo = (back: readonly string[]): string =>
    verb === "moved" ? `; to undo it: stint drain ${name} --wait, then: ${quoteCommand(back)}` : "";
  const lines = moves.map(({ from, to }) => `${verb} ${from}${said(progress)} to ${to}${undo(["mv", to, from])}`);
  return [...lines, ...setAside.notes].map((line) => escapeLine(line));
}

function said(progress: Reading): string {
  if (progress.kind === "value") return ` (progress ${progress.value})`;
  return progress.kind === "invalid" ? ` (${progress.why})` : "";
}
