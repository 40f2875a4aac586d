/** This machine: files that last, processes, signals, control groups, time. */
export {
  type CgroupCpu,
  type CgroupMemory,
  cgroupCpu,
  cgroupMemory,
  cgroupOomKills,
  ownCgroup,
  pidsInCgroup,
  slurmOomKills,
  slurmTracking,
} from "./cgroup.ts";
export { type Clock, realClock } from "./clock.ts";
export {
  blockingFolder,
  durableFolder,
  pooledFolder,
  syncNames,
  temporaryMaker,
  temporaryName,
} from "./durable-folder.ts";
export { endSelf } from "./exit.ts";
export { blockingCalls, type FileCalls, pooledCalls } from "./file-calls.ts";
export type { Folder } from "./folder.ts";
export { errorCode, FolderError, isAbsent, isOutOfSpace } from "./folder-error.ts";
export { type FolderHints, folderHints } from "./folder-hints.ts";
export { type SignalResult, type SweepOptions, signalMembers, sweep, termAll } from "./ladder.ts";
export { aliveHere, pidExists, processRef, sameMachine, sinceStartMs, thisMachine, thisProcess } from "./machine.ts";
export { doubtsAbout, findMembers, type Member, type MemberQuery } from "./members.ts";
export { type MeterOptions, TreeMeter, type Usage } from "./meter.ts";
export {
  clockTicksPerSecond,
  hasEnded,
  type ProcessIo,
  type ProcessStat,
  pageBytes,
  readChildren,
  readCommandLine,
  readEnvironment,
  readStat,
} from "./proc.ts";
export { parseQuota, type Quota } from "./quota.ts";
export { type Space, spaceAt } from "./space.ts";
export {
  type Application,
  type ApplicationExit,
  type Detached,
  findProgram,
  type SpawnFailure,
  type SpawnOptions,
  spawnApplication,
  spawnDetached,
  subreaperPrefix,
} from "./spawn.ts";
export type { TreeTotals } from "./tree-counter.ts";
export { userName, userNameOrId } from "./user.ts";
