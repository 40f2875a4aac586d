/** Where a command writes: results to stdout, everything else to stderr. */
import { stripVTControlCharacters } from "node:util";
import { escapeControls, escapeLine } from "./escape.ts";

export type Colour = "red" | "green" | "yellow" | "blue" | "dim" | "bold";

export interface Terminal {
  /** A line of the result, or several; what would act on a terminal is shown instead. */
  out(...lines: readonly string[]): void;
  /** A line about it. */
  note(line: string): void;
  /** Bytes as they are. */
  bytes(to: "stdout" | "stderr", bytes: Uint8Array): void;
  /** A moving line can be shown. */
  readonly live: boolean;
  /** Columns of the terminal; 80 where there is none. */
  readonly width: number;
  /** Replaces the moving line; null takes it away. Does nothing where it cannot be shown. */
  line(text: string | null): void;
  /** The text in colour, where stdout shows colours. */
  colour(text: string, colour: Colour): string;
}

const CODES: Readonly<Record<Colour, number>> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34 };

export function openTerminal(): Terminal {
  const { env } = process;
  const plain = (env.NO_COLOR ?? "") !== "" || env.TERM === "dumb";
  const colours = process.stdout.isTTY === true && !plain;
  const live = process.stderr.isTTY === true && env.TERM !== "dumb";
  let shown = false;
  const clear = (): void => {
    if (shown) process.stderr.write("\r\x1b[2K");
    shown = false;
  };
  const width = widthOf(process.stderr.columns, process.stdout.columns);
  return {
    live,
    width,
    out(...lines) {
      clear();
      // One write for all: a list can be long.
      if (lines.length > 0) process.stdout.write(`${lines.map((line) => escapeControls(line, colours)).join("\n")}\n`);
    },
    note(line) {
      clear();
      process.stderr.write(`${escapeLine(line, false)}\n`);
    },
    bytes(to, bytes) {
      process[to].write(bytes);
    },
    line(text) {
      clear();
      if (!live || text === null) return;
      process.stderr.write(escapeLine(text, false).slice(0, Math.max(10, width - 1)));
      shown = true;
    },
    colour: (text, colour) => (colours ? `\x1b[${CODES[colour]}m${text}\x1b[0m` : text),
  };
}

/** The first that says something; a terminal whose size was never set says 0. */
export function widthOf(...columns: readonly (number | undefined)[]): number {
  return columns.find((one) => one !== undefined && one > 0) ?? 80;
}

/** Rows under headings, in columns, each on one line. Cells may be coloured; the last column is not padded. */
export function table(headings: readonly string[], contents: readonly (readonly string[])[]): readonly string[] {
  const rows = contents.map((row) => row.map((cell) => escapeLine(cell)));
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => visibleLength(row[column] ?? ""))),
  );
  // A column in which nothing stands is left out.
  const kept = headings.map((_, column) => column).filter((column) => rows.some((row) => (row[column] ?? "") !== ""));
  const line = (cells: readonly string[]): string =>
    kept
      .map((column) => {
        const cell = cells[column] ?? "";
        return cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - visibleLength(cell)));
      })
      .join("  ")
      .trimEnd();
  return [line(headings), ...rows.map(line)];
}

/** RFC 4180 with a heading; a cell is quoted where it must be. */
export function csv(
  headings: readonly string[],
  rows: readonly (readonly (string | number | boolean | null)[])[],
): string {
  const cell = (value: string | number | boolean | null): string => {
    const text = value === null ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [headings, ...rows].map((row) => row.map(cell).join(",")).join("\n");
}

const PLAIN = /^[\x20-\x7e]*$/;

function visibleLength(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return [...stripVTControlCharacters(text)].length;
}
