import type { Cluster } from "./cluster.ts";

/**
 * Requests of commands that the controller has served since it started, of all users, by kind: what squeue, sbatch, scancel and
 * scontrol ask it for. Two of the three messages of a squeue are left out (FED_INFO, PARTITION_INFO).
 */
export async function callsToController(slurm: Cluster): Promise<ReadonlyMap<string, number>> {
  const { exitCode, stdout, stderr } = await slurm.runAsUser("sdiag", []);
  if (exitCode !== 0) throw new Error(`sdiag: ${stderr}`);
  const counts = stdout.matchAll(/^\s+(REQUEST_\w+)\s+\(\s*\d+\) count:(\d+)/gm);
  const named = [...counts].map(([, name = "", count]): [string, number] => [name, Number(count)]);
  return new Map(named.filter(([name]) => OF_COMMANDS.test(name)));
}

/** What came in between, by kind. */
export function callsSince(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): { readonly total: number; readonly text: string } {
  const more = [...after].map(([name, count]): [string, number] => [name, count - (before.get(name) ?? 0)]);
  const some = more.filter(([, count]) => count > 0);
  return {
    total: some.reduce((sum, [, count]) => sum + count, 0),
    text: some.map(([name, count]) => `${count} ${name.replace("REQUEST_", "")}`).join(", "),
  };
}

const OF_COMMANDS =
  /^REQUEST_(JOB_INFO(_SINGLE)?|JOB_USER_INFO|JOB_STEP_INFO|NODE_INFO(_SINGLE)?|BUILD_INFO|SUBMIT_BATCH_JOB|KILL_JOB|CANCEL_JOB_STEP|UPDATE_JOB|PING)$/;
