// The face of query: DuckDB in this process, loaded with the first database.
export { type QueryCell, quoteText } from "./cells.ts";
export { Database, type QueryRows, type SelectOptions, type TableColumn } from "./database.ts";
export { QueryError, type QueryErrorCode } from "./errors.ts";
