/** `stint doctor`, with Slurm's commands as scripts; what runs on a "node" runs really, on this machine. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type SlurmCommands, slurmCommands } from "./slurm-commands.ts";
import { newProject, type TestProject } from "./stint.ts";

interface Finding {
  readonly what: string;
  readonly level: "ok" | "warning" | "problem";
  readonly found: string;
  readonly advice: string | null;
}

const CONFIG = (more: readonly string[] = []): string =>
  [
    "ClusterName = c",
    "SLURM_VERSION = 23.11.4",
    "ProctrackType = proctrack/cgroup",
    "AccountingStorageType = accounting_storage/slurmdbd",
    "KillWait = 30 sec",
    "MinJobAge = 300 sec",
    ...more,
  ].join("\\n");

const PARTITIONS = [
  "PartitionName=main Default=YES AllowAccounts=ALL DefaultTime=00:30:00 MaxTime=UNLIMITED State=UP",
  "PartitionName=short Default=NO AllowAccounts=lab DefaultTime=NONE MaxTime=00:05:00 State=UP",
  "PartitionName=old Default=NO AllowAccounts=ALL DefaultTime=NONE MaxTime=00:05:00 State=DOWN",
].join("\\n");

/** A cluster that answers what doctor asks. */
function siteOf(project: TestProject, config = CONFIG(), limits = "lab||||||"): SlurmCommands {
  const slurm = slurmCommands(project.folder);
  slurm.program("scontrol", [
    `case "$*" in *partition*) printf '${PARTITIONS}\\n';; *ping*) echo 'Slurmctld(primary) at c is UP';; *) printf '${config}\\n';; esac`,
  ]);
  slurm.program("sacctmgr", [
    `case "$*" in *assoc*) printf '${limits}\\n' | cut -d'|' -f1-6;; *) printf 'normal|||\\n';; esac`,
  ]);
  return slurm;
}

