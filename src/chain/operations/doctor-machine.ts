/** What this machine and this folder are like. */
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
import { type Finding, ok, problem, warning } from "./finding.ts";
import { findProject, ownerUid, type Where } from "./project.ts";
import { runnerPath } from "./runtime-bundle.ts";

export function machineFindings(where: Where): readonly Finding[] {
  return [nodeVersion(), glibc(), runner(where), proc(), shell(where), perl(), cgroup(), addressSpace()];
}

/** The project's folder, or the one in which it would be made. */
export async function folderFindings(where: Where): Promise<readonly Finding[]> {
  return [project(where), hardLinks(where), await freeSpace(where)];
}

const OLDEST_NODE = [20, 19] as const;

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const enough = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  const found = `${process.versions.node} (${process.execPath})`;
  return enough ? ok("node", found) : problem("node", found, `install Node ${OLDEST_NODE.join(".")} or newer`);
}

const OLDEST_GLIBC = [2, 28] as const;

/** Node does not run on an older one; on a node with another system than this it is the first thing to fail. */
function glibc(): Finding {
  const report = process.report.getReport() as { readonly header?: { readonly glibcVersionRuntime?: string } };
  const version = report.header?.glibcVersionRuntime ?? null;
  if (version === null) return warning("glibc", "this Node is not built for it", "use Node's own build for Linux");
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const enough = major > OLDEST_GLIBC[0] || (major === OLDEST_GLIBC[0] && minor >= OLDEST_GLIBC[1]);
  return enough ? ok("glibc", version) : problem("glibc", version, `Node needs ${OLDEST_GLIBC.join(".")} or newer`);
}

function runner(where: Where): Finding {
  const path = runnerPath(where.environment);
  return path === null
    ? problem("runner", "dist/runner.mjs is missing", "install stint again (from a clone: npm run build)")
    : ok("runner", path);
}

function proc(): Finding {
  try {
    const { host, machineId } = thisMachine();
    return ok("/proc", `readable; this is ${host} (${machineId.slice(0, 12)}…)`);
  } catch (error) {
    return problem("/proc", error instanceof Error ? error.message : String(error), "run on Linux with /proc mounted");
  }
}

function shell({ environment }: Where): Finding {
  const bash = findProgram("bash", environment.PATH ?? "/usr/bin:/bin");
  return bash === null
    ? warning("bash", "not on PATH", "commands given as text need it; give them as a list, or behind --")
    : ok("bash", bash);
}

function perl(): Finding {
  return subreaperPrefix().length > 0
    ? ok("perl", "at hand: processes that leave their session are still found")
    : warning(
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

/** Node reserves more than it uses; with less it dies without a word. */
export const ENOUGH_ADDRESS_SPACE = 1_000_000_000;

function addressSpace(): Finding {
  const line = readText("/proc/self/limits")?.match(/^Max address space\s+(\S+)/m)?.[1] ?? "unlimited";
  if (line === "unlimited") return ok("address space", "unlimited");
  const bytes = Number(line);
  if (bytes >= ENOUGH_ADDRESS_SPACE) return ok("address space", formatBytes(bytes));
  return problem(
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
    : problem(
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
      return problem(
        "hard links",
        `${folder} cannot be written (${code})`,
        "use a folder that can be written, with room left",
      );
    return warning(
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
    if (freeBytes < TOO_FEW_BYTES) return problem("space", found, "free some space");
    if (freeInodes !== null && freeInodes < 1_000)
      return warning(
        "space",
        `room for ${freeInodes} more files in ${folder}`,
        "an attempt makes about 12 files: remove some",
      );
    return freeBytes < FEW_BYTES ? warning("space", found, "free some space before a long chain") : ok("space", found);
  } catch (error) {
    return problem("space", error instanceof Error ? error.message : String(error), "use another folder");
  }
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
