/** Arguments into the text of a POSIX shell and back. */

/**
 * One argument for a POSIX shell, so that it arrives unchanged. Plain words stay as they are; anything else is put into
 * single quotes. Throws a RangeError on NUL, which no argument can hold.
 */
export function quoteShell(argument: string): string {
  if (argument.includes("\0")) throw new RangeError("an argument cannot hold a NUL character");
  if (PLAIN.test(argument) || PLAIN_OPTION.test(argument)) return argument;
  return singleQuoted(argument);
}

/** A whole command for a POSIX shell. The first word is quoted too where the shell would take it for a keyword. */
export function quoteCommand(argv: readonly string[]): string {
  return argv
    .map((argument, index) => (index === 0 && KEYWORDS.has(argument) ? singleQuoted(argument) : quoteShell(argument)))
    .join(" ");
}

/**
 * Cuts text into words as a POSIX shell does for quotes, backslashes and blanks, but expands nothing. null: a quote is
 * left open, or a backslash ends the text.
 */
export function splitWords(text: string): readonly string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let rest = text;
  while (rest !== "") {
    const piece = WORD_PIECE.exec(rest);
    if (piece === null) return null;
    rest = rest.slice(piece[0].length);
    const [, blank, single, double, escaped, plain] = piece;
    if (blank !== undefined) {
      if (word !== null) words.push(word);
      word = null;
      continue;
    }
    const content: string =
      single ?? double?.replace(/\\([$`"\\\n])/g, (_, c: string) => (c === "\n" ? "" : c)) ?? escaped ?? plain ?? "";
    word = (word ?? "") + (escaped === "\n" ? "" : content);
  }
  if (word !== null) words.push(word);
  return words;
}

// No "=", since NAME=value as the first word would be an assignment; behind a dash it is harmless.
const PLAIN = /^[A-Za-z0-9_@%+:,./-]+$/;
const PLAIN_OPTION = /^-[A-Za-z0-9_@%+:,./=-]*$/;
const KEYWORDS = new Set(
  "case coproc do done elif else esac fi for function if in select then time until while".split(" "),
);
const WORD_PIECE = /^(?:([ \t\n\r]+)|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+|[^\S \t\n\r]))/u;

function singleQuoted(argument: string): string {
  return `'${argument.replaceAll("'", "'\\''")}'`;
}
