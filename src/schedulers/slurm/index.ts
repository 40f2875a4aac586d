/** The face of the Slurm scheduler. */
export { type Answer, SlurmError } from "./commands.ts";
export { type Ran, type RunCommand, runCommand } from "./run-command.ts";
export { type SiteQuestions, siteQuestions } from "./site-questions.ts";
export {
  largestArrayIndex,
  type SlurmScheduler,
  type SlurmSchedulerOptions,
  slurmScheduler,
  surroundingAllocation,
} from "./slurm-scheduler.ts";
