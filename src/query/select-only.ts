/** Whether a statement only reads tables, by the tree that the engine's own parser makes of it. */
import { QueryError } from "./errors.ts";

export interface SelectShape {
  /** DESCRIBE, SHOW or SUMMARIZE: parsed as a SELECT, and small. */
  readonly isShow: boolean;
}

/**
 * Table functions that compute from their arguments or describe the tables. All others are refused: some change the engine
 * although their statement is a SELECT. (Measured with DuckDB 1.5.6: `enable_logging` passes the locked configuration, and with
 * storage = 'file' the process is aborted; `query` and `json_execute_serialized_sql` run a text that no one has looked at.)
 */
const TABLE_FUNCTIONS: ReadonlySet<string> = new Set([
  "duckdb_columns",
  "duckdb_constraints",
  "duckdb_databases",
  "duckdb_functions",
  "duckdb_keywords",
  "duckdb_schemas",
  "duckdb_settings",
  "duckdb_tables",
  "duckdb_types",
  "duckdb_views",
  "generate_series",
  "histogram",
  "histogram_values",
  "json_each",
  "json_tree",
  "parquet_file_metadata",
  "parquet_metadata",
  "parquet_scan",
  "parquet_schema",
  "pragma_show",
  "pragma_table_info",
  "pragma_version",
  "range",
  "read_parquet",
  "repeat",
  "repeat_row",
  "unnest",
]);

/** Functions of single values that write. */
const WRITING_FUNCTIONS: ReadonlySet<string> = new Set(["nextval", "setseed", "write_log"]);

/** `serialized` is the answer of json_serialize_sql; null: the statement is no SELECT. Throws QueryError `refused`. */
export function selectShape(serialized: string): SelectShape | null {
  const tree: unknown = JSON.parse(serialized);
  if (!isNode(tree) || tree.error !== false || !Array.isArray(tree.statements)) return null;
  refuseCalls(tree.statements);
  const [first] = tree.statements;
  const from = isNode(first) && isNode(first.node) ? first.node.from_table : null;
  return { isShow: isNode(from) && from.type === "SHOW_REF" };
}

/** Without recursion: how deep a statement nests is up to its writer. */
function refuseCalls(root: unknown): void {
  for (const left: unknown[] = [root]; left.length > 0; ) {
    const value = left.pop();
    if (Array.isArray(value)) for (const one of value) left.push(one);
    else if (isNode(value)) {
      if (value.type === "TABLE_FUNCTION") allow(value.function, (name) => TABLE_FUNCTIONS.has(name));
      else if (value.class === "FUNCTION") allow(value, (name) => !WRITING_FUNCTIONS.has(name));
      for (const one of Object.values(value)) left.push(one);
    }
  }
}

function allow(call: unknown, isAllowed: (name: string) => boolean): void {
  const name = isNode(call) ? String(call.function_name).toLowerCase() : "";
  if (!isAllowed(name))
    throw new QueryError("refused", `${name} is no function that a question may use: it reads tables alone`);
}

function isNode(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
