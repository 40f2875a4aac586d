/** The face of the Slurm scheduler. */
export { SlurmError } from "./commands.ts";
export { type Ran, type RunCommand, runCommand } from "./run-command.ts";
export {
  largestArrayIndex,
  type SlurmScheduler,
  type SlurmSchedulerOptions,
  slurmScheduler,
  surroundingAllocation,
} from "./slurm-scheduler.ts";
