// The face of the schedulers.
export { loadSlurm } from "./load-slurm.ts";
export {
  formatLocalRef,
  isOrphaned,
  LOCAL_AFTER,
  LOCAL_BEGIN,
  LOCAL_KILL_WAIT,
  LOCAL_LIMIT,
  LOCAL_LIMIT_END,
  LOCAL_REF,
  type LocalAttempt,
  type LocalOptions,
  type LocalRecord,
  type LocalState,
  localScheduler,
  localScript,
  MARK,
  memberRunning,
  NODE_FLAGS,
  type OrphanQuery,
  parseLocalRef,
  queryOf,
  readLocalRecord,
  runnerEnvironment,
  writeLocalRecord,
} from "./local/index.ts";
export type { Allocation, Scheduler, Seen, Submission, SubmitAnswer } from "./scheduler.ts";
