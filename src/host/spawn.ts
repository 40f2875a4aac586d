import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import type { Writable } from "node:stream";
import type { ProcessRef } from "../core/index.ts";
import { realClock } from "./clock.ts";
import { errorCode } from "./folder-error.ts";
import { processRef } from "./machine.ts";

export interface SpawnOptions {
  readonly cwd: string;
  /** The whole environment: nothing of this process's own is added. PATH in it is where the program is looked for. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Open descriptors; null: /dev/null. The caller closes its own copies. "pipe": what this process writes to `input`. */
  readonly stdin: number | null | "pipe";
  readonly stdout: number | null;
  readonly stderr: number | null;
}

/** Why a program did not start. `message` is one line with the system's words. */
export interface SpawnFailure {
  readonly what: "program" | "working-folder" | "system";
  /** The system's word, e.g. ENOENT, EACCES, E2BIG, EAGAIN. */
  readonly code: string;
  readonly message: string;
  /** What a shell would have answered: 127 not found, 126 all else. */
  readonly exitCode: 126 | 127;
}

export interface ApplicationExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** When this process saw it, on the monotonic clock. */
  readonly atMonotonicMs: number;
}

export type Detached =
  | { readonly kind: "started"; readonly ref: ProcessRef }
  | { readonly kind: "failed"; readonly failure: SpawnFailure };

export type Application =
  | {
      readonly kind: "started";
      /** Leader of its own session and process group. */
      readonly ref: ProcessRef;
      readonly startedMonotonicMs: number;
      /** Its end alone; others may still hold its output. Never rejects. */
      readonly exit: Promise<ApplicationExit>;
      /** Where its standard input is a pipe. A reader that is gone is no error here: `exit` tells. */
      readonly input: Writable | null;
    }
  | { readonly kind: "failed"; readonly failure: SpawnFailure };

/** Starts a program in a session of its own that outlives this process, and lets go of it. Never rejects. */
export async function spawnDetached(argv: readonly string[], options: SpawnOptions): Promise<Detached> {
  const begun = await begin(argv, options);
  if (begun.kind === "failed") return begun;
  begun.child.unref();
  return { kind: "started", ref: begun.ref };
}

/** Starts a program in a session of its own; this process waits for its end. Never rejects. */
export async function spawnApplication(argv: readonly string[], options: SpawnOptions): Promise<Application> {
  const begun = await begin(argv, options);
  return begun.kind === "failed"
    ? begun
    : {
        kind: "started",
        ref: begun.ref,
        startedMonotonicMs: begun.atMonotonicMs,
        exit: begun.exit,
        input: begun.child.stdin,
      };
}

let perl: string | null | undefined;

/**
 * Words to put before a command so that it becomes a child subreaper: orphans below it become its children and stay in its
 * tree, even after setsid and a double fork. Perl makes the system call that Node cannot, then becomes the command. Empty
 * where there is no perl or the processor is unknown: then only session, mark and group show such processes.
 *
 * Node never waits for orphans that it adopts: they stay zombies until it ends.
 */
export function subreaperPrefix(): readonly string[] {
  perl ??= findProgram("perl", process.env.PATH ?? DEFAULT_PATH);
  const prctl = process.arch === "x64" ? 157 : process.arch === "arm64" ? 167 : null;
  if (perl === null || prctl === null || !isProgram("/usr/bin/env")) return [];
  // 36 is PR_SET_CHILD_SUBREAPER; it survives exec and is not inherited. A refusal is no reason not to run.
  const script = `delete $ENV{PERL_BADLANG}; syscall(${prctl}, 36, 1, 0, 0, 0); exec { $ARGV[0] } @ARGV; print STDERR "$ARGV[0]: $!\\n"; exit 127`;
  // Without the variable perl complains on standard error of every locale that is not installed.
  return ["/usr/bin/env", "PERL_BADLANG=0", perl, "-e", script, "--"];
}

/** The first executable file of that name on a PATH; a name with a slash stands for itself. Null: none. */
export function findProgram(name: string, path: string): string | null {
  const candidates = name.includes("/") ? [name] : path.split(delimiter).map((folder) => join(folder || ".", name));
  return candidates.find(isProgram) ?? null;
}

const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";

