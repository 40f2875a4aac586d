// The face of usage: what a job tree used, from whatever knows it.
export { type OwnJob, readAllJobs, readOwnJobs } from "./own-records.ts";
export { type OwnUsage, ownUsage, type Sum } from "./own-usage.ts";
export { type SourceKind, UsageError, type UsageErrorCode, type UsageSource } from "./source.ts";
export { journalSource } from "./sources/journal.ts";
export { type IrisAddress, openIrisSource } from "./sources/open-iris.ts";
export { type ParquetFiles, parquetSource } from "./sources/parquet.ts";
export { type SqlAnswer, sqlOverJobs, sqlToController } from "./sql.ts";
export { type UsageReport, type UsageRequest, usage } from "./usage.ts";
