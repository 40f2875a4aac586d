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
  doctor,
  EXIT_STATUS,
  type Finding,
  findJob,
  findProject,
  findTarget,
  followLogs,
  type GatherOptions,
  type GatherResult,
  gatherAccounting,
  type JobStatus,
  type JobTable,
  jobStatus,
  jobTable,
  type LogChunk,
  type LogOptions,
  type LogStream,
  type MissingAccount,
  type PreparedJob,
  type PrepareInput,
  type Project,
  prepareJob,
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
  StintError,
  type StintErrorCode,
  type StopRequest,
  type StopResult,
  type SubmitRequest,
  type SubmitResult,
  stopJob,
  submitJob,
  type Target,
  type TaskCounts,
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
  type TaskPlan,
  type Timing,
  taskIndices,
  VERSION,
  type Verdict,
} from "./core/index.ts";
export type { JobPlace } from "./journal/index.ts";
export { type FlagValues, parseFlags, settingFlags } from "./spec/index.ts";
