/** `stint completion`: for a shell, what it may offer. */
import { StintError } from "../../chain/index.ts";
import { type CliCommand, readArgs } from "../command.ts";
import { bashCompletion } from "../completion/bash.ts";
import { fishCompletion } from "../completion/fish.ts";
import { offeredCommands } from "../completion/model.ts";
import { zshCompletion } from "../completion/zsh.ts";

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

export const command: CliCommand = {
  name: "completion",
  usage: "completion (bash|zsh|fish)",
  summary: "Prints what your shell needs to complete commands, options and job names.",
  details: ["Job names come from the project's folder; neither Node nor the scheduler is asked while you type."],
  options: [],
  examples: [
    ["stint completion bash > ~/.local/share/bash-completion/completions/stint", "once"],
    ["stint completion fish > ~/.config/fish/completions/stint.fish", "once"],
    ['eval "$(stint completion zsh)"', "in ~/.zshrc, after compinit; likewise bash"],
  ],
  async run(args, terminal) {
    const [shell = "", extra] = readArgs(command, args).positionals;
    if (!isShell(shell) || extra !== undefined)
      throw new StintError("usage", "for which shell? stint completion bash, zsh or fish");
    terminal.bytes("stdout", Buffer.from(SHELLS[shell](await offeredCommands())));
    return 0;
  },
};

function isShell(text: string): text is keyof typeof SHELLS {
  return Object.hasOwn(SHELLS, text);
}
