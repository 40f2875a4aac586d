// The face of usage: what a job tree used, from whatever knows it.
export { UsageError, type UsageErrorCode, type UsageSource } from "./source.ts";
export { type UsageReport, type UsageRequest, usage } from "./usage.ts";
