/** `doctor --submit-test`: one real job of a few seconds that looks at a node from inside. */
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JobSpec, Ref, Seen } from "../../core/index.ts";
import { realClock } from "../../host/index.ts";
import { loadSlurm, type Scheduler } from "../../schedulers/index.ts";
import { environmentOutsideJob } from "../../slurm/index.ts";
import { rulesNow, sitePath } from "../site-now.ts";
import { type Finding, problem, warning } from "./finding.ts";
import { projectForSubmit, requireOwn, type Where } from "./project.ts";
import { inQueue, queueReason } from "./queue-state.ts";
import { reportFindings } from "./submit-test-findings.ts";
import { parseReport, REPORT, TOKEN, testScript } from "./submit-test-script.ts";

export interface SubmitTestOptions {
  /** What the job asks Slurm for. */
  readonly spec: JobSpec;
  /** Give up after this long. Default 2 min. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Where it stands, one line, as often as it changes. */
  readonly onWait?: (line: string) => void;
}

export type SubmitTestResult =
  | { readonly kind: "looked"; readonly findings: readonly Finding[] }
  /** The queue did not start it in time; it is cancelled. */
  | { readonly kind: "not-started"; readonly findings: readonly Finding[] }
  /** Broken off by the signal; it is cancelled. */
  | { readonly kind: "interrupted"; readonly findings: readonly Finding[] };

/** Its folder is made below `.stint` and removed again, whatever happens. Throws StintError `not-owner` and `storage`. */
export async function submitTest(where: Where, options: SubmitTestOptions): Promise<SubmitTestResult> {
  const { stintFolder } = projectForSubmit(where);
  requireOwn(stintFolder);
  const isNew = !existsSync(stintFolder);
  const parent = join(stintFolder, "doctor");
  const folder = join(parent, randomUUID());
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    return await runTest(where, folder, options);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    for (const empty of [parent, ...(isNew ? [stintFolder] : [])]) removeIfEmpty(empty);
  }
}

const TIMEOUT_MS = 120_000;
const LOOK_MS = 250;
const ASK_MS = 10_000;

async function runTest(where: Where, folder: string, options: SubmitTestOptions): Promise<SubmitTestResult> {
  const { spec } = options;
  const { slurmScheduler } = await loadSlurm();
  const { pollFloorMs } = rulesNow(where.environment, () => {});
  const scheduler = slurmScheduler({
    environment: where.environment,
    clock: realClock,
    pollMs: Math.max(ASK_MS, pollFloorMs),
  });
  const token = randomUUID();
  const script = join(folder, "script.sh");
  const site = sitePath(where.environment);
  writeFileSync(script, testScript({ folder, node: spec.node, options: optionsOf(spec), site }));
  chmodSync(script, 0o700);
  writeFileSync(join(folder, TOKEN), token);
  const submittedAtMs = realClock.nowMs();
  const answer = await scheduler.submit({
    script,
    attemptFolder: folder,
    jobName: "stint-doctor",
    spec: { ...spec, limitMs: 60_000 },
    after: [],
    notBeforeMs: null,
    environment: environmentOutsideJob(where.environment),
  });
  if (answer.kind === "refused")
    return looked(problem("test job", `Slurm refuses it: ${answer.error}`, "correct --partition, --account or --qos"));
  if (answer.kind === "unclear") {
    await takeBack(scheduler, script);
    return looked(
      problem("test job", `its submit got no clear answer: ${answer.error}`, "wait for Slurm, and try again"),
    );
  }
  const { ref, id } = answer;
  const watched = await watch(scheduler, ref, folder, options);
  if (watched.kind !== "reported") await scheduler.withdraw([ref]);
  switch (watched.kind) {
    case "reported":
      return looked(
        ...reportFindings(parseReport(watched.text), {
          job: id,
          token,
          nodeVersion: process.version,
          node: spec.node,
          folder,
          site: checksum(site),
          sitePath: site,
          waitedMs: watched.startedAtMs === null ? null : Math.max(0, watched.startedAtMs - submittedAtMs),
          betweenMs: watched.betweenMs,
        }),
      );
    case "ended":
      return looked(
        problem(
          "test job",
          `${id} ended as ${watched.state} and left no report${logOf(folder)}`,
          "look whether the nodes see this folder, and at what Slurm says: scontrol show job",
        ),
      );
    case "timed-out":
      return {
        kind: "not-started",
        findings: [
          warning(
            "test job",
            `the queue did not start ${id} in time, it is cancelled (${watched.why})`,
            "try again with a longer --timeout, or another --partition",
          ),
        ],
      };
    case "interrupted":
      return {
        kind: "interrupted",
        findings: [warning("test job", `broken off, job ${id} is cancelled`, "try again when there is time")],
      };
  }
}

