/**
 * A real Slurm for the tests: the one that STINT_TEST_SLURM_CONF names, or the one of up.sh, started when this process is
 * root. Jobs and commands run as a user who is not root.
 */
import { execFile } from "node:child_process";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { readStat } from "../../src/host/index.ts";
import { type RunCommand, runCommand } from "../../src/schedulers/slurm/index.ts";

export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Cluster {
  readonly slurmConf: string;
  /** PATH, SLURM_CONF, HOME and USER of the test user, and nothing else. */
  readonly environment: Readonly<Record<string, string>>;
  readonly user: { readonly name: string; readonly uid: number; readonly gid: number };
  /** Without cgroups nothing but an attempt's own testimony proves that its processes are gone. */
  readonly tracking: "cgroup" | "other";
  /** Runs a program as the test user; never rejects for an exit status. */
  runAsUser(program: string, args: readonly string[], options?: RunAsUserOptions): Promise<Ended>;
  /** The same as slurmScheduler wants it. */
  readonly runCommand: RunCommand;
  /** A new folder that belongs to the test user and that every node reaches. */
  userFolder(name: string): string;
  /** null where the cluster is not this test's own: nothing may be stopped there. */
  readonly faults: Faults | null;
}

export interface RunAsUserOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly timeoutMs?: number;
}

/** What breaks a cluster. Each of these must be undone by its counterpart. */
export interface Faults {
  /** Names of the cluster's nodes. */
  readonly nodes: readonly string[];
  /** Runs a program as root, who is the administrator of this cluster; rejects when it fails. */
  asAdmin(program: string, args: readonly string[]): Promise<string>;
  /** The node falls silent while its jobs go on: its slurmd is stopped. */
  cutOff(node: string): Promise<void>;
  /** Waits until the controller takes the node for usable again. */
  bringBack(node: string): Promise<void>;
  /** The node's slurmd is gone; what it has started lives on. */
  killNodeDaemon(node: string): Promise<void>;
  startNodeDaemon(node: string): Promise<void>;
  /** The administrator takes the node away: its jobs end as NODE_FAIL. */
  takeDown(node: string): Promise<void>;
  /** Jobs that come to the node never start: its Prolog fails. Slurm takes the node out of service for that. */
  failProlog(node: string): Promise<void>;
  /** Also after `takeDown`. */
  putInService(node: string): Promise<void>;
  stopController(): Promise<void>;
  continueController(): Promise<void>;
  /** The controller comes back from an empty disk: it knows no job, and its ids begin at `firstId`. There is no way back. */
  loseController(firstId: number): Promise<void>;
  /** sacct fails at once, or waits for an answer that does not come. What happens meanwhile reaches accounting late. */
  stopAccounting(how: "refuses" | "hangs"): Promise<void>;
  continueAccounting(): Promise<void>;
  /** The test user, or all of the user's account together, may have so many jobs in the queue and no more; null: any number. */
  limitSubmits(of: "user" | "account", most: number | null): Promise<void>;
  /** Nobody may submit to partition `short`. */
  closePartition(): Promise<void>;
  openPartition(): Promise<void>;
}

export type ClusterOrNot = Cluster | { readonly unavailable: string };

let answer: Promise<ClusterOrNot> | null = null;

/**
 * Starts or finds the cluster, once per process. Where there is none the reason is printed once; with
 * STINT_REQUIRE_CLUSTER=1 it is an error instead. Packages are installed only then, too.
 */
export function cluster(): Promise<ClusterOrNot> {
  answer ??= findCluster().then((found) => {
    if ("unavailable" in found) {
      if (required()) throw new Error(`no Slurm cluster for the tests: ${found.unavailable}`);
      process.stderr.write(`cluster tests are skipped: ${found.unavailable}\n`);
    }
    return found;
  });
  return answer;
}

