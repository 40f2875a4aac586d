/** `stint logs`: what the attempts wrote. */
import { attemptTable, followLogs, type LogStream, requireOneTask, StintError } from "../../chain/index.ts";
import { flagOn, flagText } from "../../spec/index.ts";
import { type CliCommand, oneTarget, readArgs, TASK } from "../command.ts";
import { readNumber } from "../words.ts";

const NEWLINE = 10;
const STREAMS: readonly LogStream[] = ["stdout", "stderr", "runner", "scheduler"];

export const command: CliCommand = {
  name: "logs",
  usage: "logs JOB[/TASK] [-f] [--attempt N]",
  summary: "Shows the output of all attempts, in order; the application's stderr goes to stderr.",
  details: ["With -f it goes on until the chain is at its end."],
  options: [
    { key: "follow", flags: ["--follow", "-f"], takes: "nothing", help: "go on as output comes, across attempts" },
    TASK,
    { key: "attempt", flags: ["--attempt", "-a"], takes: "value", placeholder: "N", help: "only this attempt" },
    {
      key: "of",
      flags: ["--of"],
      takes: "list",
      placeholder: "STREAM",
      help: "stdout, stderr, runner (stint's own) or scheduler; may be repeated [stdout and stderr]",
    },
  ],
  examples: [
    ["stint logs sim", "all of it"],
    ["stint logs -f last", "follow the newest job"],
    ["stint logs sim --attempt 3 --of runner", "what stint itself did in attempt 3"],
  ],
  async run(args, terminal) {
    const parsed = readArgs(command, args);
    const attempt = flagText(parsed.given, "attempt");
    const streams = (parsed.given.get("of")?.values ?? []).map(readStream);
    const { project, target } = await oneTarget(command, parsed);
    await requireOneTask(project, target, "logs");
    const { place, task } = target;
    const options = {
      task,
      follow: flagOn(parsed.given, "follow"),
      ...(attempt === null ? {} : { attempt: readNumber("--attempt", attempt) }),
      ...(streams.length === 0 ? {} : { streams }),
    };
    let shown = 0;
    let torn = false;
    const wrote = new Set<number>();
    for await (const chunk of followLogs(project, place, options)) {
      if (chunk.attempt !== shown && attempt === null)
        terminal.out(`${torn ? "\n" : ""}==> attempt ${chunk.attempt} <==`);
      shown = chunk.attempt;
      wrote.add(chunk.attempt);
      const to = chunk.stream === "stderr" ? "stderr" : "stdout";
      terminal.bytes(to, chunk.bytes);
      // An application killed in the middle of a line leaves it open.
      if (to === "stdout") torn = chunk.bytes.at(-1) !== NEWLINE;
    }
    // What never came to be a process writes nothing: its runner knows why.
    const silent = (await attemptTable(project, place, 1, task)).filter(
      ({ number, spawnError }) =>
        spawnError !== null && !wrote.has(number) && (attempt === null || number === options.attempt),
    );
    for (const { number, spawnError } of silent)
      terminal.note(`attempt ${number}: its application could not be started: ${spawnError}`);
    if (shown === 0 && silent.length === 0) terminal.note("nothing was written yet");
    return 0;
  },
};

function readStream(text: string): LogStream {
  const found = STREAMS.find((stream) => stream === text);
  if (found === undefined) throw new StintError("usage", `--of ${text}: expected one of ${STREAMS.join(", ")}`);
  return found;
}
