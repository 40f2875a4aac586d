/** Can stint work here? Each finding says what was looked at, what was found, and what to do. */
import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatBytes } from "../../core/index.ts";
import {
  cgroupCpu,
  errorCode,
  findProgram,
  ownCgroup,
  spaceAt,
  subreaperPrefix,
  thisMachine,
} from "../../host/index.ts";
import { loadSlurm } from "../../schedulers/index.ts";
import { environmentOutsideJob, errorLine } from "../../slurm/index.ts";
import { findProject, ownerUid, type Where } from "./project.ts";
import { runnerPath } from "./runtime-bundle.ts";

export interface Finding {
  readonly what: string;
  readonly level: "ok" | "warn" | "fail";
  readonly found: string;
  /** What to do; null where nothing has to be done. */
  readonly advice: string | null;
}

/** Looks at this machine and this folder. Writes nothing that stays. Never throws. */
export async function doctor(where: Where): Promise<readonly Finding[]> {
  return [
    nodeVersion(),
    runner(where),
    proc(),
    shell(where),
    perl(),
    cgroup(),
    addressSpace(),
    project(where),
    hardLinks(where),
    await freeSpace(where),
    await scheduler(where),
  ];
}

const OLDEST_NODE = [20, 19] as const;

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const enough = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  const found = `${process.versions.node} (${process.execPath})`;
  return enough ? ok("node", found) : fail("node", found, `install Node ${OLDEST_NODE.join(".")} or newer`);
}

function runner(where: Where): Finding {
  const path = runnerPath(where.environment);
  return path === null
    ? fail("runner", "dist/runner.mjs is missing", "install stint again (from a clone: npm run build)")
    : ok("runner", path);
}

function proc(): Finding {
  try {
    const { host, machineId } = thisMachine();
    return ok("/proc", `readable; this is ${host} (${machineId.slice(0, 12)}…)`);
  } catch (error) {
    return fail("/proc", error instanceof Error ? error.message : String(error), "run on Linux with /proc mounted");
  }
}

function shell({ environment }: Where): Finding {
  const bash = findProgram("bash", environment.PATH ?? "/usr/bin:/bin");
  return bash === null
    ? warn("bash", "not on PATH", "commands given as text need it; give them as a list, or behind --")
    : ok("bash", bash);
}

function perl(): Finding {
  return subreaperPrefix().length > 0
    ? ok("perl", "at hand: processes that leave their session are still found")
    : warn(
        "perl",
        "not at hand",
        "install perl, or let applications not fork twice: such processes are hard to find without it",
      );
}

function cgroup(): Finding {
  const path = ownCgroup();
  if (path !== null && cgroupCpu(path) !== null) return ok("cgroup", `${path} counts CPU and memory`);
  return ok("cgroup", "none that counts: CPU and memory are sampled from /proc, peaks are lower bounds");
}

const ENOUGH_ADDRESS_SPACE = 1_000_000_000;

function addressSpace(): Finding {
  const line = readText("/proc/self/limits")?.match(/^Max address space\s+(\S+)/m)?.[1] ?? "unlimited";
  if (line === "unlimited") return ok("address space", "unlimited");
  const bytes = Number(line);
  if (bytes >= ENOUGH_ADDRESS_SPACE) return ok("address space", formatBytes(bytes));
  return fail(
    "address space",
    `limited to ${formatBytes(bytes)}`,
    "ulimit -v unlimited: Node needs 1 GB of addresses, or it dies without a word",
  );
}

function project(where: Where): Finding {
  const found = findProject(where);
  if (found === null) return ok("project", `no .stint here yet: the first submit makes it in ${where.cwd}`);
  const owner = ownerUid(found.stintFolder);
  return owner === process.geteuid?.()
    ? ok("project", found.stintFolder)
    : fail(
        "project",
        `${found.stintFolder} belongs to uid ${owner}`,
        "submit from a folder of your own, or set STINT_DIR",
      );
}

