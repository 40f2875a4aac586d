/** What a real Slurm 22.05 printed, against values read off by hand. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  activePhase,
  classifyError,
  decodeWaitStatus,
  environmentOutsideJob,
  errorLine,
  expandNodeList,
  filePattern,
  isDoubtfulEnd,
  isFinalRun,
  limitMinutes,
  memoryBytes,
  nodesReportedEnd,
  nodesTogether,
  parseAssociations,
  parseConfig,
  parseExitStatus,
  parseNodes,
  parsePartitions,
  parseQos,
  parseSacct,
  parseSbatch,
  parseSqueue,
  parseState,
  parseTimeStamp,
  runsByJob,
  sbatchArguments,
} from "../../src/slurm/index.ts";
import { jobSpec } from "../support/job-spec.ts";

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url), "utf8");
const utc = (text: string) => Date.parse(`2026-11-30T${text}Z`);

describe("squeue", () => {
  it("reads rows whatever the paths in them hold", () => {
    const rows = parseSqueue(fixture("squeue.txt"));
    expect(rows.map(({ id, state, reason }) => [id, state, reason])).toEqual([
      ["49", "FAILED", "NonZeroExitCode"],
      ["52", "PENDING", "Dependency"],
      ["51", "RUNNING", null],
      ["53", "RUNNING", null],
      ["50", "COMPLETING", null],
    ]);
    expect(rows[0]).toEqual({
      id: "49",
      cluster: "stint",
      state: "FAILED",
      reason: "NonZeroExitCode",
      exit: { exitCode: 7, signal: 0 },
      submitAtMs: utc("20:20:01"),
      startAtMs: utc("20:20:02"),
      endAtMs: utc("20:20:03"),
      timeLimit: "30:00",
      nodeList: "n1",
      partition: "main",
      account: "lab",
      qos: "normal",
      cpus: 1,
      resources: "cpu=1,mem=250M,node=1,billing=1",
      restarts: 0,
      command: '/home/alice/a %j "b" \'c\nd|e/script.sh',
    });
    expect(rows[1]).toMatchObject({ startAtMs: null, endAtMs: null, nodeList: "" });
    expect(rows[2]).toMatchObject({ nodeList: "n[1-2]", cpus: 2, endAtMs: utc("20:50:02") });
    expect(rows[3]).toMatchObject({ endAtMs: null });
    expect(rows[4]).toMatchObject({ restarts: 1 });
  });

  it("takes the last field to the row's end: a path may hold the character between two fields", () => {
    const text = fixture("squeue.txt").replace("/home/alice/a %j", "/home/alice/a\u001f%j");
    expect(parseSqueue(text)[0]?.command).toBe('/home/alice/a\u001f%j "b" \'c\nd|e/script.sh');
  });

  it("takes an empty answer for no rows and refuses what is cut off", () => {
    expect(parseSqueue("")).toEqual([]);
    expect(parseSqueue("\n")).toEqual([]);
    expect(() => parseSqueue(fixture("squeue.txt").slice(0, 80))).toThrow("expected 17");
  });
});

describe("sacct", () => {
  it("reads ends with their steps", () => {
    const runs = parseSacct(fixture("sacct-ends.txt"));
    expect(runs.map((run) => [run.id, run.state.word, run.state.cancelledByUid, run.exit])).toEqual([
      ["7", "FAILED", null, { exitCode: 7, signal: 0 }],
      ["9", "CANCELLED", 1001, { exitCode: 0, signal: 0 }],
      ["11", "COMPLETED", null, { exitCode: 0, signal: 0 }],
    ]);
    expect(runs[1]).toMatchObject({
      submitAtMs: utc("20:06:29"),
      startAtMs: utc("20:06:29"),
      endAtMs: utc("20:06:33"),
      nodeList: "n1",
      steps: [
        { step: "batch", exit: { exitCode: 0, signal: 15 } },
        { step: "extern", exit: { exitCode: 0, signal: 0 } },
      ],
    });
    expect(runs.map(isFinalRun)).toEqual([true, true, true]);
    expect(runs.map(nodesReportedEnd)).toEqual([true, true, true]);
  });

  it("sees that nobody reported the end where a node was cut off, whatever the state says", () => {
    const runs = parseSacct(fixture("sacct-cut-off.txt"));
    expect(runs.map((run) => [run.state.word, nodesReportedEnd(run)])).toEqual([
      ["TIMEOUT", false],
      ["CANCELLED", false],
      ["NODE_FAIL", false],
    ]);
  });

  it("keeps the runs of a requeued job in order, in whichever order they come", () => {
    const runs = parseSacct(fixture("sacct-requeued.txt"));
    for (const given of [runs, runs.toReversed()])
      expect(
        runsByJob(given)
          .get("40")
          ?.map((run) => run.state.word),
      ).toEqual(["REQUEUED", "CANCELLED"]);
  });

  it("knows a job that never got a node, and an end that is not complete yet", () => {
    const [pending] = parseSacct(fixture("sacct-cancelled-pending.txt"));
    expect(expandNodeList(pending?.nodeList ?? "?")).toEqual([]);
    const [late] = parseSacct("92|FAILED|0:0|2026-11-30T18:02:41|2026-11-30T18:02:41|Unknown|n1\n");
    expect(late && isFinalRun(late)).toBe(false);
    expect(late && nodesReportedEnd(late)).toBeNull();
  });

  it("refuses rows of other fields", () => {
    expect(() => parseSacct("1|COMPLETED|0:0\n")).toThrow("has not the fields");
    expect(() => parseSacct("1|a|b c|x|COMPLETED|0:0|a|b|c\n")).toThrow("has not the fields");
  });
});

describe("states", () => {
  it.each([
    ["TIMEOUT", "TIMEOUT", null, null, false],
    ["CANCELLED by 1001", "CANCELLED", 1001, null, false],
    ["CANCELLED by 0", "CANCELLED", 0, null, false],
    ["CANCELLED", "CANCELLED", null, null, true],
    ["CANCELLED+", "CANCELLED", null, null, true],
    ["NODE_FAIL", "NODE_FAIL", null, null, true],
    ["BOOT_FAIL", "BOOT_FAIL", null, null, true],
    ["OUT_OF_MEMORY", "OUT_OF_MEMORY", null, null, false],
    ["COMPLETING", "COMPLETING", null, "completing", false],
    ["CONFIGURING", "CONFIGURING", null, "pending", false],
    ["REQUEUE_HOLD", "REQUEUE_HOLD", null, "pending", false],
    ["SUSPENDED", "SUSPENDED", null, "suspended", false],
    ["RESIZING", "RESIZING", null, "running", false],
    ["SOMETHING_NEW", "SOMETHING_NEW", null, "running", false],
  ])("%s", (text, word, cancelledByUid, phase, doubtful) => {
    const state = parseState(text);
    expect(state).toEqual({ word, cancelledByUid });
    expect(activePhase(word)).toBe(phase);
    expect(isDoubtfulEnd(state)).toBe(doubtful);
  });

  it("reads exit codes of both kinds", () => {
    expect(parseExitStatus("0:125")).toEqual({ exitCode: 0, signal: 125 });
    expect(parseExitStatus("")).toBeNull();
    expect(decodeWaitStatus("1792")).toEqual({ exitCode: 7, signal: 0 });
    expect(decodeWaitStatus("9")).toEqual({ exitCode: 0, signal: 9 });
    // A launch failure: accounting shows 0:53 for it.
    expect(decodeWaitStatus("4021")).toEqual({ exitCode: 0, signal: 53 });
    expect(decodeWaitStatus("")).toBeNull();
  });

  it("reads times, and takes what is none for none", () => {
    expect(parseTimeStamp("2026-11-30T20:20:01")).toBe(utc("20:20:01"));
    for (const text of ["N/A", "NONE", "Unknown", "None", "", "2026-13-40T20:20:01"])
      expect(parseTimeStamp(text)).toBeNull();
  });
});

describe("sacctmgr", () => {
  it("reads limits, and takes an empty field for none", () => {
    expect(parseAssociations("lab||4||1-00:00:00|normal\nguests|short|||| \n")).toMatchObject([
      { account: "lab", partition: "", maxJobs: 4, maxSubmit: null, maxWallMs: 86_400_000, defaultQos: "normal" },
      { account: "guests", partition: "short", maxJobs: null, maxSubmit: null, maxWallMs: null },
    ]);
    expect(parseQos("normal|2||\nlong||10|7-00:00:00\n")).toEqual([
      { name: "normal", maxSubmitPerUser: 2, maxJobsPerUser: null, maxWallMs: null },
      { name: "long", maxSubmitPerUser: null, maxJobsPerUser: 10, maxWallMs: 604_800_000 },
    ]);
    expect(() => parseQos("sacctmgr: something else")).toThrow("expected 4");
  });
});

describe("scontrol", () => {
  it("reads the configuration", () => {
    expect(parseConfig(fixture("config.txt"))).toEqual({
      clusterName: "stint",
      version: "22.05.8",
      killWaitMs: 3_000,
      messageTimeoutMs: 10_000,
      minJobAgeMs: 10_000,
      maxArraySize: null,
      tracking: "cgroup",
      trackingType: "proctrack/cgroup",
      accounting: true,
      requeues: true,
      scrontab: false,
    });
    expect(parseConfig("ClusterName = x\nProctrackType = proctrack/linuxproc\n")).toMatchObject({
      killWaitMs: 30_000,
      tracking: "other",
      accounting: false,
    });
    expect(parseConfig("ClusterName = x\nScronParameters = enable\nJobRequeue              = 0\n")).toMatchObject({
      scrontab: true,
      requeues: false,
    });
    expect(() => parseConfig("")).toThrow("ClusterName");
  });

  it("reads partitions", () => {
    expect(parsePartitions(fixture("partitions.txt"))).toEqual([
      {
        name: "main",
        isDefault: true,
        state: "UP",
        maxTimeMs: null,
        defaultTimeMs: 1_800_000,
        allowAccounts: "all",
        allocNodes: "ALL",
      },
      {
        name: "short",
        isDefault: false,
        state: "DRAIN",
        maxTimeMs: 300_000,
        defaultTimeMs: null,
        allowAccounts: ["lab", "guests"],
        allocNodes: "login[1-2]",
      },
    ]);
  });

  it("reads nodes, and puts them together", () => {
    const nodes = parseNodes(fixture("nodes.txt"));
    const bootAtMs = utc("19:49:28");
    expect(nodes).toEqual([
      { name: "n1", answering: true, bootAtMs },
      { name: "n3", answering: true, bootAtMs },
    ]);
    const later = bootAtMs + 1_000;
    expect(nodesTogether(["n1", "n3"], nodes, later)).toBe("answering");
    expect(nodesTogether(["n1", "n3"], nodes, bootAtMs - 1_000)).toBe("rebooted");
    expect(nodesTogether(["n1"], nodes, null)).toBe("answering");
    expect(nodesTogether(["n1", "n9"], nodes, later)).toBe("silent");
  });

  it.each([
    ["IDLE", true],
    ["MIXED+DRAIN", true],
    ["ALLOCATED+COMPLETING", true],
    ["DOWN", false],
    ["DOWN*", false],
    ["IDLE*", false],
    ["ALLOCATED+COMPLETING+NOT_RESPONDING", false],
    ["IDLE+CLOUD+POWERED_DOWN", false],
    ["UNKNOWN", false],
  ])("node state %s", (state, answering) => {
    expect(parseNodes(`NodeName=n1 Arch=x State=${state} ThreadsPerCore=1`)).toEqual([
      { name: "n1", answering, bootAtMs: null },
    ]);
  });
});

describe("node lists", () => {
  it.each([
    ["n1", ["n1"]],
    ["n[1-3,7],login", ["n1", "n2", "n3", "n7", "login"]],
    ["n[08-11]", ["n08", "n09", "n10", "n11"]],
    ["r[1-2]n[1-2]-ib", ["r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib"]],
    ["None assigned", []],
    ["(null)", []],
    ["", []],
  ])("%s", (text, names) => {
    expect(expandNodeList(text)).toEqual(names);
  });

  it("gives back any range it is given", () => {
    fc.assert(
      fc.property(fc.nat(500), fc.nat(40), fc.integer({ min: 1, max: 5 }), (from, more, width) => {
        const pad = (n: number) => String(n).padStart(width, "0");
        const names = expandNodeList(`a[${pad(from)}-${pad(from + more)}],b`);
        expect(names).toEqual([...Array.from({ length: more + 1 }, (_, i) => `a${pad(from + i)}`), "b"]);
      }),
    );
  });

  it("refuses what it can't read", () => {
    for (const text of ["n[1-2", "n[2-1]", "n[a-b]", "n[1-999999999]"])
      expect(() => expandNodeList(text)).toThrow(RangeError);
  });
});

describe("errors", () => {
  it.each([
    ["slurm_load_jobs error: Unable to contact slurm controller (connect failure)", "unreachable"],
    ["sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", "unreachable"],
    ["sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received", "unreachable"],
    ["slurm_load_jobs error: Invalid job id specified", "no-such-job"],
    [
      "sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
      "transient",
    ],
    [
      "sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
      "transient",
    ],
    ["sbatch: error: Batch job submission failed: Required partition not available (inactive or drain)", "transient"],
    [
      "sbatch: error: QOSMaxWallDurationPerJobLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
      "permanent",
    ],
    [
      "sbatch: error: invalid partition specified: nosuch\nsbatch: error: Batch job submission failed: Invalid partition name specified",
      "permanent",
    ],
    [
      "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
      "permanent",
    ],
    ["sbatch: error: Batch job submission failed: Invalid qos specification", "permanent"],
    ["sbatch: unrecognized option '--bogus'\nTry \"sbatch --help\" for more information", "permanent"],
    ["sbatch: error: Batch job submission failed: Requested node configuration is not available", "permanent"],
  ])("%s", (stderr, kind) => {
    expect(classifyError(stderr)).toBe(kind);
  });

  it("makes one line of it", () => {
    expect(
      errorLine(
        "sbatch: error: invalid partition specified: x\nsbatch: error: Batch job submission failed: Invalid partition name specified\n",
      ),
    ).toBe("invalid partition specified: x; Batch job submission failed: Invalid partition name specified");
  });
});

describe("sbatch", () => {
  const { slurm } = jobSpec();
  const job = {
    script: "/a/script.sh",
    attemptFolder: "/a",
    jobName: "j",
    slurm,
    limitMs: null,
    delayMs: null,
    after: [],
  };

  it("passes only what was set", () => {
    expect(sbatchArguments(job)).toEqual([
      "--parsable",
      "--no-requeue",
      "--open-mode=append",
      "--job-name=j",
      "--chdir=/a",
      "--output=/a/scheduler.log",
      "/a/script.sh",
    ]);
  });

  it("passes everything that was set, ours behind the user's own", () => {
    const args = sbatchArguments({
      ...job,
      slurm: {
        ...slurm,
        partition: "long",
        account: "lab",
        qos: "low",
        cpusPerTask: 4,
        memory: "8G",
        nodes: "2",
        exclude: "n1,n2",
        sbatch: ["--gres=gpu:1", "--output=x"],
      },
      limitMs: 90_001,
      delayMs: 1_001,
      after: ["4", "5"],
    });
    expect(args.slice(0, 10)).toEqual([
      "--gres=gpu:1",
      "--output=x",
      "--partition=long",
      "--account=lab",
      "--qos=low",
      "--cpus-per-task=4",
      "--mem=8G",
      "--nodes=2",
      "--exclude=n1,n2",
      "--time=2",
    ]);
    expect(args.slice(-3)).toEqual(["--dependency=afterany:4:5", "--begin=now+2", "/a/script.sh"]);
  });

  it("rounds limits up to minutes, never to none", () => {
    expect([1, 60_000, 60_001, 3_600_000].map(limitMinutes)).toEqual([1, 1, 2, 60]);
  });

  it("writes the path of the log so that Slurm takes it as it stands", () => {
    expect(filePattern("/a %j/b")).toBe("/a %%j/b");
    expect(filePattern("/a\\ %j/b")).toBe("/a\\\\ %j/b");
  });

  it("reads the answer", () => {
    expect(parseSbatch("42\n")).toEqual({ id: "42", cluster: null });
    expect(parseSbatch("a site's greeting\n42;other\n")).toEqual({ id: "42", cluster: "other" });
    expect(parseSbatch("Submitted batch job 42\n")).toBeNull();
    expect(parseSbatch("")).toBeNull();
  });
});

it("reads memory in Slurm's units", () => {
  expect(memoryBytes("cpu=1,mem=250M,node=1")).toBe(262_144_000);
  expect(memoryBytes("mem=1.5G")).toBe(1_610_612_736);
  expect(memoryBytes("cpu=1,mem=100")).toBe(104_857_600);
  expect(memoryBytes("cpu=1,gres/gpumem=5G")).toBeNull();
});

it("keeps the environment but for what belongs to a job", () => {
  expect(
    environmentOutsideJob({
      PATH: "/bin",
      SLURM_CONF: "/etc/slurm.conf",
      SLURM_JOB_ID: "1",
      SLURMD_NODENAME: "n1",
      SBATCH_PARTITION: "x",
      PMI_RANK: "0",
      PMI2_x: "1",
      PMIX_RANK: "0",
      STINT_MARK: "m",
      STINT_RESUME: "1",
      STINT_DIR: "/d",
      SLURMY: "kept",
      EMPTY: "",
      NOTHING: undefined,
    }),
  ).toEqual({ PATH: "/bin", SLURM_CONF: "/etc/slurm.conf", STINT_DIR: "/d", SLURMY: "kept", EMPTY: "" });
});
