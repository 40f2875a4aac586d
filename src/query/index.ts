// The face of query: DuckDB in this process, loaded with the first database.
export {
  Database,
  type QueryCell,
  type QueryRows,
  quoteText,
  type SelectOptions,
  type TableColumn,
} from "./database.ts";
export { QueryError, type QueryErrorCode } from "./errors.ts";
