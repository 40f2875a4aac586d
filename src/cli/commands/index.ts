/** All commands by name, each loaded only when it is asked for. */
import type { CliCommand } from "../command.ts";

const loaders: Readonly<Record<string, () => Promise<{ readonly command: CliCommand }>>> = {
  run: () => import("./run.ts"),
  submit: () => import("./submit.ts"),
  status: () => import("./status.ts"),
  logs: () => import("./logs.ts"),
  wait: () => import("./wait.ts"),
  cancel: () => import("./cancel.ts"),
  drain: () => import("./drain.ts"),
  resume: () => import("./resume.ts"),
  usage: () => import("./usage.ts"),
  sql: () => import("./sql.ts"),
  rm: () => import("./rm.ts"),
  doctor: () => import("./doctor.ts"),
  completion: () => import("./completion.ts"),
  help: () => import("./help.ts"),
};

export const commandNames: readonly string[] = Object.keys(loaders);

/** Throws a RangeError for a name that is none of `commandNames`. */
export async function loadCommand(name: string): Promise<CliCommand> {
  const load = loaders[name];
  if (load === undefined) throw new RangeError(`no command ${name}`);
  return (await load()).command;
}
