// The face of core: what the other rooms may use.

export { type AccountTotals, accountConflicts, accountTotals } from "./account.ts";
export { type AllocationHere, allocationEndText, isWorthStarting, limitWithin } from "./allocation-bound.ts";
export { asOf } from "./as-of.ts";
export { type CpuFigure, type CpuFigures, cpuFigures } from "./cpu-bounds.ts";
export { EMPTY_CARRY } from "./decision.ts";
export { definedVariables, isOfAnAttempt, OF_AN_ATTEMPT } from "./environment.ts";
export { hasNotBegun, waitsAsWished } from "./first-run.ts";
export {
  formatJobId,
  type JobId,
  nameFromCommand,
  type ParsedId,
  type ParsedName,
  parseJobId,
  parseJobName,
  suggestName,
} from "./ids.ts";
export type {
  Budgets,
  Command,
  JobSpec,
  Mode,
  Origins,
  ProgressRule,
  SlurmOptions,
  SpecRevision,
  SubmitterOptions,
  Timing,
  UntilFirstRun,
} from "./job-spec.ts";
export { type JobTree, jobOfTask, jobTree, parentOf } from "./leaves.ts";
export { countedJobs, type LedgerOptions, type Ledgers, ledgersOf, type UsageRows } from "./ledgers.ts";
export { autoMarginMs, NO_SAVES, reserveMs, type Saves, type Saving, savesText } from "./margin.ts";
export { formatProgress, type Progress, progressOf, progressValue, type Reading } from "./progress.ts";
export { type Doubt, noteDoubt, type ProofAnswer, prove, type Watch } from "./proof.ts";
export { quoteCommand, quoteShell, splitWords } from "./quote.ts";
export {
  type Accounting,
  type AccountRow,
  type AccountStep,
  type AttemptRecords,
  type Basis,
  type Carry,
  type Claim,
  type Decision,
  type Evidence,
  type Exited,
  type Go,
  type GoStart,
  type GoWithdrawn,
  type Machine,
  type Policy,
  type ProcessRef,
  type Proof,
  type Quarantine,
  type QuarantineMove,
  RECORD_VERSION,
  type Ref,
  type SchedulerName,
  type Settled,
  type SignalNote,
  type Started,
  type Stop,
  type Submitted,
  type Tracking,
  type Verdict,
  type WithdrawReason,
} from "./records.ts";
export { IntegralBuilder, type Sample, SpanBuilder, usualHoleMs } from "./sample-span.ts";
export { lastElapsedMs } from "./samples.ts";
export {
  type Absent,
  type Active,
  NEVER_MET,
  neverStarts,
  type Over,
  type QueuePlace,
  type Seen,
  type Unreachable,
} from "./seen.ts";
export { formatBytes, formatSlurmMemory, type ParsedMemory, parseMemory } from "./size.ts";
export { isLeft, isNothing, mayBegin, type TaskPhase, taskPhase } from "./slots.ts";
export {
  type Claimer,
  nextStep,
  type OthersLeft,
  type Outcome,
  refOf,
  refsOf,
  type Settlement,
  type Step,
  type View,
  windowEndOf,
} from "./step.ts";
export { isResumed, type StopList, type Stops, standingDecision, stopInForce, stopNumber } from "./stops.ts";
export {
  type SubmitterAct,
  type SubmitterBasis,
  type SubmitterClaim,
  type SubmitterEnd,
  type SubmitterEnded,
  type SubmitterRecords,
  type SubmitterStarted,
  type SubmitterStep,
  submitterAct,
  submitterBeatMs,
  submitterFreshMs,
  submitterRef,
  submitterStep,
} from "./submitter.ts";
export { countedTasks, formatIndices, MOST_TASKS, parseArray, type TaskPlan, taskIndices } from "./task-plan.ts";
export { hasTaskPlan, namesTask, specForTask } from "./task-spec.ts";
export { TASK_STATES, type TaskState, taskStateNumber, taskStateOf } from "./task-state.ts";
export { type DurationRules, formatDuration, type ParsedDuration, parseDuration } from "./time.ts";
export { type UsageGroup, usageGroups } from "./usage-groups.ts";
export type { AttemptTimes, JobNode, SampleSpan, SpanIntegral, TaskTimes } from "./usage-rows.ts";
export type { CauseId, Explanation, Term, TermRecord } from "./usage-terms.ts";
export { totalReached } from "./verdict.ts";
export { VERSION } from "./version.ts";
