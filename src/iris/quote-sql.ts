/** Texts as literals of SQL. Nothing on the wire binds parameters, so that a literal is all there is. */
import { IrisError } from "./errors.ts";

/**
 * A literal for the controller's raw query (SQLite), past three traps of its versions: one refuses these words wherever they
 * stand, inside of a literal too; one refuses every semicolon; one takes `:word` behind a character that is no part of a word
 * for a parameter. The literal is cut there, and put together by SQLite. Throws IrisError `usage` for a NUL character.
 */
export function quoteSql(text: string): string {
  requireText(text);
  const pieces = text
    .split(/(;)/)
    .flatMap((piece) => (piece === ";" ? [SEMICOLON] : cut(piece)))
    .filter((piece) => piece !== "''");
  if (pieces.length === 0) return "''";
  return pieces.length === 1 ? (pieces[0] ?? "''") : `(${pieces.join("||")})`;
}

/** The same for the statistics (DuckDB, DataFusion), which have none of these traps. */
export function quoteStats(text: string): string {
  requireText(text);
  return `'${text.replaceAll("'", "''")}'`;
}

/** Longer ones nobody gives to a job, and SQLite puts together no more than 1,000 pieces. */
const MOST_CHARACTERS = 900;

function requireText(text: string): void {
  if (text.includes("\0")) throw new IrisError("usage", "a name cannot hold a NUL character");
  if (!text.isWellFormed()) throw new IrisError("usage", "a name cannot hold half a character");
  if (text.length > MOST_CHARACTERS)
    throw new IrisError("usage", `a name of ${text.length} characters is too long for a question`);
}

const SEMICOLON = "char(59)";

const BANNED = /(insert|update|delete|drop|alter|create|attach|detach|pragma|vacuum|reindex|savepoint)/gi;

/** Inside of a banned word after its first letter, and behind each colon: what is left on either side is harmless. */
function cut(piece: string): string[] {
  return piece
    .replace(BANNED, (word) => `${word.slice(0, 1)}\0${word.slice(1)}`)
    .replaceAll(":", ":\0")
    .split("\0")
    .map((part) => `'${part.replaceAll("'", "''")}'`);
}
