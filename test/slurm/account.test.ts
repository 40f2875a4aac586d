/** What a real Slurm 22.05 accounted for, against values read off by hand; and how the scheduler answers from it. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { JobIdentity } from "../../src/schedulers/index.ts";
import { type Ran, slurmScheduler } from "../../src/schedulers/slurm/index.ts";
import { parseAccounts, parseCpuTime, SACCT_ACCOUNT_FORMAT } from "../../src/slurm/index.ts";

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url), "utf8");
const utc = (text: string) => Date.parse(`2026-11-30T${text}Z`);
const KIB = 1024;
const NONE = new Map<string, JobIdentity>();

describe("sacct's account of a job", () => {
  const ended = new Map(parseAccounts(fixture("accounts-ended.txt")).map((run) => [run.id, run]));

  it("has the run, its steps, and the printed texts beside the numbers", () => {
    const run = ended.get("42");
    expect(run).toMatchObject({ cluster: "bench", ended: true, over: true, unfinishedStep: null });
    const { steps, raw, ...row } = run?.row ?? { steps: [], raw: null };
    expect(row).toEqual({
      state: "COMPLETED",
      cancelledByUid: null,
      exitCode: 0,
      signal: null,
      submitAtMs: utc("17:58:10"),
      eligibleAtMs: utc("17:58:10"),
      startAtMs: utc("17:58:10"),
      endAtMs: utc("17:58:25"),
      elapsedMs: 15_000,
      suspendedMs: 0,
      allocatedCpus: 4,
      allocated: "billing=4,cpu=4,mem=1200M,node=2",
      cpuTotalMs: 7_855,
      cpuUserMs: 4_125,
      cpuSystemMs: 3_729,
      cpuIsLowerBound: false,
      memoryPeakBytes: 125_308 * KIB,
      memoryPeakIsLowerBound: true,
      requestedMemoryBytes: 1200 * KIB * KIB,
      requestedMemoryPer: null,
      nodes: ["n1", "n2"],
      partition: "main",
      account: "lab",
    });
    expect(raw).toMatchObject({ TotalCPU: "00:07.855", MaxRSS: "", ReqMem: "1200M", NodeList: "n[1-2]" });
    expect(Object.keys(raw ?? {})).toEqual(SACCT_ACCOUNT_FORMAT.split(","));
    expect(
      steps.map(({ step, state, exitCode, cpuTotalMs, memoryPeakBytes }) => [
        step,
        state,
        exitCode,
        cpuTotalMs,
        memoryPeakBytes,
      ]),
    ).toEqual([
      ["batch", "COMPLETED", 0, 1_468, 69_644 * KIB],
      ["extern", "COMPLETED", 0, 16, 1_692 * KIB],
      ["0", "COMPLETED", 0, 5_891, 125_308 * KIB],
      ["1", "COMPLETED", 0, 456, 37_344 * KIB],
      // Shorter than a sample: its CPU time is known, its memory is not.
      ["2", "FAILED", 1, 22, null],
    ]);
    expect(steps[0]?.raw).toMatchObject({ MaxRSS: "69644K", AllocCPUS: "2" });
  });

  it("keeps what steps say beside the job's own word", () => {
    expect(ended.get("204")?.row).toMatchObject({ state: "COMPLETED", exitCode: 0 });
    expect(ended.get("204")?.row.steps.at(-1)).toMatchObject({ step: "0", state: "OUT_OF_MEMORY", signal: 125 });
    // 0:0 of a TIMEOUT is no exit status.
    expect(ended.get("37")?.row).toMatchObject({ state: "TIMEOUT", exitCode: null, signal: null, elapsedMs: 81_000 });
    expect(ended.get("37")?.row.steps.map(({ signal }) => signal)).toEqual([15, null, 9]);
    expect(ended.get("37")?.row.memoryPeakBytes).toBe(19.5 * KIB * KIB);
  });

  it("tells nothing of what a job that never got a node has used", () => {
    expect(ended.get("63")).toMatchObject({ ended: true, over: true });
    expect(ended.get("63")?.row).toMatchObject({
      state: "CANCELLED",
      cancelledByUid: 1001,
      eligibleAtMs: null,
      startAtMs: null,
      elapsedMs: 0,
      allocatedCpus: null,
      allocated: null,
      cpuTotalMs: null,
      cpuIsLowerBound: false,
      memoryPeakBytes: null,
      nodes: [],
      steps: [],
    });
  });

  it("takes no report for no number: a lost node has used what nobody knows", () => {
    const [lost] = parseAccounts(fixture("accounts-requeued.txt")).filter(({ id }) => id === "192");
    expect(lost?.row).toMatchObject({ state: "NODE_FAIL", elapsedMs: 56_000, cpuTotalMs: null, cpuIsLowerBound: true });
    for (const step of lost?.row.steps ?? [])
      expect(step).toMatchObject({ exitCode: null, signal: null, cpuTotalMs: null, memoryPeakBytes: null });
    // A single part of a time that is known can be 0 indeed.
    const run = parseAccounts(fixture("accounts-requeued.txt"))[1];
    expect(run?.row.steps[1]).toMatchObject({ step: "extern", cpuTotalMs: 8, cpuUserMs: 0, cpuSystemMs: 8 });
  });

  it("reads a peak by the byte", () => {
    const row = "5.batch|COMPLETED|0:0|x|x|x|n1|c|x|1|00:00:00|1||00:01.000|00:01.000|00:00:00|315211776|||";
    const job = "5|COMPLETED|0:0|x|x|x|n1|c|x|1|00:00:00|1||00:01.000|00:01.000|00:00:00||250M|main|lab";
    expect(parseAccounts(`${job}\n${row}\n`)[0]?.row.memoryPeakBytes).toBe(315_211_776);
  });

  it.each([
    ["00:00:00", 0],
    ["00:07.855", 7_855],
    ["01:02:03", 3_723_000],
    ["1-02:03:04.5", 93_784_500],
    ["00:00:00.000123", 0],
    ["INVALID", null],
    ["", null],
  ])("reads the time %s", (text, ms) => {
    expect(parseCpuTime(text)).toBe(ms);
  });

  it("refuses rows of other fields", () => {
    expect(() => parseAccounts("1|COMPLETED|0:0\n")).toThrow("has not the fields");
  });
});

describe("slurmScheduler.account", () => {
  const said = (stdout: string): Ran => ({ kind: "ended", exitCode: 0, stdout, stderr: "" });
  const failed = (stderr: string): Ran => ({ kind: "ended", exitCode: 1, stdout: "", stderr });

  async function ask(
    sacct: Ran,
    ids: readonly string[],
    { cluster = "bench", withinMs = 45_000, identities = NONE } = {},
  ) {
    const calls: { readonly words: readonly string[]; readonly timeoutMs: number }[] = [];
    const scheduler = slurmScheduler({
      environment: { PATH: "/bin" },
      clock: { nowMs: () => 0, monotonicMs: () => 0 },
      ownerUid: 1001,
      async run(program, args, { timeoutMs }) {
        calls.push({ words: [program, ...args], timeoutMs });
        return sacct;
      },
    });
    const refs = ids.map((id) => `slurm/${cluster}/${id}`);
    const answers = await scheduler.account(refs, { withinMs, identities });
    return { calls, answers: refs.map((ref) => answers.get(ref)) };
  }

  it("asks sacct once for all, and the controller not at all", async () => {
    const { calls, answers } = await ask(said(fixture("accounts-ended.txt")), ["42", "204", "37", "63"], {
      withinMs: 3_000,
    });
    expect(answers.map((answer) => answer?.kind)).toEqual(["final", "final", "final", "final"]);
    expect(calls).toEqual([
      {
        words: [
          "sacct",
          "-P",
          "-n",
          "-D",
          "--user=1001",
          "--jobs=42,204,37,63",
          "--noconvert",
          `--format=${SACCT_ACCOUNT_FORMAT}`,
        ],
        timeoutMs: 3_000,
      },
    ]);
    expect((await ask(said(""), [])).calls).toEqual([]);
  });

  it("has a row for each run of a requeued job", async () => {
    const text = fixture("accounts-requeued.txt");
    for (const given of [text, `${text.trimEnd().split("\n").toReversed().join("\n")}\n`]) {
      // Turned round, the steps stand before their runs and are nobody's.
      const { answers } = await ask(said(given), ["75", "192"]);
      const rows = answers.map((answer) => (answer?.kind === "final" ? answer.rows : []));
      expect(rows.map((runs) => runs.map(({ ref, run, state, elapsedMs }) => [ref, run, state, elapsedMs]))).toEqual([
        [
          ["slurm/bench/75", 0, "PREEMPTED", 6_000],
          ["slurm/bench/75", 1, "CANCELLED", 303_000],
        ],
        [
          ["slurm/bench/192", 0, "NODE_FAIL", 56_000],
          ["slurm/bench/192", 1, "CANCELLED", 0],
        ],
      ]);
    }
  });

  it("says not yet of whatever may still change", async () => {
    const { answers } = await ask(said(fixture("accounts-open.txt")), ["75", "192", "60", "229", "999"]);
    expect(answers).toEqual([
      { kind: "pending", why: "its last run is RUNNING" },
      { kind: "pending", why: "its last run is PENDING" },
      { kind: "pending", why: "its last run is RUNNING" },
      // Its next run is not on file yet.
      { kind: "pending", why: "its last run is REQUEUED" },
      { kind: "pending", why: "no row of it yet" },
    ]);
    // The job's row comes before that of its batch step, which brings the numbers.
    const late = fixture("accounts-requeued.txt").replace("2026-11-30T18:09:26", "Unknown");
    expect((await ask(said(late), ["75"])).answers).toEqual([{ kind: "pending", why: "step batch has no end yet" }]);
    const outage = fixture("accounts-ended.txt").replaceAll("2026-11-30T17:58:16|None", "Unknown|None");
    expect((await ask(said(outage), ["63"])).answers).toEqual([{ kind: "pending", why: "its last run is CANCELLED" }]);
  });

  it("leaves out who bore the number before it was claimed, also where that one never ended", async () => {
    const open = fixture("accounts-open.txt").replaceAll(/^60\|/gm, "42|").replaceAll(/^60\./gm, "42.");
    const both = `${open}${fixture("accounts-ended.txt").replaceAll("2026-11-30T", "2026-12-30T")}`;
    const claimed = (submittedFromMs: number) =>
      new Map([["slurm/bench/42", { script: "/s", submittedFromMs, submittedUntilMs: submittedFromMs }]]);
    const { answers } = await ask(said(both), ["42"], { identities: claimed(Date.parse("2026-12-30T17:58:00Z")) });
    expect(answers).toMatchObject([{ kind: "final", rows: [{ state: "COMPLETED" }] }]);
    const unknown = await ask(said(both), ["42"], { identities: NONE });
    expect(unknown.answers).toMatchObject([{ kind: "pending" }]);
  });

  it("asks in pieces for more jobs than go into one word of a command", async () => {
    const ids = Array.from({ length: 17_000 }, (_, index) => String(10_000_000 + index));
    const { calls, answers } = await ask(said(""), ids);
    expect(calls).toHaveLength(2);
    const words = calls.map((call) => call.words.find((word) => word.startsWith("--jobs=")) ?? "");
    expect(words.every((word) => word.length < 128 * KIB)).toBe(true);
    expect(words.map((word) => word.slice("--jobs=".length)).join(",")).toBe(ids.join(","));
    expect(answers.every((answer) => answer?.kind === "pending")).toBe(true);
  });

  it("tells not reachable from none at all", async () => {
    const away = failed("sacct: error: Problem talking to the database: Connection refused");
    expect((await ask(away, ["42"])).answers).toEqual([
      { kind: "unreachable", error: "sacct: Problem talking to the database: Connection refused" },
    ]);
    expect((await ask({ kind: "timed-out" }, ["42"])).answers).toEqual([
      { kind: "unreachable", error: "sacct gave no answer in time" },
    ]);
    expect((await ask(failed("Slurm accounting storage is disabled"), ["42"])).answers).toEqual([
      { kind: "none", why: "this site keeps no accounts" },
    ]);
    // The same number is another job there.
    expect((await ask(said(fixture("accounts-ended.txt")), ["42"], { cluster: "other" })).answers).toEqual([
      {
        kind: "unreachable",
        error: "slurm/other/42 is on cluster other; accounting here speaks of cluster bench",
      },
    ]);
  });
});
