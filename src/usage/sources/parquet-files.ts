/** The files of a Parquet source, found and looked at before anything is asked. */
import { closeSync, openSync, readdirSync, readSync, realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Database, quoteText } from "../../query/index.ts";
import { UsageError } from "../source.ts";

/** Exact paths, each file once; of a folder its Parquet files in the order of their names. Throws UsageError `file`. */
export function sampleFiles(paths: readonly string[]): readonly string[] {
  const found = paths.flatMap((path) => {
    if (!isFolder(path)) return [path];
    const inside = readdirSync(path).filter((name) => name.endsWith(".parquet"));
    if (inside.length === 0) throw new UsageError("file", `${path} holds no .parquet file`);
    return inside.sort().map((name) => join(path, name));
  });
  if (found.length === 0) throw new UsageError("file", "no file of samples is given");
  for (const file of found) if (kindOf(file) !== "parquet") throw new UsageError("file", `${file} is no Parquet file`);
  // A file that is named twice, or also lies in a folder that is named, has its samples once.
  return [...new Map(found.map((file) => [realpathSync(file), file])).values()];
}

/** A table function over one table, by its content: Parquet, JSON, or else CSV. Throws UsageError `file`. */
export function tableOf(path: string): string {
  if (isFolder(path)) throw new UsageError("file", `${path} is a folder, and should be a table`);
  const kind = kindOf(path);
  const file = `${quoteText(patternOf(path))}, ${EXACTLY}`;
  if (kind === "parquet") return `read_parquet(${file})`;
  return kind === "json" ? `read_json_auto(${file})` : `read_csv_auto(${file}, header = true)`;
}

/** `union`: by the names of columns, where not all have the same. */
export function samplesTable(files: readonly string[], union: boolean): string {
  return `read_parquet(${listOf(files)}, ${EXACTLY}${union ? ", union_by_name = true" : ""})`;
}

/** What must be readable after the lock: the engine compares what it is asked for, and what that stands for. */
export function readablePaths(files: readonly string[]): readonly string[] {
  return [...new Set(files.flatMap((file) => [resolve(file), patternOf(file)]))];
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
  requireColumns(path, columns, needed);
  return columns;
}

/** Of each Parquet file, in their order, by what stands at its end. */
export async function parquetColumns(
  database: Database,
  files: readonly string[],
): Promise<readonly ReadonlyMap<string, string>[]> {
  const rows = await database.rows(
    `SELECT file_name, name, duckdb_type FROM parquet_schema(${listOf(files)}) WHERE duckdb_type IS NOT NULL`,
  );
  const byFile = new Map<string, Map<string, string>>();
  for (const [file, name, type] of rows) {
    const columns = byFile.get(String(file)) ?? new Map<string, string>();
    byFile.set(String(file), columns.set(String(name), String(type)));
  }
  return files.map((file) => byFile.get(resolve(file)) ?? new Map());
}

/** Throws UsageError `file`. */
export function requireColumns(path: string, columns: ReadonlyMap<string, string>, needed: readonly string[]): void {
  const missing = needed.filter((name) => !columns.has(name));
  if (missing.length > 0)
    throw new UsageError(
      "file",
      `${path} has no column ${missing.join(", ")}; it has ${[...columns.keys()].join(", ")}`,
    );
}

/** A folder called `task_id=7` is no column. */
const EXACTLY = "hive_partitioning = false";

/** The engine takes `[`, `*` and `?` for patterns, `~` for the home, also where a file is called so. */
function patternOf(path: string): string {
  return resolve(path).replace(/[[*?]/g, "[$&]");
}

function listOf(files: readonly string[]): string {
  return `[${files.map((file) => quoteText(patternOf(file))).join(", ")}]`;
}

function isFolder(path: string): boolean {
  return readingFile(path, () => statSync(path).isDirectory());
}

function kindOf(path: string): "parquet" | "json" | "other" {
  return readingFile(path, () => {
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
  });
}

function readingFile<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const why = code === "ENOENT" || code === "ENOTDIR" ? "is not there" : `cannot be read (${code || error})`;
    throw new UsageError("file", `${path} ${why}`, { cause: error });
  }
}
