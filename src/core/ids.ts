/**
 * Names of jobs and tasks. A job is `/user/name[/child…]`, a task `<job>/<index>`; since a part may not be all digits, the
 * two cannot be confused. Every part is also the name of a folder and stands in scripts, tables and URLs: hence the rules.
 */
import type { Command } from "./job-spec.ts";
import { splitWords } from "./quote.ts";

export interface JobId {
  readonly user: string;
  /** The job's own name last; its ancestors' names before it. Never empty. */
  readonly path: readonly string[];
}

export type ParsedName =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "error"; readonly error: string };

export type ParsedId =
  | { readonly kind: "job"; readonly job: JobId }
  | { readonly kind: "task"; readonly job: JobId; readonly index: number }
  | { readonly kind: "error"; readonly error: string };

/** Longest part of an id, in bytes of UTF-8 (a folder's name may have 255, and records add to it). */
export const MAX_NAME_BYTES = 200;

/** Checks one name (one part of an id). Case is kept; letters outside ASCII are allowed and composed (NFC). */
export function parseJobName(text: string): ParsedName {
  const name = text.normalize("NFC");
  const wrong = whatIsWrong(name);
  if (wrong === null) return { kind: "name", name };
  return { kind: "error", error: `"${printable(text)}" cannot be a name: ${wrong}; for example ${suggestName(text)}` };
}

/** Reads `sim` (short for `/me/sim`), `sim/child`, `/user/sim[/child…]`, each with an optional `/<index>` for a task. */
export function parseJobId(text: string, me: string): ParsedId {
  const absolute = text.startsWith("/");
  const parts = (absolute ? text.slice(1) : `${me}/${text}`).split("/");
  const last = parts.at(-1) ?? "";
  const index = parts.length > 2 && /^(0|[1-9]\d{0,8})$/.test(last) ? Number(last) : null;
  const names = (index === null ? parts : parts.slice(0, -1)).map((part) => part.normalize("NFC"));
  const [user, ...path] = names;
  if (user === undefined || path.length === 0) {
    return { kind: "error", error: `"${printable(text)}" names no job: write NAME, /USER/NAME or NAME/INDEX` };
  }
  for (const name of names) {
    const wrong = whatIsWrong(name);
    if (wrong !== null)
      return { kind: "error", error: `"${printable(text)}" is not a job or task: in "${printable(name)}", ${wrong}` };
  }
  return index === null ? { kind: "job", job: { user, path } } : { kind: "task", job: { user, path }, index };
}

/** `/user/name[/child…]`. */
export function formatJobId(job: JobId): string {
  return `/${[job.user, ...job.path].join("/")}`;
}

/** `/user/name[/child…]/index`. */
export function formatTaskId(job: JobId, index: number): string {
  return `${formatJobId(job)}/${index}`;
}

/** The short form a person may type: without `/user/` where it is `me`. */
export function shortJobId(job: JobId, me: string): string {
  return job.user === me ? job.path.join("/") : formatJobId(job);
}

/** A name for a command: the program, and the script where the program is an interpreter (`python3 sim.py`: `python3-sim`). */
export function nameFromCommand(command: Command): string {
  if (command.kind === "batch") return suggestName(stem(command.name));
  const argv = command.kind === "argv" ? command.argv : wordsOfShellText(command.text);
  const program = argv[0] ?? "job";
  const script = INTERPRETER.test(baseName(program)) ? scriptOf(argv.slice(1)) : null;
  return suggestName(script === null ? stem(program) : `${baseName(program)}-${script}`);
}

/** The nearest valid name to any text; valid text comes back unchanged. */
export function suggestName(text: string): string {
  const name = text.normalize("NFC");
  if (whatIsWrong(name) === null) return name;
  const cleaned = name.replace(/[\s/:\p{Cc}\p{Cf}\p{Cs}]+/gu, "-").replace(/^[-.]+|-+$/g, "");
  const cut = cutToBytes(cleaned, MAX_NAME_BYTES - "job-".length).replace(/-+$/, "");
  if (cut === "") return "job";
  return whatIsWrong(cut) === null ? cut : `job-${cut}`;
}

const INTERPRETER =
  /^(?:python|pypy|perl|ruby|node|julia|Rscript|R|octave|lua|bash|sh|dash|zsh|ksh|java|matlab)[\d.]*$/;
const PREPARING = /^(?:cd|export|module|ml|source|\.|set|ulimit|umask|exec|time|nice|unset)$/;

function whatIsWrong(name: string): string | null {
  if (name === "") return "it is empty";
  if (name === "." || name === "..") return "it stands for a folder";
  if (name.startsWith(".")) return "it starts with a dot";
  if (name.startsWith("-")) return "it starts like an option";
  if (/\//.test(name)) return "it holds a slash";
  if (/:/.test(name)) return "it holds a colon";
  if (/[\p{Cc}\p{Cf}\p{Cs}]/u.test(name)) return "it holds a character that cannot be seen";
  if (/\s/.test(name)) return "it holds a blank";
  if (/^\d+$/.test(name)) return "it is only digits, like the index of a task";
  if (name === "last") return "it stands for the newest job";
  if (byteLength(name) > MAX_NAME_BYTES) return `it is longer than ${MAX_NAME_BYTES} bytes`;
  return null;
}

/** The first simple command of a shell text that is more than preparation. */
function wordsOfShellText(text: string): readonly string[] {
  let first: readonly string[] | null = null;
  for (const part of text.split(/&&|\|\||[;|\n&]/)) {
    const words = (splitWords(part) ?? part.split(/\s+/)).filter((word) => word !== "");
    const start = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
    if (start < 0) continue;
    const command = words.slice(start);
    if (!PREPARING.test(command[0] ?? "")) return command;
    if (/^(?:exec|time|nice)$/.test(command[0] ?? "") && command.length > 1) return command.slice(1);
    first ??= command;
  }
  return first ?? [];
}

function scriptOf(args: readonly string[]): string | null {
  for (const [index, argument] of args.entries()) {
    if (argument === "-m" || argument === "-jar") return stem(args[index + 1] ?? "") || null;
    // The text behind -c or -e is no name; other options of interpreters rarely take a separate value.
    if (/^-[A-Za-z]*[ce]$/.test(argument)) return null;
    if (!argument.startsWith("-")) return stem(argument) || null;
  }
  return null;
}

function baseName(path: string): string {
  return path.split("/").findLast((part) => part !== "") ?? "";
}

function stem(path: string): string {
  const base = baseName(path);
  return base.replace(/(?<=.)\.(?:py|pl|rb|js|mjs|cjs|ts|jl|r|R|m|lua|sh|bash|jar|exe|out)$/, "");
}

function byteLength(text: string): number {
  let bytes = 0;
  for (const character of text) bytes += bytesOf(character);
  return bytes;
}

function bytesOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

function cutToBytes(text: string, limit: number): string {
  let bytes = 0;
  let cut = "";
  for (const character of text) {
    bytes += bytesOf(character);
    if (bytes > limit) return cut;
    cut += character;
  }
  return cut;
}

function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}