/** Looks until `look` gives something else than null or undefined, and returns that. */
export async function until<T>(
  what: string,
  look: () => Promise<T | null | undefined> | T | null | undefined,
  { timeoutMs = 60_000, everyMs = 200 } = {},
): Promise<T> {
  const endAt = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined) return found;
    if (performance.now() > endAt) throw new Error(`waited ${timeoutMs / 1000} s in vain: ${what}`);
    await sleep(everyMs);
  }
}

const STATE_DIR = process.env.STATE_DIR ?? "/var/tmp/stint-cluster";
const OWN_CONF = join(STATE_DIR, "etc/slurm.conf");
const TEST_USER = process.env.TEST_USER ?? "alice";

async function findCluster(): Promise<ClusterOrNot> {
  const given = process.env.STINT_TEST_SLURM_CONF;
  const isRoot = process.getuid?.() === 0;
  const conf = given ?? OWN_CONF;
  if (given === undefined && isRoot) {
    const failed = await startCluster();
    if (failed !== null) return { unavailable: failed };
  }
  if ((await ping(conf)).exitCode !== 0) {
    const how = isRoot || given !== undefined ? "" : "; start test/cluster/up.sh as root, or set STINT_TEST_SLURM_CONF";
    return { unavailable: `no Slurm controller answers for ${conf}${how}` };
  }
  // scripts/test.mjs starts the cluster itself and names it.
  return theCluster(conf, await testUser(isRoot), await trackingOf(conf), isRoot && conf === OWN_CONF);
}

/** Whether a cluster of up.sh answers by now. */
export async function clusterRuns(): Promise<boolean> {
  return (await ping(OWN_CONF)).exitCode === 0;
}

async function ping(slurmConf: string): Promise<Ended> {
  // Without its file scontrol would look for a controller in the network for a minute.
  if (!existsSync(slurmConf)) return { exitCode: 1, stdout: "", stderr: `${slurmConf} is not there` };
  return execute("scontrol", ["ping"], { env: { ...process.env, SLURM_CONF: slurmConf } });
}

/** Settings of up.sh. */
type Settings = Readonly<Record<string, string>>;

/**
 * A second, small cluster beside the first, for what the first one cannot be: `stop` ends and removes it. Only where the first
 * is the tests' own, too.
 */
export async function anotherCluster(settings: Settings): Promise<Cluster & { stop(): Promise<void> }> {
  const stateDir = `${STATE_DIR}-second`;
  // Ports and nodes that are the first one's with something added: the same is done beside another first one.
  const first = readFileSync(OWN_CONF, "utf8");
  const port = Number(/^SlurmctldPort=(\d+)/m.exec(first)?.[1]) + 40;
  const prefix = `${/^NodeName=([A-Za-z-]+)/m.exec(first)?.[1]}second`;
  const own = { NODES: "1", ...settings, STATE_DIR: stateDir, BASE_PORT: String(port), NODE_PREFIX: prefix };
  const stop = async () => {
    await execute(fileURLToPath(new URL("down.sh", import.meta.url)), [], {
      env: { ...process.env, STATE_DIR: stateDir, WIPE: "1" },
    });
  };
  const failed = await startCluster(own);
  if (failed !== null) {
    await stop();
    throw new Error(failed);
  }
  const conf = join(stateDir, "etc/slurm.conf");
  return { ...theCluster(conf, await testUser(true), await trackingOf(conf), true), stop };
}

/** null, or why it did not work. */
async function startCluster(settings: Settings = {}): Promise<string | null> {
  const up = fileURLToPath(new URL("up.sh", import.meta.url));
  const env = { ...process.env, STATE_DIR, TEST_USER, INSTALL: required() ? "1" : "0", ...settings };
  const { exitCode, stderr } = await execute(up, [], { env, timeoutMs: 280_000 });
  return exitCode === 0 ? null : `up.sh failed: ${stderr.trim().split("\n").slice(-3).join(" | ")}`;
}

function required(): boolean {
  return process.env.STINT_REQUIRE_CLUSTER === "1";
}

