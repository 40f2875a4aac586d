/** The files of a Parquet source, found and looked at before anything is asked. */
import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Database, quoteText } from "../../query/index.ts";
import { UsageError } from "../source.ts";

/** Exact paths; of a folder its Parquet files in the order of their names. Throws UsageError `file`. */
export function sampleFiles(paths: readonly string[]): readonly string[] {
  const files = paths.flatMap((path) => {
    if (!existsSync(path)) throw new UsageError("file", `${path} is not there`);
    if (!statSync(path).isDirectory()) return [path];
    const inside = readdirSync(path).filter((name) => name.endsWith(".parquet"));
    if (inside.length === 0) throw new UsageError("file", `${path} holds no .parquet file`);
    return inside.sort().map((name) => join(path, name));
  });
  for (const file of files) if (kindOf(file) !== "parquet") throw new UsageError("file", `${file} is no Parquet file`);
  return files;
}

/** A table function over one table, by its content: Parquet, JSON, or else CSV. Throws UsageError `file`. */
export function tableOf(path: string): string {
  if (!existsSync(path)) throw new UsageError("file", `${path} is not there`);
  const kind = kindOf(path);
  if (kind === "parquet") return `read_parquet(${quoteText(path)})`;
  return kind === "json" ? `read_json_auto(${quoteText(path)})` : `read_csv_auto(${quoteText(path)}, header = true)`;
}

export function samplesTable(files: readonly string[]): string {
  return `read_parquet([${files.map(quoteText).join(", ")}])`;
}

/** Names of columns with their types. Throws UsageError `file` where one that is needed is not there. */
export async function columnsOf(
  database: Database,
  table: string,
  path: string,
  needed: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await database.rows(`DESCRIBE SELECT * FROM ${table}`);
  const columns = new Map(rows.map(([name, type]) => [String(name), String(type)]));
  const missing = needed.filter((name) => !columns.has(name));
  if (missing.length > 0)
    throw new UsageError(
      "file",
      `${path} has no column ${missing.join(", ")}; it has ${[...columns.keys()].join(", ")}`,
    );
  return columns;
}

function kindOf(path: string): "parquet" | "json" | "other" {
  const head = Buffer.alloc(64);
  const file = openSync(path, "r");
  try {
    const length = readSync(file, head, 0, head.length, 0);
    const text = head.toString("latin1", 0, length);
    if (text.startsWith("PAR1")) return "parquet";
    return /^\s*[[{]/.test(text) ? "json" : "other";
  } finally {
    closeSync(file);
  }
}
