/** Answers that no cluster gives on demand, handed to the scheduler in place of its commands. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { JobSpec } from "../../src/core/index.ts";
import { type Ran, slurmScheduler } from "../../src/schedulers/slurm/index.ts";

const CONFIG = "ClusterName = c\nProctrackType = proctrack/cgroup\n";
const said = (stdout: string): Ran => ({ kind: "ended", exitCode: 0, stdout, stderr: "" });
const failed = (stderr: string, exitCode = 1): Ran => ({ kind: "ended", exitCode, stdout: "", stderr });
const NO_ANSWER = failed("slurm_load_jobs error: Unable to contact slurm controller (connect failure)");
const ACCOUNTING_AWAY = failed("sacct: error: Problem talking to the database: Connection refused");

interface Answers {
  readonly sbatch?: Ran;
  readonly squeue?: Ran;
  readonly sacct?: Ran;
  readonly scancel?: Ran;
  readonly config?: Ran;
  readonly nodes?: Ran;
}

function schedulerWith(
  answers: Answers | (() => Answers),
  clock = { monotonicMs: () => 0 },
  trustedBy: string | null = null,
) {
  const calls: string[][] = [];
  const scheduler = slurmScheduler({
    environment: { PATH: "/bin" },
    clock: { nowMs: () => 0, ...clock },
    ownerUid: 1001,
    pollMs: 30_000,
    trustedBy,
    ownTracking: () => ({ tracking: "other", cgroup: null }),
    async run(program, args) {
      calls.push([program, ...args]);
      const now = typeof answers === "function" ? answers() : answers;
      if (program === "scontrol")
        return args.includes("config") ? (now.config ?? said(CONFIG)) : (now.nodes ?? said(node("IDLE")));
      return now[program as "sbatch" | "squeue" | "sacct" | "scancel"] ?? said("");
    },
  });
  return { scheduler, calls, asked: (program: string) => calls.filter(([name]) => name === program).length };
}

const node = (state: string, name = "n3") =>
  `NodeName=${name} State=${state} BootTime=2026-11-30T19:00:00 SlurmdStartTime=2026-11-30T20:00:00`;

function queueRow(id: string, state: string, { exit = "0", nodes = "n3", restarts = "0", script = "/s" } = {}): string {
  const at = "2026-11-30T20:08:10";
  const values = [
    id,
    "c",
    state,
    "None",
    exit,
    at,
    at,
    at,
    "30:00",
    nodes,
    "main",
    "lab",
    "normal",
    "1",
    "cpu=1",
    restarts,
    script,
  ];
  return `${values.map((value) => `${value}\u001f`).join("")}\u001e\n`;
}

const accounting = (id: string, state: string, exit: string, nodes: string, steps: readonly string[]) =>
  [`${id}|${state}|${exit}`, ...steps.map((step) => `${id}.${step}`)]
    .map((row) => `${row}|2026-11-30T20:08:10|2026-11-30T20:08:10|2026-11-30T20:08:18|${nodes}\n`)
    .join("");

async function seen(answers: Answers, id = "17") {
  const ref = `slurm/c/${id}`;
  return (await schedulerWith(answers).scheduler.observe([ref])).get(ref);
}

it("says unreachable when the controller is silent, although accounting shows an end", async () => {
  const sacct = said(accounting("17", "TIMEOUT", "0:0", "n3", ["batch|CANCELLED|0:15"]));
  expect(await seen({ squeue: NO_ANSWER, sacct })).toMatchObject({ kind: "unreachable" });
  expect(await seen({ squeue: { kind: "timed-out" }, sacct })).toMatchObject({ kind: "unreachable" });
  expect(await seen({ squeue: { kind: "killed", signal: "SIGTERM" }, sacct })).toMatchObject({ kind: "unreachable" });
  expect(await seen({ squeue: { kind: "not-started", error: "ENOENT" }, sacct })).toMatchObject({
    kind: "unreachable",
  });
  expect(await seen({ config: NO_ANSWER, sacct })).toMatchObject({ kind: "unreachable" });
  expect(await seen({ squeue: said("another program's words\n"), sacct })).toMatchObject({ kind: "unreachable" });
});

it("says absent only when controller and accounting know nothing", async () => {
  expect(await seen({})).toEqual({ kind: "absent" });
  expect(await seen({ squeue: failed("slurm_load_jobs error: Invalid job id specified") })).toEqual({ kind: "absent" });
});

const identity = (submittedAtMs: number) => ({
  script: "/s",
  submittedFromMs: submittedAtMs,
  submittedUntilMs: submittedAtMs,
});

it("says nothing of another job that has got the number: other script, submitted later", async () => {
  const submitted = Date.parse("2026-11-30T20:00:00Z");
  const answers = { squeue: said(queueRow("17", "RUNNING", { script: "/other" }) + queueRow("18", "RUNNING")) };
  const refs = ["slurm/c/17", "slurm/c/18"];
  const identities = new Map(refs.map((ref) => [ref, identity(submitted)]));
  const seen = await schedulerWith(answers).scheduler.observe(refs, identities);
  expect([...seen.values()]).toMatchObject([{ kind: "absent" }, { kind: "active", phase: "running" }]);
  // A site's own sbatch may submit a copy of the script: what was there when ours was put on file is ours.
  const later = new Map(refs.map((ref) => [ref, identity(submitted + 3_600_000)]));
  const copied = await schedulerWith(answers).scheduler.observe(refs, later);
  expect(copied.get("slurm/c/17")).toMatchObject({ kind: "active" });
});

it("keeps no answer about a job for the one that gets its number next", async () => {
  const answers = { squeue: said("") };
  const { scheduler, asked } = schedulerWith(() => answers);
  const known = (script: string) =>
    new Map([["slurm/c/17", { script, submittedFromMs: 0, submittedUntilMs: Date.UTC(2026, 11) }]]);
  expect((await scheduler.observe(["slurm/c/17"], known("/a/0002"))).get("slurm/c/17")).toEqual({ kind: "absent" });
  answers.squeue = said(queueRow("17", "PENDING", { script: "/a/0004" }));
  expect((await scheduler.observe(["slurm/c/17"], known("/a/0004"))).get("slurm/c/17")).toMatchObject({
    kind: "active",
  });
  // Who asks without a name for it gets what is known, and asks nobody.
  expect((await scheduler.observe(["slurm/c/17"])).get("slurm/c/17")).toMatchObject({ kind: "active" });
  expect(asked("squeue")).toBe(2);
});

it("takes no job that bore the number years ago for the answer", async () => {
  const sacct = said(accounting("17", "COMPLETED", "0:0", "n3", ["batch|COMPLETED|0:0", "extern|COMPLETED|0:0"]));
  const look = async (submittedFromMs: number | null) => {
    const identities = new Map([["slurm/c/17", { ...identity(Date.parse("2036-12-01")), submittedFromMs }]]);
    return (await schedulerWith({ sacct }).scheduler.observe(["slurm/c/17"], identities)).get("slurm/c/17");
  };
  expect(await look(Date.parse("2026-11-30T20:08:10Z"))).toMatchObject({ kind: "over", state: "COMPLETED" });
  expect(await look(Date.parse("2036-11-30T20:08:10Z"))).toEqual({ kind: "absent" });
  // The job itself may be the first to put its submit on file, after years in the queue: since its claim it is ours.
  expect(await look(Date.parse("2026-11-30T15:00:00Z"))).toMatchObject({ kind: "over", state: "COMPLETED" });
  expect(await look(null)).toMatchObject({ kind: "over", state: "COMPLETED" });
});

it("takes an end for proved only with the nodes' own report and with nodes that answer", async () => {
  const cutOff = readFileSync(new URL("fixtures/sacct-cut-off.txt", import.meta.url), "utf8");
  const job17 = said(
    cutOff
      .split("\n")
      .filter((row) => row.startsWith("17"))
      .join("\n"),
  );
  // The node is back, but it never told how the job ended.
  expect(await seen({ sacct: job17 })).toMatchObject({ state: "TIMEOUT", final: true, proof: "D", nodes: "answering" });
  expect(await seen({ sacct: job17, nodes: said(node("DOWN*")) })).toMatchObject({ proof: "D", nodes: "silent" });
  expect(await seen({ sacct: job17, nodes: NO_ANSWER })).toMatchObject({ proof: "D", nodes: "silent" });
  expect(await seen({ sacct: job17, nodes: said(node("IDLE").replace("T19:", "T21:")) })).toMatchObject({
    nodes: "rebooted",
  });
  const reported = said(accounting("17", "TIMEOUT", "0:0", "n3", ["batch|CANCELLED|0:15", "extern|COMPLETED|0:0"]));
  expect(await seen({ sacct: reported })).toMatchObject({
    state: "TIMEOUT",
    final: true,
    proof: "C",
    nodes: "answering",
  });
  // A step's row can lag behind: the node's condition decides then.
  expect(await seen({ sacct: reported, nodes: said(node("DOWN*")) })).toMatchObject({ proof: "D", nodes: "silent" });
});

it("takes the controller's word while accounting is late or away, but for what only accounting knows", async () => {
  const squeue = said(queueRow("17", "FAILED", { exit: "1792" }));
  expect(await seen({ squeue, sacct: ACCOUNTING_AWAY })).toMatchObject({
    state: "FAILED",
    exitCode: 7,
    final: true,
    proof: "C",
  });
  expect(await seen({ squeue })).toMatchObject({ state: "FAILED", exitCode: 7, final: true, proof: "C" });
  const cancelled = said(queueRow("17", "CANCELLED"));
  expect(await seen({ squeue: cancelled })).toMatchObject({ cancelledByUid: null, final: false, proof: "D" });
  expect(await seen({ squeue: said(queueRow("17", "TIMEOUT")) })).toMatchObject({ final: false, proof: "D" });
  const disabled = failed("Slurm accounting storage is disabled");
  expect(await seen({ squeue: said(queueRow("17", "TIMEOUT")), sacct: disabled })).toMatchObject({
    final: true,
    proof: "D",
    nodes: "answering",
  });
  // The last run's batch step says nothing about the node of the run before.
  expect(await seen({ squeue: said(queueRow("17", "COMPLETED", { restarts: "1" })) })).toMatchObject({ proof: "D" });
});

it("knows a cancel of a job that never got a node", async () => {
  const pending = { sacct: said(accounting("17", "CANCELLED by 1001", "0:0", "None assigned", [])) };
  expect(await seen(pending)).toMatchObject({
    state: "CANCELLED",
    cancelledByUid: 1001,
    final: true,
    proof: "C",
    nodes: null,
  });
});

it("doubts an end that nobody caused, and a job that the controller lost", async () => {
  const steps = ["batch|CANCELLED|0:15"];
  expect(await seen({ sacct: said(accounting("17", "CANCELLED", "0:0", "n3", steps)) })).toMatchObject({
    proof: "D",
    cancelledByUid: null,
  });
  expect(await seen({ sacct: said(accounting("17", "CANCELLED by 0", "0:0", "n3", steps)) })).toMatchObject({
    proof: "C",
    cancelledByUid: 0,
  });
  expect(await seen({ sacct: said(accounting("17", "BOOT_FAIL", "0:0", "n3", steps)) })).toMatchObject({ proof: "D" });
  const running = said("17|RUNNING|0:0|2026-11-30T20:08:10|2026-11-30T20:08:10|Unknown|n3\n");
  expect(await seen({ sacct: running })).toMatchObject({
    kind: "over",
    state: "LOST",
    final: false,
    proof: "D",
    nodes: "answering",
  });
});

it("counts every run of a requeued job", async () => {
  const lost = accounting("17", "NODE_FAIL", "0:0", "n3", ["batch|CANCELLED|"]);
  const twin = accounting("17", "COMPLETED", "0:0", "n4", ["batch|COMPLETED|0:0"]).replaceAll("T20:08", "T20:18");
  const nodes = said(`${node("IDLE")}\n${node("IDLE", "n4")}\n`);
  expect(await seen({ sacct: said(twin + lost), nodes })).toMatchObject({ state: "COMPLETED", proof: "D" });
});

it("asks for many jobs at once, not again before its time, and never again after a proved end", async () => {
  let now = 0;
  let queue = said(queueRow("1", "RUNNING") + queueRow("2", "COMPLETED"));
  const sacct = said(accounting("2", "COMPLETED", "0:0", "n3", ["batch|COMPLETED|0:0"]));
  const { scheduler, calls, asked } = schedulerWith(() => ({ squeue: queue, sacct }), { monotonicMs: () => now });
  const refs = ["slurm/c/1", "slurm/c/2", "slurm/c/3"];
  const first = await scheduler.observe(refs);
  expect([...first].map(([ref, { kind }]) => [ref, kind])).toEqual([
    ["slurm/c/1", "active"],
    ["slurm/c/2", "over"],
    ["slurm/c/3", "absent"],
  ]);
  expect([asked("squeue"), asked("sacct"), asked("scontrol")]).toEqual([1, 1, 2]);
  now = 29_999;
  expect(await scheduler.observe(refs)).toEqual(first);
  expect(asked("squeue")).toBe(1);
  now = 30_000;
  queue = said("");
  await scheduler.observe(refs);
  expect(asked("squeue")).toBe(2);
  expect(calls.findLast(([program]) => program === "squeue")).toContain("--jobs=1,3");
  // An action on a job forgets what was seen of it.
  await scheduler.withdraw(["slurm/c/1"]);
  await scheduler.observe(refs);
  expect(asked("squeue")).toBe(3);
});

it("sends one scancel for all, and tells when it was not carried out", async () => {
  const { scheduler, calls } = schedulerWith({});
  await scheduler.withdraw(["slurm/c/4", "slurm/c/5"]);
  expect(calls.at(-1)).toEqual(["scancel", "4", "5"]);
  await scheduler.withdraw([]);
  expect(calls.filter(([program]) => program === "scancel")).toHaveLength(1);
  const away = schedulerWith({
    scancel: failed(
      "scancel: error: Kill job error on job id 4: Unable to contact slurm controller (connect failure)",
      8,
    ),
  });
  await expect(away.scheduler.kill("slurm/c/4")).rejects.toThrow(
    "scancel: Kill job error on job id 4: Unable to contact",
  );
});

it("says unclear whenever the job may exist", async () => {
  const answers: readonly (readonly [Ran, object])[] = [
    [said("42\n"), { kind: "accepted", ref: "slurm/c/42", id: "42", cluster: "c" }],
    [said("42;other\n"), { kind: "accepted", ref: "slurm/other/42" }],
    [said("what?"), { kind: "unclear" }],
    [
      failed("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"),
      { kind: "unclear" },
    ],
    [
      failed("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)"),
      { kind: "unclear" },
    ],
    [{ kind: "timed-out" }, { kind: "unclear" }],
    [{ kind: "killed", signal: "SIGTERM" }, { kind: "unclear" }],
    [
      { kind: "not-started", error: "spawn sbatch ENOENT" },
      { kind: "refused", transient: false },
    ],
    [
      { kind: "not-started", error: "spawn sbatch EAGAIN" },
      { kind: "refused", transient: true },
    ],
    [failed("sbatch: error: AssocMaxSubmitJobLimit"), { kind: "refused", transient: true }],
    [
      failed("sbatch: error: Batch job submission failed: Invalid qos specification"),
      { kind: "refused", transient: false },
    ],
  ];
  for (const [sbatch, expected] of answers) {
    const { scheduler } = schedulerWith({ sbatch });
    expect(await scheduler.submit(submission())).toMatchObject(expected);
  }
  // Without the cluster's name nothing was sent.
  const { scheduler, asked } = schedulerWith({ config: NO_ANSWER });
  expect(await scheduler.submit(submission())).toMatchObject({ kind: "refused", transient: true });
  expect(asked("sbatch")).toBe(0);
});

it("prefers the living one of two jobs with the same script", async () => {
  const squeue = said(queueRow("8", "COMPLETED") + queueRow("9", "PENDING"));
  expect(await schedulerWith({ squeue }).scheduler.find("/s")).toEqual({ ref: "slurm/c/9", cluster: "c", id: "9" });
  expect(await schedulerWith({ squeue }).scheduler.find("/t")).toBe("none");
});

it("falls back on the environment when the controller does not tell about the own job", async () => {
  const { scheduler } = schedulerWith({ squeue: NO_ANSWER });
  const environment = {
    SLURM_JOB_ID: "5",
    SLURM_CLUSTER_NAME: "c",
    SLURM_JOB_NODELIST: "n[1-2]",
    SLURM_RESTART_COUNT: "2",
    SLURM_JOB_PARTITION: "main",
    SLURM_CPUS_ON_NODE: "4",
    SLURM_MEM_PER_NODE: "100",
  };
  expect(await scheduler.here(environment)).toEqual({
    ref: "slurm/c/5",
    cluster: "c",
    id: "5",
    restartCount: 2,
    nodes: ["n1", "n2"],
    limitEndAtMs: null,
    tracking: "other",
    cgroup: null,
    attributes: { partition: "main", account: null, qos: null, cpus: 4, memoryBytes: 104_857_600, preemptible: null },
  });
  expect(await scheduler.here({ ...environment, SLURM_JOB_END_TIME: "1796061359" })).toMatchObject({
    limitEndAtMs: 1_796_061_359_000,
  });
});

it("says whose word an end or an absence is where the site trusts its scheduler, and of nothing else", async () => {
  const at = "/etc/stint.yaml:3";
  const ended = { sacct: said(accounting("17", "COMPLETED", "0:0", "n3", ["batch|COMPLETED|0:0"])) };
  for (const [answers, kind] of [
    [ended, "over"],
    [{}, "absent"],
    [{ squeue: said(queueRow("17", "RUNNING")) }, "active"],
    [{ squeue: NO_ANSWER }, "unreachable"],
  ] as const) {
    const seen = async (trustedBy: string | null) => {
      const { scheduler } = schedulerWith(answers, undefined, trustedBy);
      return (await scheduler.observe(["slurm/c/17"])).get("slurm/c/17");
    };
    const plain = await seen(null);
    expect(plain).toMatchObject({ kind });
    expect(plain).not.toHaveProperty("trustedBy");
    const counts = kind === "over" || kind === "absent";
    expect(await seen(at)).toEqual(counts ? { ...plain, trustedBy: at } : plain);
  }
});

function submission() {
  const slurm = {
    sbatch: [],
    partition: null,
    account: null,
    qos: null,
    cpusPerTask: null,
    memory: null,
    nodes: null,
    exclude: null,
  };
  return {
    script: "/a/script.sh",
    attemptFolder: "/a",
    jobName: "j",
    spec: { slurm, limitMs: null, cwd: "/" } as unknown as JobSpec,
    after: [],
    notBeforeMs: null,
    environment: {},
  };
}
