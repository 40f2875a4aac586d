/** `stint usage`: what did it use? Two ledgers, and why they disagree. */
import { flagOn, flagText } from "../../spec/index.ts";
import { ownUsage, usage } from "../../usage/index.ts";
import { type CliCommand, JSON_FLAG, readArgs } from "../command.ts";
import { toJson } from "../json.ts";
import { usageFailure } from "../usage-failure.ts";
import { traceCsv, usageCsv, usageJson } from "../usage-json.ts";
import { ownLines } from "../usage-own-view.ts";
import { seedLines } from "../usage-seed-view.ts";
import { type OpenedSource, openUsageSource } from "../usage-sources.ts";
import { ledgerLines } from "../usage-table-view.ts";
import { readChoice, readPastMoment } from "../words.ts";

export const command: CliCommand = {
  name: "usage",
  usage: "usage (JOB | URL JOB | --parquet FILE --tasks FILE JOB) [--include-failed] [--integral]",
  summary: "What a job and all below it used: by the task table, by the samples, and why these disagree.",
  details: [
    "JOB alone is a job of this project. URL JOB asks an Iris controller: http://localhost:10001 /ann/sim. --parquet reads saved samples.",
    "Ledger A (tasks): end less start of each task. Ledger B (samples): last less first sample of each attempt, and its CPU. What lies between them is shown cause by cause, in milliseconds, with the residual.",
    "A token for the controller comes from the file that STINT_IRIS_TOKEN_FILE names, or from STINT_IRIS_TOKEN: on a command line everybody could read it.",
    "Exit status: 0, 2 usage, 3 no such job, 4 not reachable, or no answer of an Iris controller.",
  ],
  options: [
    {
      key: "include-failed",
      flags: ["--include-failed"],
      takes: "nothing",
      help: "ledger A: tasks of every state, not only those that succeeded",
    },
    { key: "all", flags: ["--all"], takes: "nothing", help: "also the tasks of jobs that have children" },
    { key: "attempts", flags: ["--attempts"], takes: "nothing", help: "ledger A over the attempts, too: without gaps" },
    {
      key: "integral",
      flags: ["--integral"],
      takes: "nothing",
      help: "CPU integrated over the single samples, with its bounds and the holes",
    },
    {
      key: "as-of",
      flags: ["--as-of"],
      takes: "value",
      placeholder: "MOMENT",
      help: "only what was known then: 2026-05-11T10:00:00Z, ms since 1970, or 2h for two hours ago [now]",
    },
    {
      key: "by",
      flags: ["--by"],
      takes: "value",
      placeholder: "leaf|user",
      help: "a row for each leaf job, or each user [leaf]",
    },
    {
      key: "format",
      flags: ["--format"],
      takes: "value",
      placeholder: "seed|table",
      help: "as iris_job_cpu_time.py prints it, or as stint does [seed with a URL, else table]",
    },
    { key: "trace", flags: ["--trace"], takes: "nothing", help: "each record behind the explanation, as CSV" },
    JSON_FLAG,
    { key: "csv", flags: ["--csv"], takes: "nothing", help: "the rows as comma-separated values" },
    {
      key: "stats",
      flags: ["--stats"],
      takes: "value",
      placeholder: "auto|proxy|direct",
      help: "with a URL: the way to the statistics [auto]",
    },
    {
      key: "parquet",
      flags: ["--parquet"],
      takes: "list",
      placeholder: "FILE",
      help: "saved samples (iris.task): a file or a folder of them; may be repeated",
    },
    {
      key: "tasks",
      flags: ["--tasks"],
      takes: "value",
      placeholder: "FILE",
      help: "with --parquet: the task table as Parquet, CSV or JSON",
    },
    {
      key: "task-attempts",
      flags: ["--task-attempts"],
      takes: "value",
      placeholder: "FILE",
      help: "with --parquet: the table of attempts",
    },
    {
      key: "jobs",
      flags: ["--jobs"],
      takes: "value",
      placeholder: "FILE",
      help: "with --parquet: the table of jobs [those of the tasks]",
    },
  ],
  examples: [
    ["stint usage sim", "a job of this project"],
    ["stint usage http://localhost:10001 /ann/sim --include-failed", "a job of an Iris cluster, through a tunnel"],
    ["stint usage sim --json", "all figures, each with the records behind it"],
  ],
  async run(args, terminal) {
    const parsed = readArgs(command, args);
    const { given } = parsed;
    const by = readChoice(given, "by", ["leaf", "user"]) ?? "leaf";
    const format = readChoice(given, "format", ["seed", "table"]);
    const asOf = flagText(given, "as-of");
    const request = {
      by,
      includeFailed: flagOn(given, "include-failed"),
      innerJobs: flagOn(given, "all"),
      integral: flagOn(given, "integral"),
      ...(asOf === null ? {} : { asOfMs: readPastMoment("--as-of", asOf, Date.now()) }),
    };
    let opened: OpenedSource | null = null;
    try {
      opened = await openUsageSource(command, parsed);
      const isOwn = opened.own !== null;
      const wanted = { ...request, integral: request.integral || isOwn };
      const report = await usage({ ...wanted, source: opened.source, job: opened.job });
      const own = opened.own === null ? null : ownUsage(opened.own, report.rows.spans, report.asOfMs);
      if (flagOn(given, "trace")) terminal.out(traceCsv(report));
      else if (flagOn(given, "csv")) terminal.out(usageCsv(report));
      else if (flagOn(given, "json")) terminal.out(toJson(usageJson(report, own)));
      else if ((format ?? (opened.source.kind === "iris" ? "seed" : "table")) === "seed")
        terminal.out(...seedLines(report));
      else terminal.out(...(own === null ? [] : ownLines(own)), ...ledgerLines(report, flagOn(given, "attempts")));
      return 0;
    } catch (error) {
      throw usageFailure(error);
    } finally {
      await opened?.source.close();
    }
  },
};