function hardLinks(where: Where): Finding {
  const folder = findProject(where)?.stintFolder ?? where.cwd;
  const [one, other] = [join(folder, `.tmp-doctor-${randomUUID()}`), join(folder, `.tmp-doctor-${randomUUID()}`)];
  try {
    writeFileSync(one, "", { flag: "wx", mode: 0o600 });
    linkSync(one, other);
    return ok("hard links", `work in ${folder}`);
  } catch (error) {
    const code = errorCode(error) ?? String(error);
    if (code === "EACCES" || code === "EROFS" || code === "ENOSPC" || code === "EDQUOT")
      return fail(
        "hard links",
        `${folder} cannot be written (${code})`,
        "use a folder that can be written, with room left",
      );
    return warn(
      "hard links",
      `not in ${folder} (${code})`,
      "records are made by exclusive create instead: use a folder that has links, if you can",
    );
  } finally {
    for (const path of [one, other]) removeQuietly(path);
  }
}

const FEW_BYTES = 64 * 1024 * 1024;
const TOO_FEW_BYTES = 1024 * 1024;

async function freeSpace(where: Where): Promise<Finding> {
  const folder = findProject(where)?.stintFolder ?? where.cwd;
  try {
    const { freeBytes, freeInodes } = await spaceAt(folder);
    const found = `${formatBytes(freeBytes)} free in ${folder}`;
    if (freeBytes < TOO_FEW_BYTES) return fail("space", found, "free some space");
    if (freeInodes !== null && freeInodes < 1_000)
      return warn(
        "space",
        `room for ${freeInodes} more files in ${folder}`,
        "an attempt makes about 12 files: remove some",
      );
    return freeBytes < FEW_BYTES ? warn("space", found, "free some space before a long chain") : ok("space", found);
  } catch (error) {
    return fail("space", error instanceof Error ? error.message : String(error), "use another folder");
  }
}

async function scheduler({ environment }: Where): Promise<Finding> {
  const job = environment.SLURM_JOB_ID ?? "";
  if (job !== "") return ok("scheduler", `local by default: this is inside Slurm job ${job}`);
  const sbatch = findProgram("sbatch", environment.PATH ?? "");
  if (sbatch === null) return ok("scheduler", "local by default: no sbatch on PATH");
  const missing = ["squeue", "scancel", "scontrol"].filter(
    (name) => findProgram(name, environment.PATH ?? "") === null,
  );
  if (missing.length === 0) return controller(environment, sbatch);
  return fail("scheduler", `sbatch is there, but not ${missing.join(", ")}`, "put all of Slurm's commands on PATH");
}

const ANSWER_MS = 10_000;

/** sbatch on PATH says nothing about whether there is a Slurm behind it. */
async function controller(environment: Where["environment"], sbatch: string): Promise<Finding> {
  const { runCommand } = await loadSlurm();
  const options = { env: environmentOutsideJob(environment), cwd: "/", timeoutMs: ANSWER_MS };
  const ran = await runCommand("scontrol", ["ping"], options);
  const answers =
    ran.kind === "ended" && ran.exitCode === 0 && !(/is DOWN/.test(ran.stdout) && !/is UP/.test(ran.stdout));
  if (answers) return ok("scheduler", `slurm by default (${sbatch}), its controller answers`);
  const said =
    ran.kind === "ended"
      ? errorLine(ran.stderr) || errorLine(ran.stdout) || `exit status ${ran.exitCode}`
      : `no answer to scontrol ping within ${ANSWER_MS / 1_000} s`;
  return fail(
    "scheduler",
    `slurm by default (${sbatch}), but its controller does not answer: ${said}`,
    "wait for Slurm, or run on this machine with --scheduler local",
  );
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Another finding says that /proc is not there.
    return null;
  }
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It was never made.
  }
}

function ok(what: string, found: string): Finding {
  return { what, level: "ok", found, advice: null };
}

function warn(what: string, found: string, advice: string): Finding {
  return { what, level: "warn", found, advice };
}

function fail(what: string, found: string, advice: string): Finding {
  return { what, level: "fail", found, advice };
}
