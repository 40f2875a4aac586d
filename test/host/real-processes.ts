/** Real processes for the tests of this folder, each ended by its own pid afterwards. */
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterEach } from "vitest";
import type { ProcessRef } from "../../src/core/index.ts";
import { findMembers, processRef, signalMembers } from "../../src/host/index.ts";

const cleanups: (() => void)[] = [];

afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

/** Runs when the test is over, also when it failed; the last one first. */
export function afterwards(cleanup: () => void): void {
  cleanups.push(cleanup);
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "stint-host-"));
  afterwards(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const RUN = { name: "STINT_TEST_RUN", value: String(process.pid) };

/** Registers a process to be killed afterwards, with all that came of it. */
export function own(pid: number): ProcessRef {
  const ref = processRef(pid);
  if (ref === null) throw new Error(`process ${pid} has ended already`);
  afterwards(() => {
    const members = findMembers({ roots: [ref], session: null, mark: RUN, cgroup: null, exclude: [] });
    signalMembers(members, "SIGKILL");
  });
  return ref;
}

/** Starts a bash script as leader of its own session. */
export function bash(script: string, env: Record<string, string> = {}): ProcessRef {
  return start(["bash", "-c", script], env);
}

export function start(
  argv: readonly string[],
  env: Record<string, string> = {},
  stdio: "ignore" | "inherit" = "ignore",
) {
  const [program = "", ...rest] = argv;
  const child = spawn(program, rest, {
    detached: true,
    stdio,
    env: { PATH: process.env.PATH ?? "", [RUN.name]: RUN.value, ...env },
  });
  if (child.pid === undefined) throw new Error(`${program} did not start`);
  return own(child.pid);
}

/** Asks again every 10 ms until the answer is neither null nor false. */
export async function eventually<T>(what: string, ask: () => T | null | false, withinMs = 20_000): Promise<T> {
  const endAtMs = Date.now() + withinMs;
  for (;;) {
    const answer = ask();
    if (answer !== null && answer !== false) return answer;
    if (Date.now() > endAtMs) throw new Error(`waited in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Numbers in a file, one a line; null until there are that many. */
export function numbersIn(path: string, count: number): readonly number[] | null {
  try {
    const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
    return lines.length >= count ? lines.map(Number) : null;
  } catch {
    // Not written yet.
    return null;
  }
}

export const isRoot = process.getuid?.() === 0;

/** Words that run a command as nobody where we are root. */
export const asNobody = isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];

let bundled: Promise<string> | null = null;

/** A script against the bundled host, as the runner will be: no module is loaded at run time. */
export async function bundleHost(): Promise<string> {
  bundled ??= (async () => {
    const folder = mkdtempSync(join(tmpdir(), "stint-bundle-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    execFileSync("chmod", ["755", folder]);
    const outfile = join(folder, "host.mjs");
    await build({
      entryPoints: ["src/host/index.ts"],
      bundle: true,
      platform: "node",
      format: "esm",
      outfile,
      logLevel: "error",
    });
    return outfile;
  })();
  return bundled;
}
