/** From the words of a command to a source of usage and the root in it. */
import { StintError } from "../chain/index.ts";
import { type FlagValues, flagText, type ParsedFlags } from "../spec/index.ts";
import {
  journalSource,
  type OwnJob,
  openIrisSource,
  parquetSource,
  readOwnJobs,
  type UsageSource,
} from "../usage/index.ts";
import { type CliCommand, oneTarget } from "./command.ts";
import { readChoice } from "./words.ts";

export interface OpenedSource {
  readonly source: UsageSource;
  /** The root's id. */
  readonly job: string;
  /** Of a job of this project, its records. */
  readonly own: readonly OwnJob[] | null;
}

/** Throws StintError, UsageError. */
export async function openUsageSource(command: CliCommand, parsed: ParsedFlags): Promise<OpenedSource> {
  const { given, positionals } = parsed;
  const [first, second, extra] = positionals;
  const samples = given.get("parquet")?.values ?? [];
  if (first !== undefined && /^[a-z]+:\/\//i.test(first)) {
    onlyWith("a job folder or files", samples.length === 0, given, FILE_OPTIONS);
    if (second === undefined) throw usage(`which job of ${first}? stint usage URL /user/job`);
    if (extra !== undefined) throw usage(`one job at a time: unexpected "${extra}"`);
    const job = rootId(second);
    const stats = readChoice(given, "stats", ["auto", "proxy", "direct"]) ?? "auto";
    return { source: openIrisSource({ url: first, stats, environment: process.env }), job, own: null };
  }
  if (samples.length > 0) {
    if (first === undefined) throw usage("which job of these files? stint usage --parquet FILE --tasks FILE /user/job");
    if (second !== undefined) throw usage(`one job at a time: unexpected "${second}"`);
    const tasks = flagText(given, "tasks");
    if (tasks === null) throw usage("--parquet needs --tasks FILE: samples know no start and no end of a task");
    const attempts = flagText(given, "task-attempts");
    const jobs = flagText(given, "jobs");
    const files = { samples, tasks, ...(attempts === null ? {} : { attempts }), ...(jobs === null ? {} : { jobs }) };
    return { source: await parquetSource(files), job: rootId(first), own: null };
  }
  const { project, target } = await oneTarget(command, parsed);
  const nowMs = Date.now();
  const own = await readOwnJobs(project.folder, target.place);
  return { source: journalSource(own, nowMs, target.place.folder), job: target.place.id, own };
}

const FILE_OPTIONS = ["tasks", "task-attempts", "jobs"];

function onlyWith(what: string, ok: boolean, given: FlagValues, keys: readonly string[]): void {
  const odd = keys.find((key) => given.has(key));
  if (!ok || odd !== undefined) throw usage(`--${odd ?? "parquet"} goes with ${what}, and not with a URL`);
}

/** A root as it is named in every source: absolute, at least `/user/name`, no slash at its end. */
function rootId(text: string): string {
  const id = text.replace(/\/+$/, "");
  if (/^(\/[^/]+){2,}$/.test(id)) return id;
  throw usage(`${text}: a job is named by its whole id here, such as /ann/sim`);
}

function usage(message: string): StintError {
  return new StintError("usage", message, { hint: "see: stint usage --help" });
}
