// The face of the journal: the job folder as records and state.
export { ACCOUNTING_FILE, readAccounting, writeAccounting } from "./accounting.ts";
export { encode, JournalError, type JournalErrorCode } from "./codec.ts";
export { findFamily, findJobs } from "./find-jobs.ts";
export { adoptHome, checkHome, createHome, type Home } from "./home.ts";
export {
  type AllStops,
  attemptNumbers,
  createRecord,
  createSpec,
  createStop,
  createStopAfter,
  type OwnStop,
  readAllStops,
  readAttempt,
  readEnvironment,
  readFirstSpec,
  readJobStops,
  readOwnStops,
  readRecord,
  readSpec,
  readStops,
  readTask,
  stopsFor,
  stopsOfTask,
  type TaskState,
  taskNumbers,
} from "./journal.ts";
export {
  type AttemptPlace,
  attemptPlace,
  type JobPlace,
  jobPlace,
  padded,
  placeOfAttemptFolder,
  placeOfJobFolder,
  scriptCopy,
  type TaskPlace,
  taskPlace,
} from "./layout.ts";
export { newestThatRan } from "./newest-that-ran.ts";
export {
  HEARTBEAT_FILE,
  placeOfSubmitterFolder,
  readHeartbeat,
  readSubmitter,
  readSubmitters,
  type SubmitterPlace,
  submitterPlace,
} from "./submitters.ts";
