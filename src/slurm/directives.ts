/**
 * A batch script as sbatch 22.05 reads it: what makes it one, and the words of its `#SBATCH` lines. What the words mean is
 * not known here.
 */

/** One word of a `#SBATCH` line, its quotes taken away. */
export interface DirectiveWord {
  readonly text: string;
  /** From 1. */
  readonly line: number;
}

export interface BatchScript {
  readonly kind: "batch-script";
  /** The program of the first line, and all that stands behind it as one argument, as the kernel reads it. */
  readonly interpreter: readonly string[];
  /** All words of all `#SBATCH` lines before the first command, in order: for sbatch they are one command line. */
  readonly words: readonly DirectiveWord[];
  /** Lines of directives that sbatch never sees, since a command stands before them. */
  readonly unread: readonly number[];
}

export type NoBatchScript =
  | { readonly kind: "not-a-script"; readonly why: "empty" | "blank" | "no-shebang" | "binary" | "dos-line-ends" }
  /** A line that sbatch would refuse. */
  | { readonly kind: "error"; readonly line: number; readonly error: string };

/**
 * Reads the text of a batch script. `#SBATCH` counts at the very beginning of a line only, and only above the first line that
 * is neither blank nor a comment; an unescaped `#` in it begins a comment. Never throws.
 */
export function readBatchScript(text: string): BatchScript | NoBatchScript {
  const no = whyNot(text);
  if (no !== null) return { kind: "not-a-script", why: no };
  const words: DirectiveWord[] = [];
  const unread: number[] = [];
  let begun = false;
  for (const [index, line] of text.split("\n").entries()) {
    const number = index + 1;
    if (!line.startsWith(MAGIC)) begun ||= !BLANK_OR_COMMENT.test(line);
    else if (begun) unread.push(number);
    else {
      const read = wordsOf(line.slice(MAGIC.length));
      if ("error" in read) return { kind: "error", line: number, error: read.error };
      for (const word of read.words) {
        if (HET_JOB.test(word)) return { kind: "error", line: number, error: HET_JOB_REFUSED };
        words.push({ text: word, line: number });
      }
    }
  }
  return { kind: "batch-script", interpreter: interpreterOf(text), words, unread };
}

const MAGIC = "#SBATCH";
const BLANK_OR_COMMENT = /^\s*(#|$)/;
const HET_JOB = /^(hetjob|packjob)$/i;
const HET_JOB_REFUSED =
  "a heterogeneous job cannot be a chain: give one set of options, and start the parts with srun inside the script";

function whyNot(text: string): Extract<NoBatchScript, { kind: "not-a-script" }>["why"] | null {
  if (text === "") return "empty";
  if (/^\s+$/.test(text)) return "blank";
  if (text.includes("\0")) return "binary";
  if (!text.startsWith("#!") || interpreterOf(text).length === 0) return "no-shebang";
  return text.includes("\r\n") ? "dos-line-ends" : null;
}

/** Empty: none is named. */
function interpreterOf(text: string): readonly string[] {
  const [, program, argument = ""] = /^#![ \t]*([^ \t\r\n]+)[ \t]*([^\r\n]*)/.exec(text) ?? [];
  if (program === undefined) return [];
  return argument.trim() === "" ? [program] : [program, argument.trim()];
}

/** As sbatch cuts a line: an empty word (`""`) ends it, a backslash takes the next character as it is, but no blank. */
function wordsOf(line: string): { readonly words: readonly string[] } | { readonly error: string } {
  const words: string[] = [];
  let at = 0;
  for (;;) {
    while (isBlank(line[at])) at++;
    if (line[at] === ":") return { error: HET_JOB_REFUSED };
    let word = "";
    let quote = "";
    let escaped = false;
    for (; at < line.length && (quote !== "" || !isBlank(line[at])); at++) {
      const character = line[at] ?? "";
      if (escaped) escaped = false;
      else if (character === "\\") {
        escaped = true;
        continue;
      } else if (quote !== "" && character === quote) {
        quote = "";
        continue;
      } else if (quote === "" && (character === '"' || character === "'")) {
        quote = character;
        continue;
      } else if (quote === "" && character === "#") break;
      word += character;
    }
    if (quote !== "") return { error: `the quote ${quote} is left open` };
    if (word === "") return { words };
    words.push(word);
  }
}

function isBlank(character: string | undefined): boolean {
  return character !== undefined && /[ \t\v\f\r]/.test(character);
}
