import { quoteShell } from "../../core/index.ts";
import { subreaperPrefix } from "../../host/index.ts";

export interface LocalScriptParts {
  /** For people. */
  readonly title: string;
  /** Absolute paths. */
  readonly node: string;
  readonly runner: string;
  readonly attemptFolder: string;
}

/** Our own processes are small: no heap of gigabytes, one thread for V8's own work. */
export const NODE_FLAGS = ["--max-old-space-size=128", "--v8-pool-size=1"] as const;

/** The text of `script.sh`. Each step becomes the next by `exec`, so that the pid stays the shepherd's from first to last. */
export function localScript(parts: LocalScriptParts): string {
  const words = (list: readonly string[]) => list.map(quoteShell).join(" ");
  const prefix = subreaperPrefix();
  const reaper = prefix.length === 0 ? "" : `${words(prefix)} \\\n  `;
  return `#!/bin/sh
# ${parts.title.replaceAll(/[^ -~]/g, "?")}: its shepherd on this machine.
# It starts the runner of the attempt, ends it at its limit, and sees that the chain goes on.
exec ${reaper}${words([parts.node, ...NODE_FLAGS])} \\
  ${words([parts.runner, "shepherd", parts.attemptFolder])}
`;
}
