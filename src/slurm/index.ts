/** Slurm's texts and what they mean: no process is started here. */
export { type AccountedRun, parseAccounts, parseCpuTime, SACCT_ACCOUNT_FORMAT } from "./account.ts";
export {
  ASSOCIATION_FORMAT,
  type Association,
  parseAssociations,
  parseQos,
  QOS_FORMAT,
  type Qos,
} from "./accounts.ts";
export { type BatchScript, type NoBatchScript, readBatchScript } from "./directives.ts";
export { environmentOutsideAllocation, environmentOutsideJob } from "./environment.ts";
export { type CommandError, classifyError, errorLine } from "./errors.ts";
export { decodeWaitStatus, type ExitStatus, meaningfulExit, parseExitStatus } from "./exit-status.ts";
export { type FileNameValues, fillFileName } from "./file-name.ts";
export { expandNodeList } from "./node-list.ts";
export { type Partition, parsePartitions } from "./partitions.ts";
export { type Chance, type PendingJob, type PendingReason, pendingReason } from "./pending-reasons.ts";
export { memoryBytes } from "./resources.ts";
export {
  type AccountingRun,
  type AccountingStep,
  isFinalRun,
  nodesReportedEnd,
  parseSacct,
  runsByJob,
  SACCT_FORMAT,
} from "./sacct.ts";
export { type BatchJob, filePattern, limitMinutes, parseSbatch, sbatchArguments } from "./sbatch.ts";
export { type ControllerConfig, type NodeCondition, nodesTogether, parseConfig, parseNodes } from "./scontrol.ts";
export { parseRuntimeFailed, RUNTIME_FAILED, type ScriptParts, scriptText, submitterScriptText } from "./script.ts";
export { scriptWarnings } from "./script-warnings.ts";
export { parseSqueue, type QueueRow, SQUEUE_FORMAT } from "./squeue.ts";
export { type ActivePhase, activePhase, isDoubtfulEnd, isReportedEnd, parseState, type State } from "./states.ts";
export { parseTimeStamp, TIME_STAMP_ENVIRONMENT } from "./time-stamp.ts";
