// Where everything is measured: a scratch folder with a copy of dist/, so that a build meanwhile changes nothing.
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT } from "../scripts/project.mjs";

export function openStand() {
  const built = join(ROOT, "dist");
  if (!existsSync(join(built, "cli/main.js")) || !existsSync(join(built, "runner.mjs"))) {
    console.error("bench: dist/ is not there; run `npm run build` first");
    process.exit(1);
  }
  const folder = mkdtempSync(join(tmpdir(), "stint-bench-"));
  cpSync(built, join(folder, "dist"), { recursive: true });
  // A signal must not leave the scratch folder behind.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  const loadAtStart = loadavg()[0];
  return new Stand(folder, loadAtStart);
}

class Stand {
  /** What a measure leaves behind for the later ones. */
  left = {};
  #loadAtStart;

  constructor(folder, loadAtStart) {
    this.folder = folder;
    this.cli = join(folder, "dist/cli/main.js");
    this.#loadAtStart = loadAtStart;
  }

  /** A new folder to submit from, with an application in bash. */
  project(name, application) {
    const folder = join(this.folder, name);
    mkdirSync(folder);
    writeFileSync(join(folder, "app.sh"), application);
    return folder;
  }

  /** Types a command; throws with what it said unless it ended with 0. */
  stint(folder, args, node = process.execPath) {
    const result = spawnSync(node, [this.cli, ...args], {
      cwd: folder,
      env: cleanEnvironment(),
      encoding: "utf8",
      maxBuffer: 1 << 28,
    });
    if (result.status !== 0) throw new Error(`stint ${args.join(" ")}: ${result.stderr || result.error}`);
    return result.stdout;
  }

  /** Submits app.sh of a project to `local`; the job's folder. */
  submit(project, name, settings = [], node = process.execPath) {
    const args = ["submit", "--json", "--name", name, "--scheduler", "local", ...settings, "--", "bash", "app.sh"];
    return JSON.parse(this.stint(project, args, node)).job.folder;
  }

  /** A command left running. */
  begin(folder, args, node = process.execPath) {
    return spawn(node, [this.cli, ...args], { cwd: folder, env: cleanEnvironment(), stdio: "ignore" });
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  machine() {
    return {
      processor: cpus()[0]?.model.trim() ?? "unknown",
      cores: availableParallelism(),
      node: process.version,
      loadBefore: this.#loadAtStart,
      loadAfter: loadavg()[0],
    };
  }
}

/** What the caller's shell exports must not change what is measured. EPOCHREALTIME of bash is written as the locale wants it. */
export function cleanEnvironment() {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      !/^(STINT|SBATCH|SLURM|RUNNER|SUBMITTER|NODE|npm)_/.test(name) &&
      !/^(CKPT_PATH|MAX_ITER|CHECKPOINT_EVERY|APP_CMD|LAUNCH_MODE)$/.test(name),
  );
  return { ...Object.fromEntries(kept), XDG_STATE_HOME: join(tmpdir(), "stint-bench-state"), LC_ALL: "C" };
}

/**
 * What a program takes, in ms: on the clock, and of CPU time, which a busy machine stretches far less. Measured by bash, which
 * knows its children to the millisecond. Throws unless it ended with 0.
 */
export function timed(program, args, cwd) {
  const script = 'TIMEFORMAT="%3R %3U %3S"; time "$@" >/dev/null 2>&1';
  const result = spawnSync("bash", ["-c", script, "bash", program, ...args], {
    cwd,
    env: cleanEnvironment(),
    encoding: "utf8",
  });
  if (result.status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${result.status ?? result.signal}`);
  const [wall, user, system] = result.stderr.trim().split(" ").map(Number);
  return { ms: wall * 1000, cpuMs: (user + system) * 1000 };
}

/** Asks again every 50 ms, or what is given, until the answer is neither null nor false. */
export async function eventually(what, ask, withinMs = 60_000, everyMs = 50) {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const answer = ask();
    if (answer !== null && answer !== false) return answer;
    if (performance.now() > endMs) throw new Error(`waited in vain for ${what}`);
    await sleep(everyMs);
  }
}

/** A record of the job folder; null: not there yet. */
export function record(...parts) {
  try {
    return JSON.parse(readFileSync(join(...parts), "utf8"));
  } catch (error) {
    if (error.code === "ENOENT" || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The folder of an attempt in the folder of its job. */
export function attemptFolder(jobFolder, number) {
  return join(jobFolder, "tasks/0/attempts", String(number).padStart(4, "0"));
}

/** Waits until the attempt's shepherd has said its last word. */
export function untilOver(jobFolder, number, withinMs) {
  const isOver = () => record(attemptFolder(jobFolder, number), "local.json")?.phase === "over";
  return eventually(`the end of attempt ${number} in ${jobFolder}`, isOver, withinMs);
}
