/** What a job is made of, by content and not by ending: a spec file, a batch script, or a command. */
import { createHash } from "node:crypto";
import { closeSync, constants, existsSync, openSync, readSync, statSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { type Command, quoteShell } from "../../core/index.ts";
import { errorCode, findProgram } from "../../host/index.ts";
import { readBatchScript, scriptWarnings } from "../../slurm/index.ts";
import { type BatchInput, parseSpecFile, RUNNER_SCRIPT, readDirectives, type SpecFile } from "../../spec/index.ts";
import { StintError } from "./errors.ts";
import type { Where } from "./project.ts";

export type JobSource =
  | { readonly kind: "none" }
  | { readonly kind: "spec"; readonly file: SpecFile }
  | { readonly kind: "argv"; readonly argv: readonly string[] }
  | {
      readonly kind: "batch";
      readonly batch: BatchInput;
      /** Byte for byte; a copy of it is kept. */
      readonly content: Uint8Array;
      readonly notices: readonly string[];
      readonly warnings: readonly string[];
    };

/** Slurm's own bound (max_script_size), and more than any specification may have. */
const MOST_SCRIPT_BYTES = 4 * 1024 ** 2;

/** `positionals` and `command` as parseFlags gives them. Throws StintError `usage` with what to do instead. */
export async function jobSource(
  where: Where,
  positionals: readonly string[],
  command: readonly string[] | null,
): Promise<JobSource> {
  const [name, ...rest] = positionals;
  if (name !== undefined) return fileSource(where, name, rest, "command line");
  if (command === null) return runnerScript(where);
  if (command.length === 0) usage("there is no command behind --");
  requireWords(where, command);
  return { kind: "argv", argv: command };
}

/** As in the seed: the batch script where none is given. In an attempt it belongs to the job around it. */
async function runnerScript(where: Where): Promise<JobSource> {
  const name = where.environment[RUNNER_SCRIPT] ?? "";
  if (name === "" || (where.environment.STINT_TASK_ID ?? "") !== "") return { kind: "none" };
  const source = await fileSource(where, name, [], `environment ${RUNNER_SCRIPT}`);
  if (source.kind !== "batch")
    usage(`${RUNNER_SCRIPT}=${name} names no batch script: its first line must be #! and a program`);
  const notice = `${RUNNER_SCRIPT}=${quoteShell(name)} in the environment names the batch script`;
  return { ...source, notices: [notice, ...source.notices] };
}

async function fileSource(where: Where, name: string, rest: readonly string[], origin: string): Promise<JobSource> {
  const content = readContent(where, name, rest);
  const text = content.toString("utf8");
  const script = readBatchScript(text);
  if (script.kind === "batch-script" && content.length > MOST_SCRIPT_BYTES)
    usage(`${name} is longer than 4 MiB, which Slurm refuses as well: let the script call what is long`);
  switch (script.kind) {
    case "batch-script": {
      const file = basename(name);
      const sha256 = createHash("sha256").update(content).digest("hex");
      const command: Extract<Command, { kind: "batch" }> = {
        kind: "batch",
        name: file,
        sha256,
        interpreter: script.interpreter,
        args: rest,
      };
      const warnings = [...scriptWarnings(text, file, script.unread), ...missingModules(where, name, text)];
      const directives = readDirectives(script.words, file);
      return { kind: "batch", batch: { command, directives, origin }, content, notices: [], warnings };
    }
    case "error":
      return usage(`${name}:${script.line}: ${script.error}`);
    case "not-a-script":
      return noScript(where, name, rest, text, script.why);
  }
}

/** A spec file, unless it was meant to be a script. */
async function noScript(
  where: Where,
  name: string,
  rest: readonly string[],
  text: string,
  why: "empty" | "blank" | "no-shebang" | "binary" | "dos-line-ends",
): Promise<JobSource> {
  if (why === "dos-line-ends" && text.startsWith("#!"))
    usage(`${name} has DOS line ends, which sbatch refuses as well: sed -i 's/\\r$//' ${quoteShell(name)}`);
  if (why === "binary") usage(`${name} is a program; write it behind --: -- ${dotted(name)} …`);
  if (/^#SBATCH\b/m.test(text) || text.startsWith("#!"))
    usage(`${name} is no batch script: its first line must be #! and a program, such as #!/bin/bash`);
  const program = PROGRAMS[extname(name).toLowerCase()];
  const asCommand = (by: string): string =>
    `${name} is no spec; a command goes behind --: -- ${[by, name, ...rest].join(" ")}`;
  if (program !== undefined) usage(asCommand(program));
  const parsed = await parseSpecFile(text, name);
  if (parsed.kind === "errors") {
    const isSpec = SPEC_NAME.test(name) || !parsed.errors.some((error) => error.includes("expected a map of settings"));
    throw isSpec ? usageError(parsed.errors) : new StintError("usage", asCommand("PROGRAM"));
  }
  if (parsed.file.values.size === 0 && (where.environment.APP_CMD ?? "") === "")
    usage(`${name} is empty: it needs at least command:`);
  return { kind: "spec", file: parsed.file };
}

const SPEC_NAME = /\.(ya?ml|json)$/i;

/** Who runs a file of that ending which does not say it itself by a `#!` line. */
const PROGRAMS: Readonly<Record<string, string>> = {
  ".py": "python3",
  ".sh": "bash",
  ".r": "Rscript",
  ".jl": "julia",
  ".pl": "perl",
  ".rb": "ruby",
  ".js": "node",
  ".mjs": "node",
  ".lua": "lua",
};

/** One argument with blanks in it that names no file was meant as several words, or for a shell. */
function requireWords(where: Where, command: readonly string[]): void {
  const [only = "", ...more] = command;
  if (more.length > 0 || !/\S\s+\S/.test(only) || existsSync(resolve(where.cwd, only))) return;
  const meant = /[|&;<>$`*?(){}'"\\\n]/.test(only)
    ? `for a shell: -- bash -c ${quoteShell(only)}`
    : `without quotes: -- ${only}`;
  usage(`there is no program named ${quoteShell(only)}; ${meant}`);
}

/** What a Python script imports from beside itself is not beside the copy of it. */
function missingModules(where: Where, name: string, text: string): readonly string[] {
  if (!/^#!.*\bpython/.test(text)) return [];
  const folder = dirname(resolve(where.cwd, name));
  const modules = [...text.matchAll(/^\s*(?:from|import)\s+([A-Za-z_]\w*)/gm)].map(([, module]) => module ?? "");
  const beside = modules.filter(
    (module) => existsSync(join(folder, `${module}.py`)) || existsSync(join(folder, module)),
  );
  if (beside.length === 0) return [];
  return [
    `${basename(name)} imports ${[...new Set(beside)].join(", ")} from beside itself, and a copy of it is run, as with sbatch; to run the file itself: -- ${dotted(name)}`,
  ];
}

function readContent(where: Where, name: string, rest: readonly string[]): Buffer {
  const path = resolve(where.cwd, name);
  try {
    const what = statSync(path);
    if (what.isDirectory()) usage(`${name} is a folder; give a batch script, a spec file, or a command behind --`);
    // Of /dev/stdin and <(…) the writer is there, or was.
    if (!what.isFIFO() || /^\/(dev|proc)\//.test(path)) return readBeginning(path, MOST_SCRIPT_BYTES + 1);
    const content = readNamedPipe(path, MOST_SCRIPT_BYTES + 1);
    return (
      content ??
      usage(`${name} is a named pipe that nobody writes into (looked for ${WRITER_MS / 1000} s): give a file`)
    );
  } catch (error) {
    if (error instanceof StintError) throw error;
    if (errorCode(error) !== "ENOENT" && errorCode(error) !== "ENOTDIR")
      throw new StintError("usage", `cannot read ${name}: ${errorCode(error) ?? String(error)}`);
    const inPath = findProgram(name, where.environment.PATH ?? "");
    const words = [name, ...rest].join(" ");
    const hint = inPath === null && !name.endsWith("ml") ? "" : ` (a command goes behind --: -- ${words})`;
    usage(`there is no file ${join(where.cwd, name)}${hint === "" ? "; a command goes behind --" : hint}`);
  }
}

function dotted(name: string): string {
  return name.includes("/") ? name : `./${name}`;
}

/** A program may be of any size. A pipe works too. */
function readBeginning(path: string, mostBytes: number): Buffer {
  const buffer = Buffer.alloc(mostBytes);
  const file = openSync(path, "r");
  try {
    let filled = 0;
    for (let got = -1; got !== 0 && filled < mostBytes; filled += got)
      got = readSync(file, buffer, filled, mostBytes - filled, null);
    return Buffer.from(buffer.subarray(0, filled));
  } finally {
    closeSync(file);
  }
}

/** How long a named pipe may be without a writer. */
const WRITER_MS = 10_000;
const PIPE_LOOK_MS = 20;

/** To open one as a file would wait for its writer, who may never come. Null: none came. */
function readNamedPipe(path: string, mostBytes: number): Buffer | null {
  const buffer = Buffer.alloc(mostBytes);
  const pipe = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const endAtMs = performance.now() + WRITER_MS;
  let filled = 0;
  let hasWriter = false;
  try {
    while (filled < mostBytes) {
      const got = readIfAny(pipe, buffer, filled);
      if (got === 0 && hasWriter) break;
      if (got !== 0) hasWriter = true;
      else if (performance.now() > endAtMs) return null;
      if (got !== null && got > 0) filled += got;
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PIPE_LOOK_MS);
    }
    return Buffer.from(buffer.subarray(0, filled));
  } finally {
    closeSync(pipe);
  }
}

/** Bytes read; 0: there is no writer (any more); null: there is one, and nothing from it yet. */
function readIfAny(pipe: number, buffer: Buffer, from: number): number | null {
  try {
    return readSync(pipe, buffer, from, buffer.length - from, null);
  } catch (error) {
    if (errorCode(error) === "EAGAIN") return null;
    throw error;
  }
}

export function usageError(errors: readonly string[]): StintError {
  return new StintError("usage", errors.join("\n"));
}
export function usage(message: string): never {
  throw new StintError("usage", message);
}
