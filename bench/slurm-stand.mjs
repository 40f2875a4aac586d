// A real Slurm for the bench: the one that STINT_TEST_SLURM_CONF names, or the one of test/cluster/up.sh where it runs.
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync } from "node:fs";
import { join } from "node:path";
import { cleanEnvironment } from "./stand.mjs";

const TEST_USER = process.env.TEST_USER ?? "alice";

/** Null where no controller answers. */
export function openSlurm(stand) {
  const conf =
    process.env.STINT_TEST_SLURM_CONF ?? join(process.env.STATE_DIR ?? "/var/tmp/stint-cluster", "etc/slurm.conf");
  if (!existsSync(conf)) return null;
  const slurm = new Slurm(stand, conf);
  return slurm.type("scontrol", ["ping"], "/").status === 0 ? slurm : null;
}

class Slurm {
  #stand;
  #environment;
  #user;

  constructor(stand, conf) {
    this.#stand = stand;
    this.#user = process.getuid() === 0 ? userOf(TEST_USER) : null;
    const home = this.#user === null ? {} : { HOME: this.#user.home, USER: this.#user.name, LOGNAME: this.#user.name };
    this.#environment = { ...cleanEnvironment(), ...home, SLURM_CONF: conf };
    // The cluster's user reads what is measured.
    chmodSync(stand.folder, 0o711);
  }

  /** A folder with an application that the cluster's user may write to. */
  project(name, application) {
    const folder = this.#stand.project(name, application);
    if (this.#user !== null) chownSync(folder, this.#user.uid, this.#user.gid);
    return folder;
  }

  /** Runs a command as the cluster's user, and waits for it. */
  type(program, args, cwd) {
    return spawnSync(program, args, { ...this.#as(cwd), encoding: "utf8", maxBuffer: 1 << 28 });
  }

  /** What `stint` prints; throws unless it ended with 0. */
  async stint(args, cwd) {
    const child = spawn(process.execPath, [this.#stand.cli, ...args], { ...this.#as(cwd), stdio: "pipe" });
    let out = "";
    let err = "";
    child.stdout.on("data", (data) => (out += data));
    child.stderr.on("data", (data) => (err += data));
    const status = await new Promise((resolve) => child.on("close", resolve));
    if (status !== 0) throw new Error(`stint ${args.join(" ")} ended with ${status}: ${err}`);
    return out;
  }

  /**
   * Requests of squeue, sbatch, scancel, scontrol and sacct's kin that the controller has served since it started, of all users.
   * Two of the three messages of a squeue (FED_INFO, PARTITION_INFO) are left out.
   */
  calls() {
    const { stdout } = this.type("sdiag", [], "/");
    const counts = [...stdout.matchAll(/^\s+REQUEST_(\w+)\s+\(\s*\d+\) count:(\d+)/gm)];
    return new Map(counts.filter(([, name]) => OF_COMMANDS.test(name)).map(([, name, count]) => [name, Number(count)]));
  }

  #as(cwd) {
    const user = this.#user === null ? {} : { uid: this.#user.uid, gid: this.#user.gid };
    return { cwd, env: this.#environment, ...user };
  }
}

const OF_COMMANDS =
  /^(JOB_INFO(_SINGLE)?|JOB_USER_INFO|JOB_STEP_INFO|NODE_INFO(_SINGLE)?|BUILD_INFO|SUBMIT_BATCH_JOB|KILL_JOB|CANCEL_JOB_STEP|UPDATE_JOB|PING)$/;

function userOf(name) {
  const { stdout } = spawnSync("getent", ["passwd", name], { encoding: "utf8" });
  const [, , uid, gid, , home] = stdout.trim().split(":");
  if (uid === undefined) throw new Error(`there is no user ${name}`);
  return { name, uid: Number(uid), gid: Number(gid), home };
}

export function more(before, after) {
  return [...after].reduce((sum, [name, count]) => sum + count - (before.get(name) ?? 0), 0);
}