interface TestUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  /** This process is root and must step down. */
  readonly stepDown: boolean;
}

async function testUser(isRoot: boolean): Promise<TestUser> {
  const who = isRoot ? TEST_USER : String(process.getuid?.());
  const { stdout } = await execute("getent", ["passwd", who], {});
  const [name = who, , uid, gid, , home = "/"] = stdout.trim().split(":");
  return { name, uid: Number(uid), gid: Number(gid), home, stepDown: isRoot };
}

async function trackingOf(slurmConf: string): Promise<Cluster["tracking"]> {
  const { stdout } = await execute("scontrol", ["show", "config"], { env: { ...process.env, SLURM_CONF: slurmConf } });
  return /^ProctrackType\s*= proctrack\/cgroup$/m.test(stdout) ? "cgroup" : "other";
}

function theCluster(slurmConf: string, user: TestUser, tracking: Cluster["tracking"], own: boolean): Cluster {
  const environment = {
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    SLURM_CONF: slurmConf,
    HOME: user.home,
    USER: user.name,
    LOGNAME: user.name,
  };
  const asUser = (program: string, args: readonly string[]): readonly [string, readonly string[]] =>
    user.stepDown
      ? ["setpriv", [`--reuid=${user.uid}`, `--regid=${user.gid}`, "--init-groups", "--", program, ...args]]
      : [program, args];
  return {
    slurmConf,
    environment,
    user: { name: user.name, uid: user.uid, gid: user.gid },
    tracking,
    runAsUser(program, args, options = {}) {
      const [file, argv] = asUser(program, args);
      return execute(file, argv, { ...options, env: { ...environment, ...options.environment } });
    },
    runCommand(program, args, { env, cwd, timeoutMs }) {
      const [file, argv] = asUser(program, args);
      return runCommand(file, argv, { env, cwd, timeoutMs });
    },
    userFolder(name) {
      const folder = mkdtempSync(join("/var/tmp", `stint-${name}-`));
      if (user.stepDown) chownSync(folder, user.uid, user.gid);
      return folder;
    },
    faults: own ? faults(dirname(dirname(slurmConf)), slurmConf) : null,
  };
}

