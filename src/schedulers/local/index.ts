/** The face of the local scheduler: attempts on this machine, without a daemon. */
export {
  LOCAL_AFTER,
  LOCAL_ALLOCATION_END,
  LOCAL_BEGIN,
  LOCAL_KILL_WAIT,
  LOCAL_LIMIT,
  LOCAL_LIMIT_END,
  LOCAL_REF,
  LOCAL_STANDBY,
  MARK,
  MARK_JOB,
  markQuery,
  runnerEnvironment,
} from "./environment.ts";
export { isOrphaned, type LocalAttempt, type LocalOptions, localScheduler } from "./local-scheduler.ts";
export { memberRunning, type OrphanQuery, queryOf } from "./orphans.ts";
export { type LocalRecord, type LocalState, readLocalRecord, writeLocalRecord } from "./record.ts";
export { formatLocalRef, parseLocalRef } from "./ref.ts";
export { localScript, NODE_FLAGS } from "./script.ts";
