/** `samples.csv` of one attempt, read in a stream: an attempt may have run for months. */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Sample } from "../../core/index.ts";

/** As it was written, with what the row before makes of it. */
export interface SampleLine extends Sample {
  readonly memoryBytes: number | null;
}

/**
 * In the order of the file, without those after `asOfMs`. A row that is not whole (its writer died, the disk was full) says
 * nothing. No file: none. Throws what the file system throws.
 */
export async function* sampleLines(path: string, asOfMs: number): AsyncGenerator<SampleLine> {
  let columns: Columns | null = null;
  let before: { readonly elapsedMs: number; readonly cpuMs: number } | null = null;
  const stream = createReadStream(path, { encoding: "utf8" });
  try {
    let torn = "";
    stream.on("data", (text) => (torn = String(text).slice(-1)));
    for await (const line of wholeLines(
      createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }),
      () => torn === "\n",
    )) {
      if (columns === null) {
        columns = columnsOf(line);
        continue;
      }
      const row = numbersOf(line, columns.width);
      if (row === null) continue;
      const [atMs = 0, elapsedMs = 0, cpuMs = 0] = [row[columns.at], row[columns.elapsed], row[columns.cpu]];
      if (atMs > asOfMs) continue;
      const last = before ?? { elapsedMs: 0, cpuMs: 0 };
      before = { elapsedMs, cpuMs };
      const spanMs = elapsedMs - last.elapsedMs;
      yield {
        atMs,
        elapsedMs,
        counterCpuMs: cpuMs,
        cpuMillicores: spanMs > 0 ? Math.round((Math.max(0, cpuMs - last.cpuMs) * 1000) / spanMs) : null,
        memoryBytes: cellOf(row, columns.memory),
        memoryPeakBytes: cellOf(row, columns.peak),
      };
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
  } finally {
    stream.destroy();
  }
}

/** All lines but a last one without its end. */
async function* wholeLines(lines: AsyncIterable<string>, endsWhole: () => boolean): AsyncGenerator<string> {
  let last: string | null = null;
  for await (const line of lines) {
    if (last !== null) yield last;
    last = line;
  }
  if (last !== null && endsWhole()) yield last;
}

interface Columns {
  readonly width: number;
  readonly at: number;
  readonly elapsed: number;
  readonly cpu: number;
  readonly memory: number;
  readonly peak: number;
}

function columnsOf(header: string): Columns {
  const names = header.split(",");
  return {
    width: names.length,
    at: names.indexOf("at_ms"),
    elapsed: names.indexOf("elapsed_ms"),
    cpu: names.indexOf("cpu_ms"),
    memory: names.indexOf("memory_bytes"),
    peak: names.indexOf("memory_peak_bytes"),
  };
}

/** Null: not as many whole numbers as there are columns. */
function numbersOf(line: string, width: number): readonly number[] | null {
  const cells = line.split(",");
  if (cells.length !== width || !cells.every((cell) => /^\d{1,15}$/.test(cell))) return null;
  return cells.map(Number);
}

function cellOf(row: readonly number[], at: number): number | null {
  return row[at] ?? null;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
