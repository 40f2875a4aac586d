/**
 * A real Slurm for the tests: the one that STINT_TEST_SLURM_CONF names, or the one of up.sh, started when this process is
 * root. Jobs and commands run as a user who is not root.
 */
import { execFile } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
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
  /** The node falls silent while its jobs go on: its slurmd is stopped. */
  cutOff(node: string): Promise<void>;
  /** Waits until the controller takes the node for usable again. */
  bringBack(node: string): Promise<void>;
  stopController(): Promise<void>;
  continueController(): Promise<void>;
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

/** null, or why it did not work. */
async function startCluster(): Promise<string | null> {
  const up = fileURLToPath(new URL("up.sh", import.meta.url));
  const env = { ...process.env, STATE_DIR, TEST_USER, INSTALL: required() ? "1" : "0" };
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
  const send = (daemon: string, signal: NodeJS.Signals) => {
    const pid = Number(readFileSync(join(stateFolder, "run", `${daemon}.pid`), "utf8"));
    process.kill(pid, signal);
  };
  const env = { ...process.env, SLURM_CONF: slurmConf };
  return {
    async cutOff(node) {
      send(`slurmd-${node}`, "SIGSTOP");
    },
    async bringBack(node) {
      send(`slurmd-${node}`, "SIGCONT");
      await until(`${node} is usable again`, async () => {
        const { stdout } = await execute("sinfo", ["-h", "-N", "-n", node, "-o", "%t"], { env });
        return /^(idle|mix|alloc)$/m.test(stdout) ? true : null;
      });
    },
    async stopController() {
      send("slurmctld", "SIGSTOP");
    },
    async continueController() {
      send("slurmctld", "SIGCONT");
      await until("the controller answers again", async () => ((await ping(slurmConf)).exitCode === 0 ? true : null));
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
