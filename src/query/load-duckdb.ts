/** The only file that loads DuckDB, which is large and may be missing: import it lazily. */
export {
  type DuckDBAppender,
  type DuckDBConnection,
  type DuckDBExtractedStatements,
  DuckDBInstance,
  type DuckDBPreparedStatement,
  type DuckDBResult,
  DuckDBTimestampValue,
  type DuckDBValue,
  StatementType,
} from "@duckdb/node-api";
