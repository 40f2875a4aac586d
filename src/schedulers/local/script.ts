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

/** Inside a batch system: the heap counts inside the job's memory, and one thread is enough for V8's own work. */
export const NODE_FLAGS = ["--max-old-space-size=128", "--v8-pool-size=1"] as const;
/** Here the time to start counts: any flag of V8 itself makes it compile Node's own code anew, a third of that time. */
const LOCAL_NODE_FLAGS = ["--v8-pool-size=1"] as const;

/** The text of `script.sh`. Each step becomes the next by `exec`, so that the pid stays the shepherd's from first to last. */
export function localScript(parts: LocalScriptParts): string {
  const words = (list: readonly string[]) => list.map(quoteShell).join(" ");
  const prefix = subreaperPrefix();
  const reaper = prefix.length === 0 ? "" : `${words(prefix)} \\\n  `;
  return `#!/bin/sh
# ${parts.title.replaceAll(/[^ -~]/g, "?")}: its shepherd on this machine.
# It starts the runner of the attempt, ends it at its limit, and sees that the chain goes on.
exec ${reaper}${words([parts.node, ...LOCAL_NODE_FLAGS])} \\
  ${words([parts.runner, "shepherd", parts.attemptFolder])}
`;
}
