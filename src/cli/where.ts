/** Where the command was typed. */
import { StintError, type Where } from "../chain/index.ts";

export function here(): Where {
  return { cwd: currentFolder(), environment: process.env };
}

function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    // The system knows no name for it: it was removed, or moved away on another machine.
    throw new StintError("usage", "the folder that this was typed in is gone: cd to one that is there");
  }
}
