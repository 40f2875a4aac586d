/** The questions to Slurm, each one command, with answers as values. */
import {
  type AccountedRun,
  type AccountingRun,
  type ControllerConfig,
  classifyError,
  environmentOutsideJob,
  errorLine,
  type NodeCondition,
  parseAccounts,
  parseConfig,
  parseNodes,
  parseSacct,
  parseSqueue,
  type QueueRow,
  SACCT_ACCOUNT_FORMAT,
  SACCT_FORMAT,
  SQUEUE_FORMAT,
  TIME_STAMP_ENVIRONMENT,
} from "../../slurm/index.ts";
import type { Ran, RunCommand } from "./run-command.ts";

export type Answer<T> =
  | { readonly kind: "answered"; readonly value: T }
  | { readonly kind: "unreachable"; readonly error: string };

/** A request that Slurm did not carry out, in one line. */
export class SlurmError extends Error {
  override readonly name = "SlurmError";
}

export interface Commands {
  /** The user's jobs as the controller holds them, ended ones too until it forgets them; all, or those with the ids. */
  queue(ids: readonly string[] | null): Promise<Answer<readonly QueueRow[]>>;
  /** Every run of the jobs; `none` where the site keeps no accounts. */
  accounting(ids: readonly string[]): Promise<Answer<readonly AccountingRun[]> | { readonly kind: "none" }>;
  /** The same with what they have used. `timeoutMs`: default that of all commands. */
  accounts(
    ids: readonly string[],
    timeoutMs?: number,
  ): Promise<Answer<readonly AccountedRun[]> | { readonly kind: "none" }>;
  nodes(names: readonly string[]): Promise<Answer<readonly NodeCondition[]>>;
  /** Asked once; the answer of a process does not change. */
  config(): Promise<Answer<ControllerConfig>>;
  /** Steps of a job that srun has started, e.g. `42.0` or `42_7.0`. */
  steps(id: string): Promise<Answer<readonly string[]>>;
  /** Any other request. @throws SlurmError when it was not carried out. */
  request(program: string, args: readonly string[]): Promise<void>;
}

export interface CommandsOptions {
  readonly run: RunCommand;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly ownerUid: number;
  readonly timeoutMs: number;
}

export function slurmCommands({ run, environment, ownerUid, timeoutMs }: CommandsOptions): Commands {
  const env = { ...environmentOutsideJob(environment), ...TIME_STAMP_ENVIRONMENT };
  const call = (program: string, args: readonly string[], limitMs = timeoutMs) =>
    run(program, args, { env, cwd: "/", timeoutMs: limitMs });
  const sacct = async <T>(
    ids: readonly string[],
    more: readonly string[],
    parse: (text: string) => readonly T[],
    limitMs?: number,
  ): Promise<Answer<readonly T[]> | { readonly kind: "none" }> => {
    const answers: (readonly T[])[] = [];
    for (const some of inWords(ids)) {
      const args = ["-P", "-n", "-D", `--user=${ownerUid}`, `--jobs=${some.join(",")}`, ...more];
      const ran = await call("sacct", args, limitMs);
      if (ran.kind === "ended" && /accounting storage is disabled/i.test(ran.stderr)) return { kind: "none" };
      const answer = answerOf("sacct", ran, parse);
      if (answer.kind === "unreachable") return answer;
      answers.push(answer.value);
    }
    return { kind: "answered", value: answers.flat() };
  };
  let config: Promise<Answer<ControllerConfig>> | null = null;
  return {
    async queue(ids) {
      // What does not go into one word is asked for without: the user's jobs are sent alone anyway.
      const which = ids === null || inWords(ids).length > 1 ? [] : [`--jobs=${ids.join(",")}`];
      // By user: the controller then sends this user's jobs only, and an id that went round to somebody else is not taken for ours.
      const args = ["-a", "-h", "--states=all", `--user=${ownerUid}`, ...which, `--Format=${SQUEUE_FORMAT}`];
      const ran = await call("squeue", args);
      if (ran.kind === "ended" && ran.exitCode !== 0 && classifyError(ran.stderr) === "no-such-job")
        return { kind: "answered", value: [] };
      return answerOf("squeue", ran, parseSqueue);
    },
    accounting: (ids) => sacct(ids, [`--format=${SACCT_FORMAT}`], parseSacct),
    // By the byte: rounded to Slurm's units a peak would lose its last digits.
    accounts: (ids, limitMs) => sacct(ids, ["--noconvert", `--format=${SACCT_ACCOUNT_FORMAT}`], parseAccounts, limitMs),
    async nodes(names) {
      const ran = await call("scontrol", ["-o", "show", "node", names.join(",")]);
      // Exit status 1 when one of them is unknown, with the others printed.
      if (ran.kind === "ended" && classifyError(ran.stderr) !== "unreachable")
        return { kind: "answered", value: parseNodes(ran.stdout) };
      return answerOf("scontrol show node", ran, parseNodes);
    },
    async config() {
      config ??= call("scontrol", ["show", "config"]).then((ran) => answerOf("scontrol show config", ran, parseConfig));
      const known = await config;
      if (known.kind === "unreachable") config = null;
      return known;
    },
    async steps(id) {
      const ran = await call("squeue", ["-h", "--steps", `--jobs=${id}`, "-o", "%i"]);
      if (ran.kind === "ended" && classifyError(ran.stderr) === "no-such-job") return { kind: "answered", value: [] };
      return answerOf("squeue", ran, (text) => text.split("\n").filter((step) => STEP.test(step)));
    },
    async request(program, args) {
      const failure = failureOf(program, await call(program, args));
      if (failure !== null) throw new SlurmError(failure);
    },
  };
}

/** `42.0`; of an array's element squeue prints `42_7.0`, which scancel takes as it is. */
const STEP = /^\d+(_\d+)?\.\d+$/;

/** Linux takes no word of a command above 128 KiB. In pieces that go into one; of no ids there is one empty piece. */
function inWords(ids: readonly string[]): readonly (readonly string[])[] {
  const pieces: string[][] = [[]];
  let length = 0;
  for (const id of ids) {
    if (length + id.length + 1 > MOST_WORD) {
      pieces.push([]);
      length = 0;
    }
    pieces.at(-1)?.push(id);
    length += id.length + 1;
  }
  return pieces;
}

const MOST_WORD = 100_000;

/** The value of an answer, or why there is none, in one line. */
export function answerOf<T>(what: string, ran: Ran, parse: (text: string) => T): Answer<T> {
  const failure = failureOf(what, ran);
  if (failure !== null) return { kind: "unreachable", error: failure };
  try {
    return { kind: "answered", value: parse(ran.kind === "ended" ? ran.stdout : "") };
  } catch (error) {
    // An answer that can't be read is none.
    return { kind: "unreachable", error: error instanceof Error ? error.message : String(error) };
  }
}

/** Why a command failed, in one line; null: it didn't. */
export function failureOf(what: string, ran: Ran): string | null {
  switch (ran.kind) {
    case "ended":
      return ran.exitCode === 0 ? null : `${what}: ${errorLine(ran.stderr) || `exit status ${ran.exitCode}`}`;
    case "timed-out":
      return `${what} gave no answer in time`;
    case "killed":
      return `${what} was ended by ${ran.signal}`;
    case "not-started":
      return `${what} could not be started: ${ran.error}`;
  }
}