type Watched =
  | {
      readonly kind: "reported";
      readonly text: string;
      readonly startedAtMs: number | null;
      readonly betweenMs: readonly [number, number];
    }
  | { readonly kind: "ended"; readonly state: string }
  | { readonly kind: "timed-out"; readonly why: string }
  | { readonly kind: "interrupted" };

/** The folder is looked at often, the controller seldom. */
async function watch(
  scheduler: Scheduler,
  ref: Ref,
  folder: string,
  { timeoutMs = TIMEOUT_MS, signal, onWait }: SubmitTestOptions,
): Promise<Watched> {
  const endAtMs = realClock.monotonicMs() + timeoutMs;
  let askAtMs = 0;
  let why = "it waits in the queue";
  let overAtMs: number | null = null;
  let beforeMs = realClock.nowMs();
  for (;;) {
    const lookedAtMs = realClock.nowMs();
    // The list of a folder is fresh where a single name that was missing may be remembered as missing (NFS).
    if (readdirSync(folder).includes(REPORT)) {
      const text = readFileSync(join(folder, REPORT), "utf8");
      const startedAtMs = Number(parseReport(text).clock) * 1000;
      return {
        kind: "reported",
        text,
        startedAtMs: Number.isFinite(startedAtMs) ? startedAtMs : null,
        betweenMs: [beforeMs, realClock.nowMs()],
      };
    }
    beforeMs = lookedAtMs;
    if (signal?.aborted === true) return { kind: "interrupted" };
    const nowMs = realClock.monotonicMs();
    if (nowMs >= endAtMs) return { kind: "timed-out", why };
    if (nowMs >= askAtMs) {
      askAtMs = nowMs + ASK_MS;
      const seen = (await scheduler.observe([ref])).get(ref) ?? { kind: "absent" };
      why = wordsOf(seen);
      onWait?.(why);
      if (seen.kind !== "over") overAtMs = null;
      // The report may be on its way through the file system.
      else if (overAtMs === null) overAtMs = nowMs;
      else return { kind: "ended", state: seen.state };
    }
    await realClock.sleep(LOOK_MS, signal);
  }
}

function wordsOf(seen: Seen): string {
  switch (seen.kind) {
    case "unreachable":
      return `Slurm can't be asked: ${seen.error}`;
    case "absent":
      return "the controller does not know it";
    case "over":
      return `it is over (${seen.state})`;
    case "active": {
      const place = inQueue(1, seen, realClock.nowMs());
      return place === null ? `it is ${seen.phase}` : queueReason(place).replace(/^attempt 1/, "it");
    }
  }
}

function looked(...findings: readonly Finding[]): SubmitTestResult {
  return { kind: "looked", findings };
}

/** A job that the controller took all the same would find its folder gone, and leave. */
async function takeBack(scheduler: Scheduler, script: string): Promise<void> {
  const found = await scheduler.find(script);
  if (typeof found === "object") await scheduler.withdraw([found.ref]);
}

function optionsOf({ slurm }: JobSpec): readonly string[] {
  const option = (name: string, value: string | null): readonly string[] =>
    value === null ? [] : [`--${name}=${value}`];
  return [
    ...slurm.sbatch,
    ...option("partition", slurm.partition),
    ...option("account", slurm.account),
    ...option("qos", slurm.qos),
  ];
}

/** As the script makes it; empty where there is no such file. */
function checksum(path: string): string {
  if (!existsSync(path)) return "";
  return execFileSync("cksum", { input: readFileSync(path), encoding: "utf8" }).trim();
}

function logOf(folder: string): string {
  const path = join(folder, "scheduler.log");
  const text = existsSync(path) ? readFileSync(path, "utf8").trim() : "";
  return text === "" ? "" : `: ${text.split("\n").slice(-2).join(" ")}`;
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Something else lies in it.
  }
}