type Begun =
  | {
      readonly kind: "started";
      readonly child: ChildProcess;
      readonly ref: ProcessRef;
      readonly atMonotonicMs: number;
      readonly exit: Promise<ApplicationExit>;
    }
  | { readonly kind: "failed"; readonly failure: SpawnFailure };

async function begin(argv: readonly string[], options: SpawnOptions): Promise<Begun> {
  const [program, ...rest] = argv;
  if (program === undefined || program === "") {
    return { kind: "failed", failure: failed("program", "EINVAL", "no program is named") };
  }
  const failure = (error: unknown): Begun => ({ kind: "failed", failure: explain(error, program, options) });
  try {
    const child = spawn(program, rest, {
      cwd: options.cwd,
      env: { ...options.env },
      stdio: [options.stdin ?? "ignore", options.stdout ?? "ignore", options.stderr ?? "ignore"],
      detached: true,
    });
    child.stdin?.on("error", () => {}); // EPIPE: it has ended, which `exit` tells
    const atMonotonicMs = realClock.monotonicMs();
    const exit = new Promise<ApplicationExit>((resolve) => {
      child.once("exit", (code, signal) => resolve({ code, signal, atMonotonicMs: realClock.monotonicMs() }));
    });
    // Read before this thread lets go: until then nobody reaps it, so that even one that has ended is there to see.
    const ref = child.pid === undefined ? null : processRef(child.pid);
    if (ref !== null) return { kind: "started", child, ref, atMonotonicMs, exit };
    return failure(await new Promise<unknown>((resolve) => child.once("error", resolve)));
  } catch (error) {
    return failure(error);
  }
}

/** Node blames the program for a missing working folder (both are ENOENT): tell which it was. */
function explain(error: unknown, program: string, { cwd, env }: SpawnOptions): SpawnFailure {
  const code = errorCode(error) ?? "EUNKNOWN";
  const folder = folderProblem(cwd);
  if (folder !== null) {
    return failed(
      "working-folder",
      folder,
      `the working folder ${cwd} ${FOLDER_WORDS[folder] ?? "cannot be used"} (${folder})`,
    );
  }
  // The search goes on past a folder of PATH that may not be entered, but then says EACCES of a program that is nowhere.
  if (code === "ENOENT" || (code === "EACCES" && isNowhere(program, env.PATH ?? DEFAULT_PATH))) {
    const found = findProgram(
      isAbsolute(program) || !program.includes("/") ? program : join(cwd, program),
      env.PATH ?? DEFAULT_PATH,
    );
    if (found !== null)
      return failed("program", "ENOENT", `${found} names an interpreter in its first line that is not there (ENOENT)`);
    return failed("program", "ENOENT", `${program} was not found${program.includes("/") ? "" : " on PATH"} (ENOENT)`);
  }
  const words =
    PROGRAM_WORDS[code] ?? (error instanceof Error ? (error.message.split("\n")[0] ?? code) : String(error));
  const what = code === "EACCES" || code === "ENOEXEC" || code === "ENOTDIR" ? "program" : "system";
  return failed(what, code, `cannot start ${program}: ${words} (${code})`);
}

const FOLDER_WORDS: Readonly<Record<string, string>> = {
  ENOENT: "is not there",
  ENOTDIR: "is not a folder",
  EACCES: "may not be entered: permission denied",
};

const PROGRAM_WORDS: Readonly<Record<string, string>> = {
  EACCES: "permission denied; is it executable?",
  ENOEXEC: "not a program this machine can run",
  ENOTDIR: "a part of its path is not a folder",
  E2BIG: "arguments and environment together are too long",
  EAGAIN: "too many processes for this user or job",
  ENOMEM: "not enough memory",
  ETXTBSY: "it is being written to",
};

function failed(what: SpawnFailure["what"], code: string, message: string): SpawnFailure {
  return { what, code, message, exitCode: what === "program" && code === "ENOENT" ? 127 : 126 };
}

function folderProblem(cwd: string): string | null {
  try {
    if (!statSync(cwd).isDirectory()) return "ENOTDIR";
    accessSync(cwd, constants.X_OK);
    return null;
  } catch (error) {
    return errorCode(error) ?? "EUNKNOWN";
  }
}

function isNowhere(program: string, path: string): boolean {
  return !program.includes("/") && !path.split(delimiter).some((folder) => existsSync(join(folder || ".", program)));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // Not there or not executable: not this one.
    return false;
  }
}
