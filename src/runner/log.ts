import { appendFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Lines for `runner.log` of an attempt, in order, each when the one before is written. Nobody waits for them: where the
 * folder is full they are tried again with the next line; where it hangs, or to the end of this process, they are lost.
 */
export function attemptLog(attemptFolder: string, who: string): (line: string) => void {
  const path = join(attemptFolder, "runner.log");
  let waiting: string[] = [];
  let writing = false;
  const write = async () => {
    writing = true;
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      try {
        await appendFile(path, lines.join(""), { mode: 0o600 });
      } catch {
        // A log that cannot be written has nowhere to say so, and is worth less than what is being done.
        waiting = [...lines, ...waiting];
        break;
      }
    }
    writing = false;
  };
  return (line) => {
    if (waiting.length >= MOST_WAITING) return;
    waiting.push(`${new Date().toISOString()} ${who}[${process.pid}] ${line.replaceAll("\n", " ")}\n`);
    if (!writing) void write();
  };
}

/** Behind a folder that hangs. */
const MOST_WAITING = 1_000;