async function findingsOf(
  project: TestProject,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{
  readonly status: number | null;
  readonly of: (what: string) => Finding | undefined;
  readonly all: readonly Finding[];
}> {
  const ran = await project.stint(["doctor", "--json", ...args], { env });
  const all = (JSON.parse(ran.stdout) as { findings: readonly Finding[] }).findings;
  return { status: ran.status, all, of: (what) => all.find((finding) => finding.what === what) };
}

test("each finding says how bad it is, what was found and what to do", async () => {
  const project = newProject();
  const slurm = siteOf(project);
  const { status, of, all } = await findingsOf(project, [], { PATH: slurm.path });
  expect(status).toBe(0);
  expect(of("slurm")).toMatchObject({ level: "ok", found: "23.11.4, cluster c" });
  expect(of("tracking")).toMatchObject({ level: "ok" });
  expect(of("accounting")).toMatchObject({ level: "ok" });
  expect(of("times")?.found).toContain("KillWait 30s");
  expect(of("partition")).toMatchObject({
    level: "ok",
    found: expect.stringContaining("main: no limit, 30m where a job names none"),
  });
  expect(of("limits")).toMatchObject({ level: "ok", found: expect.stringContaining("a chain keeps 3 there") });
  for (const { level, advice } of all) if (level !== "ok") expect(advice).toMatch(/\w/);
});

test("a cluster that cannot prove ends, keeps no accounts and is old", async () => {
  const project = newProject();
  const slurm = siteOf(
    project,
    "ClusterName = c\\nSLURM_VERSION = 20.11.9\\nProctrackType = proctrack/linuxproc\\nMinJobAge = 10 sec",
  );
  const { status, of } = await findingsOf(project, [], { PATH: slurm.path });
  expect(status).toBe(0);
  expect(of("slurm")?.level).toBe("warning");
  expect(of("tracking")).toMatchObject({
    level: "warning",
    advice: expect.stringContaining("stint resume JOB --over N"),
  });
  expect(of("accounting")).toMatchObject({ level: "warning", found: expect.stringContaining("none is kept") });
  expect(of("times")?.level).toBe("warning");
  expect(of("limits")).toBeUndefined();
  const trusting = join(project.folder, "site.yaml");
  writeFileSync(trusting, "trust: scheduler\n");
  const trusted = await findingsOf(project, [], { PATH: slurm.path, STINT_SITE: trusting });
  expect(trusted.of("tracking")).toMatchObject({ level: "ok", found: expect.stringContaining(`(${trusting}:1)`) });
  expect(trusted.of("site file")).toMatchObject({ level: "ok", found: `${trusting}: trust scheduler` });
});

test.each([
  [["-p", "short", "-t", "8"], "limit", "8m is above what short allows (5m): it would never start"],
  [["-p", "short", "--margin", "5m"], "margin", "5m leaves nothing of the limit of 5m in short"],
  [["-p", "nope"], "partition", "there is no partition nope"],
  [["-p", "old"], "partition", "old is DOWN: it starts no jobs"],
  [["-p", "short", "-A", "guests"], "account", "guests may not use short"],
  [["-A", "guests"], "account", "is not in account guests"],
])("what a job asks for is held against the site: %j", async (args, what, found) => {
  const project = newProject();
  const slurm = siteOf(project);
  const { status, of } = await findingsOf(project, args, { PATH: slurm.path });
  expect(of(what)).toMatchObject({ level: "problem", found: expect.stringContaining(found) });
  expect(status).toBe(1);
});

test("submit limits are held against what a chain keeps in the queue", async () => {
  const project = newProject();
  const slurm = siteOf(project, CONFIG(), "lab|||2||normal");
  const env = { PATH: slurm.path };
  const { of } = await findingsOf(project, [], env);
  expect(of("limits")).toMatchObject({ level: "warning", advice: expect.stringContaining("--ahead 1;") });
  expect((await findingsOf(project, ["--ahead", "1"], env)).of("limits")?.level).toBe("ok");
  const tasks = ["--tasks", "9", "--parallel", "2"];
  expect((await findingsOf(project, tasks, env)).of("limits")).toMatchObject({
    level: "warning",
    found: expect.stringContaining("2 tasks at a time keep 6 there"),
    advice: expect.stringContaining("--ahead 0;"),
  });
  siteOf(project, CONFIG(), "lab|||0||normal");
  expect((await findingsOf(project, [], env)).of("limits")?.level).toBe("problem");
});

test("a forbidden partition, and a site file that cannot be used", async () => {
  const project = newProject();
  const slurm = siteOf(project);
  const site = join(project.folder, "site.yaml");
  writeFileSync(site, "forbidden-partitions: [main]\n");
  const env = { PATH: slurm.path, STINT_SITE: site };
  const { of } = await findingsOf(project, [], env);
  expect(of("partition")).toMatchObject({ level: "problem", found: `main is forbidden for chains (${site}:1)` });
  writeFileSync(site, "pol-floor: 1s\n");
  const broken = await findingsOf(project, [], env);
  expect(broken.status).toBe(1);
  expect(broken.of("site file")).toMatchObject({
    level: "problem",
    found: `${site}:1:1: unknown key pol-floor; did you mean poll-floor?`,
  });
});

test("the checkpoint's folder and the user's quota, of a spec file and of a job on file", async () => {
  const project = newProject();
  const slurm = siteOf(project);
  slurm.program("quota", [
    "echo 'Disk quotas for user ann (uid 1001):'",
    "echo '     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace'",
    "echo 'nas:/home  9500 10000 12000 0 70 0 0 0'",
    "exit 1",
  ]);
  const env = { PATH: slurm.path };
  writeFileSync(
    join(project.folder, "sim.yaml"),
    "command: 'true'\ncheckpoint: {path: no/such/state.txt}\nlimit: 1h\n",
  );
  const { of, status } = await findingsOf(project, ["sim.yaml"], env);
  expect(status).toBe(1);
  expect(of("checkpoint")).toMatchObject({ level: "problem", found: expect.stringContaining("no/such") });
  expect(of("quota")).toMatchObject({ level: "warning", found: "9.28 MiB of 9.77 MiB used on nas:/home" });
  mkdirSync(join(project.folder, "no", "such"), { recursive: true });
  expect((await findingsOf(project, ["sim.yaml"], env)).of("checkpoint")?.level).toBe("ok");
  expect((await findingsOf(project, [], env)).of("checkpoint")).toBeUndefined();
  const ran = await project.stint([
    "run",
    "--quiet",
    "--scheduler",
    "local",
    "--checkpoint",
    "s.txt",
    "--name",
    "x",
    "--",
    "true",
  ]);
  expect(ran.stderr).toBe("");
  expect((await findingsOf(project, ["x"], env)).of("checkpoint")).toMatchObject({
    found: `s.txt can be saved in ${project.folder}`,
  });
  expect((await project.stint(["doctor", "nope"], { env })).status).toBe(3);
});

test("the one line for scrontab runs as it stands, from anywhere", async () => {
  const project = newProject();
  await project.stint(["run", "--quiet", "--scheduler", "local", "--name", "x", "--", "true"]);
  const slurm = siteOf(project);
  slurm.program("scrontab", ["echo 'scrontab: fatal: scrontab is disabled on this cluster' >&2; exit 1"]);
  const env = { PATH: slurm.path };
  const off = await findingsOf(project, [], env);
  expect(off.of("scrontab")?.found).toContain("scrontab is off at this site");
  const line = off.of("scrontab")?.advice ?? "";
  expect(line).toMatch(/^\*\/10 \* \* \* \* cd .* resume --all --quiet$/);
  const { spawnSync } = await import("node:child_process");
  const ran = spawnSync("/bin/sh", ["-c", line.replace(/^(\S+ ){5}/, "")], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
  });
  expect(String(ran.stdout)).toBe("no chain is stranded\n");
  slurm.program("scrontab", ["echo '# none yet'"]);
  expect((await findingsOf(project, [], env)).of("scrontab")?.found).toContain("works here");
  slurm.program("scrontab", [`echo '${line.replaceAll("'", "")}'`]);
  expect((await findingsOf(project, [], env)).of("scrontab")?.advice).toBe(null);
});

