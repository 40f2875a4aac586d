import { appendFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Lines for `runner.log` of an attempt, in order, each when the one before is written. Nobody waits for them: where the
 * folder is full or hangs, lines are lost.
 */
export function attemptLog(attemptFolder: string, who: string): (line: string) => void {
  const path = join(attemptFolder, "runner.log");
  let waiting: string[] = [];
  let writing = false;
  const write = async () => {
    writing = true;
    while (waiting.length > 0) {
      const text = waiting.join("");
      waiting = [];
      // A log that cannot be written has nowhere to say so, and is worth less than what is being done.
      await appendFile(path, text, { mode: 0o600 }).catch(() => undefined);
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
