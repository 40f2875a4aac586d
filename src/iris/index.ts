// The face of iris: a client of its controller. What is heavy is loaded with the first question.
export { tokenFrom } from "./address.ts";
export type { StatsCell, StatsRows } from "./arrow-rows.ts";
export { type IrisClient, type IrisClientOptions, openIris, type StatsWay } from "./client.ts";
export { IrisError, type IrisErrorCode } from "./errors.ts";
export { quoteSql, quoteStats } from "./quote-sql.ts";
export type { RawCell, RawRows } from "./raw-rows.ts";
