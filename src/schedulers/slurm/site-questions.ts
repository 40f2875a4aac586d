/** What a person may want to know of a Slurm before trusting it with a chain: each question one command, asked once. */
import {
  ASSOCIATION_FORMAT,
  type Association,
  type ControllerConfig,
  environmentOutsideJob,
  type Partition,
  parseAssociations,
  parseConfig,
  parsePartitions,
  parseQos,
  QOS_FORMAT,
  type Qos,
} from "../../slurm/index.ts";
import { type Answer, answerOf } from "./commands.ts";
import type { RunCommand } from "./run-command.ts";

export interface SiteQuestions {
  config(): Promise<Answer<ControllerConfig>>;
  partitions(): Promise<Answer<readonly Partition[]>>;
  /** Empty where the site keeps none. */
  associations(user: string): Promise<Answer<readonly Association[]>>;
  qos(): Promise<Answer<readonly Qos[]>>;
  /** The user's own lines; unreachable where the site has it off, or the program is not there. */
  scrontab(): Promise<Answer<string>>;
}

const ANSWER_MS = 15_000;

export function siteQuestions(
  run: RunCommand,
  environment: Readonly<Record<string, string | undefined>>,
): SiteQuestions {
  const options = { env: environmentOutsideJob(environment), cwd: "/", timeoutMs: ANSWER_MS };
  const ask = async <T>(program: string, args: readonly string[], parse: (text: string) => T): Promise<Answer<T>> =>
    answerOf(program, await run(program, args, options), parse);
  return {
    config: () => ask("scontrol", ["show", "config"], parseConfig),
    partitions: () => ask("scontrol", ["-o", "show", "partition"], parsePartitions),
    associations: (user) =>
      ask(
        "sacctmgr",
        ["-nP", "show", "assoc", "where", `user=${user}`, `format=${ASSOCIATION_FORMAT}`],
        parseAssociations,
      ),
    qos: () => ask("sacctmgr", ["-nP", "show", "qos", `format=${QOS_FORMAT}`], parseQos),
    scrontab: () => ask("scrontab", ["-l"], (text) => text),
  };
}
