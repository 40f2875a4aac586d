/** Disks that a test may fill, freeze or make read-only, and that are well again before anything is cleaned up. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterEach, onTestFinished, type TestContext } from "vitest";
import type { JobSpec } from "../../src/core/index.ts";
import { eventually, Project, runnerBundle } from "../local/harness.ts";

export const isRoot = process.getuid?.() === 0;

/** Mounting is root's. */
export function needsRoot(context: TestContext): void {
  context.skip(!isRoot, "mounting a file system takes root");
}

const healers: (() => void)[] = [];

// Registered after the harness's own, so that it runs before it: projects are removed from healthy disks.
afterEach(() => {
  for (const heal of healers.splice(0).reverse()) heal();
});

/** A folder on the ordinary disk, removed when the test is over. */
export function workFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "stint-work-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface SmallDisk {
  readonly path: string;
  /** Not one more byte fits. */
  fill(): void;
  empty(): void;
}

/** A tmpfs of its own. */
export function smallDisk(megabytes: number): SmallDisk {
  const path = mountPoint();
  run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0755`, "stint-test", path]);
  const filler = join(path, "filler");
  const empty = () => rmSync(filler, { force: true });
  healers.push(empty);
  return {
    path,
    fill() {
      const { status } = spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=64k"], { stdio: "ignore" });
      if (status === 0) throw new Error(`${path} took everything: it is not full`);
      // dd stops at the first block that does not fit as a whole.
      spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=1k", "oflag=append", "conv=notrunc"], { stdio: "ignore" });
    },
    empty,
  };
}

/** Makes a folder read-only, also for what has files open in it; returns how to undo it. */
export function makeReadOnly(folder: string): () => void {
  if (!isRoot) {
    chmodSync(folder, 0o500);
    const undo = () => chmodSync(folder, 0o700);
    healers.push(undo);
    return undo;
  }
  // A second mount over the first: descriptors that are open stay what they are, every path leads to the new one.
  run("mount", ["--bind", folder, folder]);
  run("mount", ["-o", "remount,ro,bind", folder]);
  let mounted = true;
  const undo = () => {
    if (mounted) run("umount", ["-l", folder]);
    mounted = false;
  };
  healers.push(undo);
  return undo;
}

export interface HangingDisk {
  /** Through FUSE: what hangs. */
  readonly path: string;
  /** The same folder beside it: always to be read. */
  readonly source: string;
  /** From now on each access by way of `path` waits. No request is half done. */
  hang(): Promise<void>;
  goOn(): void;
}

/** Why a hanging disk cannot be had here; null: it can. */
export function whyNoFuse(): string | null {
  if (!isRoot) return "mounting a file system takes root";
  if (!existsSync("/dev/fuse")) return "there is no /dev/fuse";
  if (spawnSync("bindfs", ["--version"]).status !== 0) return "bindfs is not installed";
  return null;
}

export async function hangingDisk(): Promise<HangingDisk> {
  const source = workFolder();
  const path = mountPoint();
  // No answer out of the kernel's memory: what is asked must reach the daemon.
  const daemon = spawn("bindfs", ["-f", "-o", "attr_timeout=0,entry_timeout=0", source, path], { stdio: "ignore" });
  const goOn = () => signal(daemon, "SIGCONT");
  onTestFinished(async () => {
    goOn();
    spawnSync("umount", ["-l", path]);
    await eventually("that bindfs ends", () => {
      if (daemon.exitCode === null && daemon.signalCode === null) signal(daemon, "SIGKILL");
      return daemon.exitCode !== null || daemon.signalCode !== null;
    });
  });
  healers.push(goOn);
  const outside = statSync(join(path, "..")).dev;
  await eventually("the mount of bindfs", () => statSync(path).dev !== outside);
  const waiting = waitingFile(statSync(path).dev);
  return {
    path,
    source,
    async hang() {
      await eventually("a moment when nothing is under way", () => {
        signal(daemon, "SIGSTOP");
        if (Number(readFileSync(waiting, "utf8")) === 0) return true;
        // A request that the daemon has begun could not even be ended by KILL.
        signal(daemon, "SIGCONT");
        return false;
      });
    },
    goOn,
  };
}

/** How many requests the kernel has on their way to the FUSE daemon of a mount. */
function waitingFile(dev: number): string {
  const control = mountPoint();
  run("mount", ["-t", "fusectl", "stint-test", control]);
  // A connection is named after the minor number of its mount's device.
  return join(control, String((dev & 0xff) | ((dev >> 12) & 0xfff00)), "waiting");
}

function signal(child: ChildProcess, name: NodeJS.Signals): void {
  child.kill(name);
}

/** A project whose job folder lies on another disk than its application, with the words of app.sh. */
export async function projectOn(disk: string, work: string, script: string, changes: Partial<JobSpec> = {}) {
  await runnerBundle();
  const before = process.env.TMPDIR;
  process.env.TMPDIR = disk;
  try {
    const project = await Project.make(script, { cwd: work, ...changes });
    writeFileSync(join(work, "app.sh"), script);
    return project;
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
}

function mountPoint(): string {
  const path = mkdtempSync(join(tmpdir(), "stint-disk-"));
  mkdirSync(path, { recursive: true });
  onTestFinished(() => {
    // Lazily: a process that a failed test has left may still stand in it.
    spawnSync("umount", ["-l", path]);
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

function run(command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${stderr.trim()}`);
}

const NOBODY = 65534;

/** All of a project as if that user had submitted it. */
export function giveToNobody(folder: string): void {
  run("chown", ["-R", `${NOBODY}:${NOBODY}`, folder]);
}

/** `advance` by a process of that user, and with it all that the chain starts. */
export async function asNobody(
  project: Project,
): Promise<{ readonly status: number | null; readonly stdout: string; readonly stderr: string }> {
  const folder = mkdtempSync(join(tmpdir(), "stint-driver-"));
  chmodSync(folder, 0o755);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const driver = join(folder, "driver.mjs");
  await build({
    absWorkingDir: fileURLToPath(new URL("../..", import.meta.url)),
    entryPoints: ["test/faults/advance-once.ts"],
    outfile: driver,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    alias: { yaml: "./node_modules/yaml/browser/index.js" },
    logLevel: "error",
  });
  const command = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", process.execPath, driver];
  return spawnSync("setpriv", [...command, project.job.stintFolder, project.job.id], { encoding: "utf8", cwd: "/" });
}
