// The face of chain: moving a chain, and the world it moves in.
export { type AdvanceOptions, advance, advanceJob, takeBackKept, withdraw } from "./advance.ts";
export { type BeginOptions, type BeginResult, begunTasks, othersLeft, tasksTogether } from "./begin-tasks.ts";
export {
  ACCOUNTS_COME_WITHIN_MS,
  type GatherOptions,
  type GatherResult,
  gatherTask,
  type MissingAccount,
} from "./gather-task.ts";
export { type Claimed, recordJob } from "./hand-in.ts";
export { identitiesOf } from "./job-identity.ts";
export { APPLICATION_FILE, type ApplicationRecord, localAttempts, markOf } from "./local-attempts.ts";
export { type OpenOptions, openWorld } from "./open-world.ts";
export { type AttemptAccount, type AttemptRow, attemptTable } from "./operations/attempt-table.ts";
export type { ChainState } from "./operations/chain-state.ts";
export type { ChainStatus } from "./operations/chain-status.ts";
export { resumeFlags } from "./operations/change-spec.ts";
export { type DoctorOptions, doctor } from "./operations/doctor.ts";
export { type AskedAbout, type DoctorWords, jobForDoctor } from "./operations/doctor-spec.ts";
export { EXIT_STATUS, StintError, type StintErrorCode, toStintError } from "./operations/errors.ts";
export type { Finding } from "./operations/finding.ts";
export { followLogs, type LogChunk, type LogOptions, type LogStream } from "./operations/follow-logs.ts";
export {
  type AccountConflict,
  accountConflictsOf,
  gatherAccounting,
  gatherForLook,
} from "./operations/gather-accounting.ts";
export {
  findJob,
  findTarget,
  requireOneTask,
  shortName,
  type Target,
  targetName,
  withTask,
} from "./operations/job-name.ts";
export type { TaskCounts } from "./operations/job-of-tasks.ts";
export { type KnownProjects, knownProjects, type StaleProject } from "./operations/known-projects.ts";
export { type PreparedJob, type PrepareInput, prepareJob } from "./operations/prepare-job.ts";
export { findProject, type Project, requireProject, type Where } from "./operations/project.ts";
export { type QueueState, queueReason } from "./operations/queue-state.ts";
export { removeJob } from "./operations/remove-job.ts";
export {
  type ResumeAllEntry,
  type ResumeRequest,
  type ResumeResult,
  resumeAll,
  resumeJob,
} from "./operations/resume-job.ts";
export type { RuntimeBundle } from "./operations/runtime-bundle.ts";
export type { SetAside } from "./operations/set-aside.ts";
export {
  chainStatus,
  type FamilyStatus,
  familyStatus,
  type JobStatus,
  type JobTable,
  jobStatus,
  jobTable,
  jobTables,
  type StatusOptions,
} from "./operations/status.ts";
export { type StopRequest, type StopResult, stopJob } from "./operations/stop-job.ts";
export { type SubmitRequest, type SubmitResult, submitJob } from "./operations/submit-job.ts";
export { type SubmitTestOptions, type SubmitTestResult, submitTest } from "./operations/submit-test.ts";
export { type SubmitterNow, submitterText } from "./operations/submitter-status.ts";
export { isAtEnd, type WaitOptions, type WatchOptions, waitForJob, watchJob } from "./operations/watch-job.ts";
export { ensureReserve, reservePath, withReserve } from "./reserve.ts";
export { claimedAttempt } from "./submit-attempt.ts";
export {
  claimedSubmitter,
  type Ensured,
  type EnsureOptions,
  endSubmitter,
  ensureSubmitter,
  watchHeartbeats,
  withdrawSubmitters,
} from "./submitters.ts";
export { type Clock, type Memory, newMemory, type Refusal, type World } from "./world.ts";
