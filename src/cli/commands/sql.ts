/** `stint sql`: a question in SQL. */
import { readFileSync } from "node:fs";
import { requireProject, StintError } from "../../chain/index.ts";
import type { QueryCell } from "../../query/index.ts";
import { flagOn, flagText, type ParsedFlags } from "../../spec/index.ts";
import { readAllJobs, type SqlAnswer, sqlOverJobs, sqlToController } from "../../usage/index.ts";
import { type CliCommand, JSON_FLAG, readArgs } from "../command.ts";
import { exactNumber, toJson } from "../json.ts";
import { csv, table } from "../terminal.ts";
import { usageFailure } from "../usage-failure.ts";
import { here } from "../where.ts";
import { readChoice } from "../words.ts";

export const command: CliCommand = {
  name: "sql",
  usage: 'sql "SELECT …" [--controller URL]',
  summary: "Answers one SELECT over all jobs of the project, or asks a live Iris controller.",
  details: [
    'Tables, with the columns of Iris: jobs, tasks, task_attempts, "iris.task" (the samples). The statement is DuckDB\'s; it reaches no file.',
    'With --controller a statement that names a namespace such as "iris.task" goes to the statistics, everything else to the controller\'s own database.',
    "- reads the statement from standard input. Exit status: 0, 2 when the statement cannot be answered, 4 not reachable, 130 broken off.",
  ],
  options: [
    {
      key: "controller",
      flags: ["--controller"],
      takes: "value",
      placeholder: "URL",
      help: "ask this controller, such as http://localhost:10001",
    },
    {
      key: "to",
      flags: ["--to"],
      takes: "value",
      placeholder: "auto|controller|stats",
      help: "with --controller: which of the two is asked [auto]",
    },
    JSON_FLAG,
    { key: "csv", flags: ["--csv"], takes: "nothing", help: "comma-separated values" },
  ],
  examples: [
    ['stint sql "SELECT task_id, count(*) FROM task_attempts GROUP BY ALL"', "attempts of each task"],
    ["stint sql --controller http://localhost:10001 'SELECT count(*) FROM jobs'", "of a live controller"],
  ],
  async run(args, terminal) {
    const parsed = readArgs(command, args);
    const statement = statementIn(parsed);
    let answer: SqlAnswer | null = null;
    // The engine's files of a while are taken away before we go.
    const brokenOff = new AbortController();
    const stop = (): void => brokenOff.abort();
    if (!parsed.given.has("controller")) for (const name of ["SIGINT", "SIGTERM"]) process.once(name, stop);
    try {
      answer = await ask(parsed, statement, brokenOff.signal);
      const { columns } = answer;
      const rows: (readonly QueryCell[])[] = [];
      // A table is as wide as its widest cell: all of it must be there first.
      for await (const row of answer.rows) rows.push(row);
      if (flagOn(parsed.given, "json")) terminal.out(toJson({ columns, rows: rows.map((row) => row.map(jsonCell)) }));
      else if (flagOn(parsed.given, "csv"))
        terminal.out(
          csv(
            columns,
            rows.map((row) => row.map(csvCell)),
          ),
        );
      else if (rows.length === 0) terminal.note(`no rows (${columns.join(", ")})`);
      else
        terminal.out(
          ...table(
            columns,
            rows.map((row) => row.map(shownCell)),
          ),
        );
      return 0;
    } catch (error) {
      if (brokenOff.signal.aborted) return 130;
      throw usageFailure(error);
    } finally {
      for (const name of ["SIGINT", "SIGTERM"]) process.off(name, stop);
      await answer?.close();
    }
  },
};

async function ask({ given }: ParsedFlags, statement: string, signal: AbortSignal): Promise<SqlAnswer> {
  const url = flagText(given, "controller");
  const to = readChoice(given, "to", ["auto", "controller", "stats"]) ?? "auto";
  if (url !== null) return sqlToController({ url, environment: process.env }, statement, to);
  if (given.has("to")) throw new StintError("usage", "--to goes with --controller URL");
  const project = requireProject(here());
  const jobs = await readAllJobs(project.folder, project.stintFolder);
  return sqlOverJobs(jobs, statement, { signal });
}

function statementIn({ positionals }: ParsedFlags): string {
  const [statement, extra] = positionals;
  if (statement === undefined)
    throw new StintError("usage", 'which question? stint sql "SELECT …"', { hint: "see: stint sql --help" });
  if (extra !== undefined)
    throw new StintError("usage", `one statement, in quotes: unexpected "${extra}"`, { hint: "see: stint sql --help" });
  return statement === "-" ? readFileSync(0, "utf8") : statement;
}

/** Exact: what no number of JavaScript holds is its digits. */
function jsonCell(cell: QueryCell): string | number | boolean | null {
  if (typeof cell === "bigint") return exactNumber(cell);
  return typeof cell === "number" && !Number.isFinite(cell) ? String(cell) : cell;
}

function csvCell(cell: QueryCell): string | number | boolean | null {
  return typeof cell === "bigint" ? String(cell) : cell;
}

function shownCell(cell: QueryCell): string {
  return cell === null ? "-" : String(cell);
}
