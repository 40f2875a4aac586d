/** `stint doctor`: can it work here? */
import { realpathSync } from "node:fs";
import {
  type AskedAbout,
  doctor,
  type Finding,
  jobForDoctor,
  StintError,
  type SubmitTestResult,
  submitTest,
} from "../../chain/index.ts";
import { flagOn, flagText, type ParsedFlags, settingFlags } from "../../spec/index.ts";
import { type CliCommand, JSON_FLAG, readArgs, TIMEOUT } from "../command.ts";
import { toJson } from "../json.ts";
import type { Colour, Terminal } from "../terminal.ts";
import { here } from "../where.ts";
import { readDuration } from "../words.ts";

const COLOURS: Readonly<Record<Finding["level"], Colour>> = { ok: "green", warning: "yellow", problem: "red" };

export const command: CliCommand = {
  name: "doctor",
  usage: "doctor [JOB | SPEC.yaml] [-p PARTITION …] [--submit-test]",
  summary: "Looks whether stint can work on this machine and in this folder, and says what to do where it cannot.",
  details: [
    "With a job or a spec file it also looks at its checkpoint's folder; with settings (-p long -t 8h) at what they ask for.",
    "--submit-test submits one job of a few seconds, which looks at a compute node from inside.",
    "Exit status: 0, 1 when something must be mended, 75 when the queue did not start the test job in time, 130 when it was broken off.",
  ],
  options: [
    {
      key: "submit-test",
      flags: ["--submit-test"],
      takes: "nothing",
      help: "one real job: Node, folder, Slurm's commands, address space, control group and clock on a node",
    },
    { ...TIMEOUT, help: "for the test job: give up after this long (exit status 75) [2m]" },
    JSON_FLAG,
  ],
  settings: settingFlags,
  examples: [
    ["stint doctor", "look at everything"],
    ["stint doctor -p long -t 8h", "is that limit below the partition's?"],
    ["stint doctor stint.yaml --submit-test", "and on a node"],
  ],
  async run(args, terminal) {
    const parsed = readArgs(command, args);
    const json = flagOn(parsed.given, "json");
    const asked = await askedAbout(args, parsed);
    const program = [process.execPath, realpathSync(process.argv[1] ?? "")];
    // Without a name nothing is known of a job but what the options say of the scheduler.
    const about = asked === null ? {} : { spec: asked.spec, looksAtCheckpoint: asked.isNamed };
    const findings = [...(await doctor(here(), { ...about, program }))];
    if (!json) for (const finding of findings) show(finding, terminal);
    const tested = flagOn(parsed.given, "submit-test") ? await test(parsed, asked, findings, terminal) : null;
    if (tested !== null) findings.push(...tested.findings);
    if (json) terminal.out(toJson({ findings }));
    else for (const finding of tested?.findings ?? []) show(finding, terminal);
    if (tested?.kind === "interrupted") return 130;
    if (findings.some(({ level }) => level === "problem")) return 1;
    return tested?.kind === "not-started" ? 75 : 0;
  },
};

/** A site file that can't be used, or a missing runner, is a finding and no reason to look at nothing. */
async function askedAbout(args: readonly string[], parsed: ParsedFlags): Promise<AskedAbout | null> {
  try {
    return await jobForDoctor({ ...here(), args, parsed, options: command.options });
  } catch (error) {
    const isOwn = error instanceof StintError && (error.code === "internal" || error.code === "site");
    if (isOwn) return null;
    throw error;
  }
}

async function test(
  { given }: ParsedFlags,
  asked: AskedAbout | null,
  findings: readonly Finding[],
  terminal: Terminal,
): Promise<SubmitTestResult> {
  const silent = findings.find(({ what, level }) => what === "scheduler" && level === "problem");
  const absent = findings.some(({ what, found }) => what === "scheduler" && found.includes("no sbatch"));
  if (asked === null || silent !== undefined || absent) return { kind: "looked", findings: [NOT_TRIED] };
  const timeout = flagText(given, "timeout");
  const ctrlC = new AbortController();
  const stop = (): void => ctrlC.abort();
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  let shown = "";
  try {
    return await submitTest(here(), {
      spec: asked.spec,
      ...(timeout === null ? {} : { timeoutMs: readDuration("--timeout", timeout) }),
      signal: ctrlC.signal,
      onWait(line) {
        if (terminal.live) terminal.line(`test job: ${line}`);
        else if (line !== shown) terminal.note(`test job: ${line}`);
        shown = line;
      },
    });
  } finally {
    terminal.line(null);
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
  }
}

const NOT_TRIED: Finding = {
  what: "test job",
  level: "problem",
  found: "not submitted",
  advice: "mend what is said above about the scheduler, and try again",
};

function show({ what, level, found, advice }: Finding, terminal: Terminal): void {
  terminal.out(`${terminal.colour(level.padEnd(7), COLOURS[level])}  ${what.padEnd(WIDTH)}  ${found}`);
  if (advice !== null) terminal.out(`${" ".repeat(7)}  ${" ".repeat(WIDTH)}  → ${advice}`);
}

const WIDTH = 19;
