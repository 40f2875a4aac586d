/** The command line's entry: finds the command and loads only that. Everything else is in the commands' own files. */
import { isatty } from "node:tty";
import { commandNames, loadCommand } from "./commands/index.ts";

declare const __STINT_VERSION__: string;

const [first, ...rest] = process.argv.slice(2);
const terminals = [0, 1, 2].filter(isatty);

if (first === "--version" || first === "-V" || first === "version") {
  process.stdout.write(`${await version()}\n`);
} else {
  // A reader that has seen enough (`stint status | head`) is no error.
  process.stdout.on("error", endQuietly);
  process.stderr.on("error", () => {});
  process.exitCode = await runCommand();
  // A pipe takes 64 KiB at once; what a slow reader has not fetched yet must not be cut off.
  await Promise.all([process.stdout, process.stderr].map(written));
  leave();
}

async function runCommand(): Promise<number> {
  const isHelp = first === undefined || first === "--help" || first === "-h" || first === "help";
  const name = isHelp ? "help" : first;
  const { runSafely, unknownCommand } = await import("./run-safely.ts");
  if (!commandNames.includes(name)) return unknownCommand(name, commandNames);
  const status = await runSafely(await loadCommand(name), rest);
  return first === undefined ? 2 : status;
}

async function version(): Promise<string> {
  if (typeof __STINT_VERSION__ !== "undefined") return __STINT_VERSION__;
  const { readFileSync } = await import("node:fs");
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
}

function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write("", () => resolve());
  });
}

function endQuietly(error: NodeJS.ErrnoException): void {
  process.exitCode = error.code === "EPIPE" ? 0 : 1;
  leave();
}

/** A thread of the pool that hangs on a sick file system must not keep a finished command: it is not waited for. */
function leave(): never {
  if (!terminals.every((fd) => isatty(fd))) {
    // The terminal is gone. Node would give it its settings back on any way out, and abort since it cannot.
    process.removeAllListeners("SIGHUP");
    process.kill(process.pid, "SIGHUP");
    // Under nohup that is ignored.
    process.kill(process.pid, "SIGKILL");
  }
  process.exit();
}
