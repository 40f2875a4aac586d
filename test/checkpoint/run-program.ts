import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";

/** A folder of its own for one test file, readable by other users (some calls run as nobody). */
export async function scratchFolder(): Promise<{ readonly path: string; readonly remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "stint-checkpoint-"));
  await chmod(path, 0o755);
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Bundles the program next to the test's files; Node 20 runs no TypeScript. */
export async function bundleProgram(folder: string): Promise<string> {
  const outfile = join(folder, "checkpoint-program.mjs");
  await build({
    entryPoints: [join(import.meta.dirname, "checkpoint-program.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    outfile,
    logLevel: "error",
  });
  return outfile;
}

export interface Racer {
  readonly ready: Promise<void>;
  readonly go: () => void;
  readonly answer: Promise<unknown>;
}

export function startProgram(
  program: string,
  call: string,
  given: unknown,
  user?: { uid: number; gid: number },
): Racer {
  const child: ChildProcess = spawn(process.execPath, [program, call, JSON.stringify(given)], {
    stdio: ["pipe", "pipe", "inherit"],
    ...user,
  });
  let out = "";
  let isReady: () => void = () => {};
  const ready = new Promise<void>((resolve) => {
    isReady = resolve;
  });
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    if (out.startsWith("ready\n")) isReady();
  });
  const answer = new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0
        ? resolve(JSON.parse(out.replace(/^ready\n/, "")))
        : reject(new Error(`the program ended with ${code}`)),
    );
  });
  return { ready, go: () => child.stdin?.write("go\n"), answer };
}