function faults(stateFolder: string, slurmConf: string): Faults {
  const pidOf = (daemon: string) => Number(readFileSync(join(stateFolder, "run", `${daemon}.pid`), "utf8"));
  const send = (daemon: string, signal: NodeJS.Signals) => process.kill(pidOf(daemon), signal);
  const env = { ...process.env, SLURM_CONF: slurmConf };
  const asAdmin = async (program: string, args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<string> => {
    const { exitCode, stdout, stderr } = await execute(program, args, { env: { ...env, ...more } });
    if (exitCode !== 0) throw new Error(`${program} ${args.join(" ")}: exit ${exitCode}: ${stderr}`);
    return stdout;
  };
  const usable = (node: string) =>
    until(`${node} is usable again`, async () =>
      /^(idle|mix|alloc)$/m.test(await asAdmin("sinfo", ["-h", "-N", "-n", node, "-o", "%t"])) ? true : null,
    );
  const answers = () =>
    until("the controller answers again", async () => ((await ping(slurmConf)).exitCode === 0 ? true : null));
  const gone = (pid: number) =>
    until(`process ${pid} is gone`, () => (readStat(pid) === null || readStat(pid)?.state === "Z" ? true : null));
  const failingProlog = (node: string) => join(stateFolder, "etc", `prolog-fails.${node}`);
  const nodes = [...readFileSync(slurmConf, "utf8").matchAll(/^NodeName=(\S+)/gm)].map(([, name = ""]) => name);
  return {
    nodes,
    asAdmin,
    async cutOff(node) {
      send(`slurmd-${node}`, "SIGSTOP");
    },
    async bringBack(node) {
      send(`slurmd-${node}`, "SIGCONT");
      await usable(node);
    },
    async killNodeDaemon(node) {
      const pid = pidOf(`slurmd-${node}`);
      process.kill(pid, "SIGKILL");
      await gone(pid);
    },
    async startNodeDaemon(node) {
      await asAdmin("slurmd", ["-N", node]);
      await usable(node);
    },
    async takeDown(node) {
      await asAdmin("scontrol", ["update", `NodeName=${node}`, "State=DOWN", "Reason=test"]);
    },
    async failProlog(node) {
      writeFileSync(failingProlog(node), "");
    },
    async putInService(node) {
      rmSync(failingProlog(node), { force: true });
      // Taking it back into service is an error where it never left.
      await asAdmin("scontrol", ["update", `NodeName=${node}`, "State=RESUME"]).catch(() => "");
      await usable(node);
    },
    async stopController() {
      send("slurmctld", "SIGSTOP");
    },
    async continueController() {
      send("slurmctld", "SIGCONT");
      await answers();
    },
    async loseController(firstId) {
      const pid = pidOf("slurmctld");
      const preload = /^LD_PRELOAD=(.*)$/m.exec(readFileSync(`/proc/${pid}/environ`, "utf8").replaceAll("\0", "\n"));
      process.kill(pid, "SIGKILL");
      await gone(pid);
      const spool = join(stateFolder, "spool/ctld");
      rmSync(spool, { recursive: true, force: true });
      mkdirSync(spool);
      const conf = readFileSync(slurmConf, "utf8").replace(/^FirstJobId=.*\n/m, "");
      writeFileSync(slurmConf, `FirstJobId=${firstId}\n${conf}`);
      await asAdmin("slurmctld", ["-c", "-i"], { LD_PRELOAD: preload?.[1] ?? "" });
      await answers();
      await Promise.all(nodes.map(usable));
    },
    async stopAccounting(how) {
      if (how === "hangs") return void send("slurmdbd", "SIGSTOP");
      const pid = pidOf("slurmdbd");
      process.kill(pid, "SIGTERM");
      await gone(pid);
    },
    async continueAccounting() {
      if (existsSync(join(stateFolder, "run/slurmdbd.pid"))) send("slurmdbd", "SIGCONT");
      else await asAdmin("slurmdbd", []);
      await until("accounting answers again", async () =>
        (await execute("sacct", ["-n", "-X"], { env })).exitCode === 0 ? true : null,
      );
    },
    async limitSubmits(of, most) {
      const name = of === "user" ? TEST_USER : "lab";
      const limit = `${of === "user" ? "MaxSubmitJobs" : "GrpSubmitJobs"}=${most ?? -1}`;
      await asAdmin("sacctmgr", ["-i", "-Q", "modify", of, "where", `name=${name}`, "set", limit]);
    },
    async closePartition() {
      await asAdmin("scontrol", ["update", "PartitionName=short", "State=INACTIVE"]);
    },
    async openPartition() {
      await asAdmin("scontrol", ["update", "PartitionName=short", "State=UP"]);
    },
  };
}

interface ExecuteOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly timeoutMs?: number;
}

const execFileAsync = promisify(execFile);

async function execute(file: string, args: readonly string[], options: ExecuteOptions): Promise<Ended> {
  const { env = process.env, cwd = "/", timeoutMs = 60_000 } = options;
  try {
    const { stdout, stderr } = await execFileAsync(file, [...args], {
      env,
      cwd,
      timeout: timeoutMs,
      maxBuffer: 1 << 26,
    });
    return { exitCode: 0, stdout, stderr };
  } catch (error) {
    const failed = error as { code?: number | string; stdout?: string; stderr?: string; message: string };
    // A program that is not there has a word instead of a number: as the shell, 127.
    const exitCode = typeof failed.code === "number" ? failed.code : 127;
    return { exitCode, stdout: failed.stdout ?? "", stderr: failed.stderr || failed.message };
  }
}
