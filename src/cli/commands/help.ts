/** `stint help`: all commands, or one. */

import { StintError } from "../../chain/index.ts";
import { nearest } from "../../spec/index.ts";
import type { CliCommand } from "../command.ts";
import { helpColumns, helpText, wrap } from "../help-text.ts";
import { commandNames, loadCommand } from "./index.ts";

export const command: CliCommand = {
  name: "help",
  usage: "help [COMMAND] [--all]",
  summary: "Shows all commands, or how to use one.",
  details: [],
  options: [{ key: "all", flags: ["--all"], takes: "nothing", help: "every setting of a job, too" }],
  examples: [
    ["stint help run", "how to use run"],
    ["stint help run --all", "with every setting"],
  ],
  async run(args, terminal) {
    const name = args.find((word) => !word.startsWith("-"));
    if (name !== undefined) {
      if (!commandNames.includes(name)) {
        const near = nearest(name, commandNames);
        throw new StintError("usage", `there is no command ${name}${near === null ? "" : `, did you mean ${near}?`}`, {
          hint: "all commands: stint help",
        });
      }
      terminal.out(helpText(await loadCommand(name), terminal.width, args.includes("--all")));
      return 0;
    }
    const columns = helpColumns(terminal.width);
    const out = (text: string, indent = ""): void => terminal.out(wrap(text, columns, indent));
    out("stint runs a long job on a cluster that lends only hours at a time.");
    terminal.out("\nusage: stint COMMAND [OPTIONS]\n");
    for (const each of commandNames) out(`  ${each.padEnd(10)} ${(await loadCommand(each)).summary}`, " ".repeat(13));
    terminal.out("\nhow to use one: stint COMMAND --help      version: stint --version");
    out(
      "exit status: 0 ok, 1 failed, held, stranded or cancelled, 2 usage, 3 no such job, 4 not reachable, 5 someone else holds it, 75 not finished, 130 a second Ctrl-C",
      " ".repeat(13),
    );
    return 0;
  },
};