/** sbatch that starts the script at once on this machine, as a job of id 7. */
const RUNS_AT_ONCE = [
  'case "$*" in *--test-only*) exit 0;; esac',
  'for script; do :; done; (SLURM_JOB_ID=7 sh "$script" >/dev/null 2>&1 </dev/null &); echo "$script" > jobs/7; echo 7',
];
const KNOWS_ITSELF = ['case "$*" in *%i*) echo 7; exit;; esac'];

function onNode(slurm: SlurmCommands, sbatch: readonly string[] = RUNS_AT_ONCE): void {
  slurm.program("sbatch", sbatch);
  slurm.program("squeue", KNOWS_ITSELF);
  slurm.program("scancel", ['echo "$*" >> cancelled', "echo slurm 23.11.4"]);
}

test("--submit-test: a real job looks at its node, and nothing of it stays", async () => {
  const project = newProject();
  const slurm = siteOf(project);
  onNode(slurm);
  const { status, of, all } = await findingsOf(project, ["--submit-test"], { PATH: slurm.path });
  const report = all.filter(({ what }) => what.startsWith("node: "));
  expect(report.map(({ what, level, found }) => `${what} ${level}${level === "ok" ? "" : `: ${found}`}`)).toEqual([
    "node: folder ok",
    "node: Node ok",
    "node: address space ok",
    "node: cgroup ok",
    "node: perl ok",
    "node: Slurm ok",
    "node: sbatch ok",
    "node: clock ok",
  ]);
  expect(of("test job")?.found).toMatch(/^7 ran on \S+, \d+s after its submit$/);
  expect(of("node: Node")?.found).toContain(process.version);
  expect(status).toBe(0);
  expect(existsSync(join(project.folder, ".stint"))).toBe(false);
});

test("--submit-test on a node where little is as it is here", async () => {
  const project = newProject();
  const slurm = siteOf(project);
  onNode(slurm, [
    'case "$*" in *--test-only*) echo "allocation failure: Access/permission denied" >&2; exit 1;; esac',
    'for script; do :; done; sed -i "s/^say token .*/say token nothing/; s/^say node .*/say node \'not found\'/; s/^say addresses.*/say addresses 500000/; s/^say end.*/say end 1000000/" "$script"',
    '(SLURM_JOB_ID=8 sh "$script" >/dev/null 2>&1 </dev/null &); echo 8',
  ]);
  const { status, of } = await findingsOf(project, ["--submit-test"], { PATH: slurm.path });
  expect(status).toBe(1);
  for (const what of ["node: folder", "node: Node", "node: address space", "node: Slurm", "node: sbatch"])
    expect(of(what), what).toMatchObject({ level: "problem" });
  expect(of("node: sbatch")?.found).toContain("Access/permission denied");
  expect(of("node: clock")).toMatchObject({ level: "warning", found: expect.stringContaining("behind this host's") });
});

test("--submit-test that the queue does not start in time is cancelled, and leaves with 75", async () => {
  const project = newProject();
  const slurm = siteOf(project);
  slurm.program("scancel", ['echo "$*" >> cancelled']);
  slurm.program("sbatch", ['for script; do :; done; echo "$script" > jobs/9; echo Priority > reasons/9; echo 9']);
  const ran = await project.stint(["doctor", "--submit-test", "--timeout", "1s"], { env: { PATH: slurm.path } });
  expect(ran.status, ran.stdout).toBe(75);
  expect(ran.stdout).toContain(
    "the queue did not start 9 in time, it is cancelled (it is queued (Priority): jobs of higher priority are before it in partition main)",
  );
  expect(ran.stderr).toContain("test job: it is queued (Priority)");
  expect(slurm.calls("scancel")).toBe(1);
  expect(existsSync(join(project.folder, ".stint"))).toBe(false);
});

test("--submit-test: Ctrl-C cancels the job; what the project holds stays", async () => {
  const project = newProject();
  await project.stint(["run", "--quiet", "--scheduler", "local", "--name", "x", "--", "true"]);
  const before = readdirSync(join(project.folder, ".stint")).sort();
  const slurm = siteOf(project);
  slurm.program("sbatch", ['for script; do :; done; echo "$script" > jobs/9; echo 9']);
  const running = project.start(["doctor", "--submit-test"], { env: { PATH: slurm.path } });
  await running.shows("test job: it is queued");
  running.child.kill("SIGINT");
  const ran = await running.ended;
  expect(ran.status).toBe(130);
  expect(ran.stdout).toContain("broken off, job 9 is cancelled");
  expect(slurm.calls("scancel")).toBe(1);
  expect(readdirSync(join(project.folder, ".stint")).sort()).toEqual(before);
});

test("--submit-test that is refused says what Slurm said", async () => {
  const project = newProject();
  const slurm = siteOf(project);
  slurm.program("sbatch", ["echo 'sbatch: error: Batch job submission failed: Invalid qos specification' >&2; exit 1"]);
  const { status, of } = await findingsOf(project, ["--submit-test"], { PATH: slurm.path });
  expect(status).toBe(1);
  expect(of("test job")).toMatchObject({
    level: "problem",
    found: expect.stringContaining("Invalid qos specification"),
  });
});
