/** `stint help`: all commands, or one. */

import { StintError } from "../../chain/index.ts";
import { nearest } from "../../spec/index.ts";
import type { CliCommand } from "../command.ts";
import { helpText } from "../help-text.ts";
import { commandNames, loadCommand } from "./index.ts";

export const command: CliCommand = {
  name: "help",
  usage: "help [COMMAND]",
  summary: "Shows all commands, or how to use one.",
  details: [],
  options: [],
  examples: [["stint help run", "how to use run"]],
  async run(args, terminal) {
    const name = args.find((word) => !word.startsWith("-"));
    if (name !== undefined) {
      if (!commandNames.includes(name)) {
        const near = nearest(name, commandNames);
        throw new StintError("usage", `there is no command ${name}${near === null ? "" : `, did you mean ${near}?`}`);
      }
      terminal.out(helpText(await loadCommand(name), terminal.width));
      return 0;
    }
    terminal.out("stint runs a job for as long as it needs on a cluster that lends only hours at a time.\n");
    terminal.out("usage: stint COMMAND [OPTIONS]\n");
    for (const each of commandNames) {
      const { summary } = await loadCommand(each);
      terminal.out(`  ${each.padEnd(8)} ${summary}`);
    }
    terminal.out("\nhow to use one: stint COMMAND --help      version: stint --version");
    terminal.out("exit status: 0 ok, 1 failed, held, stranded or cancelled, 2 usage, 3 no such job, 4 not reachable,");
    terminal.out("             5 someone else holds it, 75 not finished, 130 a second Ctrl-C");
    return 0;
  },
};
