/**
 * The package's API: everything that the command line does, as typed functions. Times are epoch milliseconds UTC (`…AtMs`),
 * spans milliseconds (`…Ms`), sizes bytes. What goes wrong is a StintError with a code and an exit status.
 *
 * ```ts
 * import { findJob, prepareJob, requireProject, submitJob, waitForJob } from "stint";
 *
 * const where = { cwd: process.cwd(), environment: process.env };
 * const job = await prepareJob({ ...where, args: ["stint.yaml"], options: [] });
 * await submitJob({ ...where, ...job });
 * const project = requireProject(where);
 * const end = await waitForJob(project, await findJob(project, job.job));
 * ```
 */
export {
  type AccountConflict,
  type AttemptAccount,
  type AttemptRow,
  accountConflictsOf,
  attemptTable,
  type ChainState,
  type ChainStatus,
  chainStatus,
  type DoctorOptions,
  doctor,
  EXIT_STATUS,
  type Finding,
  familyStatus,
  findJob,
  findProject,
  followLogs,
  type GatherOptions,
  type GatherResult,
  gatherAccounting,
  type JobTable,
  jobTable,
  jobTables,
  type KnownProjects,
  knownProjects,
  type LogChunk,
  type LogOptions,
  type LogStream,
  type MissingAccount,
  type PreparedJob,
  type PrepareInput,
  type Project,
  prepareJob,
  type QueueState,
  type ResumeAllEntry,
  type ResumeRequest,
  type ResumeResult,
  type RuntimeBundle,
  removeJob,
  requireProject,
  resumeAll,
  resumeFlags,
  resumeJob,
  type SetAside,
  type StaleProject,
  type StatusOptions,
  StintError,
  type StintErrorCode,
  type StopRequest,
  type StopResult,
  type SubmitRequest,
  type SubmitResult,
  type SubmitTestOptions,
  type SubmitTestResult,
  stopJob,
  submitJob,
  submitTest,
  toStintError,
  type WaitOptions,
  type WatchOptions,
  type Where,
  waitForJob,
  watchJob,
} from "./chain/index.ts";
export {
  type Budgets,
  type Command,
  formatDuration,
  formatProgress,
  type JobSpec,
  type Mode,
  type Origins,
  type Progress,
  type ProgressRule,
  parseDuration,
  parseJobId,
  type SchedulerName,
  type SlurmOptions,
  type Timing,
  VERSION,
  type Verdict,
} from "./core/index.ts";
export type { JobPlace } from "./journal/index.ts";
export { type FlagValues, parseFlags, settingFlags } from "./spec/index.ts";
